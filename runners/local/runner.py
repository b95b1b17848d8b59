"""The runner whose fleet is this machine. It remembers nothing: what runs is what a scan of the processes shows."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import psutil

from bastion.errors import RunnerError
from bastion.ports import AttemptKey, Clock, Ids, Machine, Placement, Sight
from quota.resources import Resources, plus
from runners.local import folders, gpus, marks, render
from runners.local.render import Name
from runners.worker.account import ROOT, is_known

_GIB = 2**30


@dataclass(kw_only=True)
class LocalRunner:
    """Starts workers as sessions of their own, which outlive the bastion.

    `scope` names the bastion on this machine: one word, the same at every start. `bucket_url` is the bastion's
    folder in the bucket. `given` replaces what the machine says of its capacity. `flags` go to every worker;
    `run_as` is the account of the jobs' processes, if it is not the bastion's; `as_submitter`: it is that of each job's user.
    `scan` shows the marked processes.
    """

    scope: str
    bucket_url: str
    work_root: Path
    ids: Ids
    clock: Clock
    given: Resources | None = None
    devices: Sequence[gpus.Gpu] = ()
    python: str = sys.executable
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    flags: Mapping[str, object] = field(default_factory=dict)
    run_as: str = ""
    as_submitter: bool = False
    scan: Callable[[], list[marks.Marked]] = marks.scan
    name: str = "local"
    pace_s: float = 0.25
    offers: Collection[str] | None = None
    _children: set[int] = field(default_factory=set)
    _creating: Lock = field(default_factory=Lock)

    def capacity(self) -> Resources:
        """As given; else the processors, the memory in whole GiB, and the GPUs by kind."""
        if self.given is not None:
            return self.given
        machine = {"cpu": os.cpu_count() or 1, "memory": psutil.virtual_memory().total // _GIB}
        return plus(machine, gpus.count(self.devices))

    def workers(self, resources: Resources, replicas: int) -> int:
        """One host for each replica."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Start the workers of the attempt that do not run. `RunnerError` if one cannot be started."""
        with self._creating:
            there = {name.worker for name in self._mine() if name.key == placement.key}
            for worker in sorted(set(range(placement.workers)) - there):
                self._start(placement, worker)

    def stop(self, machine: str) -> None:
        """SIGTERM to the worker: it looks for its stop order at once."""
        marks.notify(self._of(machine))

    def delete(self, machine: str) -> None:
        """Kill everything that carries the mark, until a scan shows nothing new."""
        killed: set[int] = set()
        while found := [process for process in self._of(machine) if process.pid not in killed]:
            marks.kill(found)
            killed |= {process.pid for process in found}

    def list(self) -> Sequence[Machine]:
        """All machines of this scope."""
        self._reap()
        return [name.machine for name in self._mine()]

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Nothing: workers start at once."""
        return {}

    def look(self, machine: str) -> Sight:
        """A machine is gone when no process carries its mark."""
        try:
            self._reap()
            return Sight.THERE if self._of(machine) else Sight.GONE
        except RunnerError:
            return Sight.BLIND

    def sweep(self) -> None:
        """Remove work folders that are 24 h old and of no live machine."""
        live = {name.folder for name in self._mine()}
        folders.sweep(self.work_root, self.scope, live, self.clock.wall())

    def _mine(self) -> Iterator[Name]:
        """The machines of this scope."""
        for machine in sorted({process.machine for process in self.scan()}):
            name = render.parse(machine)
            if name is not None and name.scope == self.scope:
                yield name

    def _of(self, machine: str) -> Sequence[marks.Marked]:
        return [process for process in self.scan() if process.machine == machine]

    @property
    def _cache(self) -> Path:
        """What setups have made, for all bastions of this machine."""
        return self.work_root / "cache"

    def _start(self, placement: Placement, worker: int) -> None:
        name = Name(self.scope, placement.key, worker, placement.epoch, self.ids.new())
        held = [index for process in self.scan() for index in process.devices]
        devices = gpus.assign(placement.resources, self.devices, held)
        folder = self.work_root / name.folder
        try:
            self._keep_others_out()
            folder.mkdir(parents=True)
            with open(folder / "worker.log", "ab", opener=_private) as log:
                self._children.add(self._spawn(name, folder, devices, log.fileno(), self._account(placement)))
        except OSError as error:
            raise RunnerError(f"cannot start worker {worker} of {placement.key}: {error}") from error

    def _keep_others_out(self) -> None:
        """Nobody else lists the work folders; a job's account passes through them and ours above, to what is its own."""
        self.work_root.mkdir(parents=True, exist_ok=True)
        others = bool(self.run_as or self.as_submitter)
        self.work_root.chmod(0o711 if others else 0o700)
        if others:
            above = self.work_root.parent
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o011)

    def _account(self, placement: Placement) -> str:
        """Whose the job's processes are; "": the bastion's own. Raises `RunnerError` if nobody can tell."""
        if not self.as_submitter:
            return self.run_as
        if not placement.user or not is_known(placement.user):
            raise RunnerError(f"this machine has no account {placement.user!r} to run {placement.key} as; create it")
        return "" if placement.user == ROOT else placement.user

    def _spawn(self, name: Name, folder: Path, devices: Sequence[str], log: int, run_as: str) -> int:
        flags = {**self.flags, **({"run_as": run_as} if run_as else {})}
        return os.posix_spawn(
            self.python,
            render.command(self.python, name, self.bucket_url, folder, devices, cache=self._cache, **flags),
            render.environment(self.inherited, name, devices),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )

    def _reap(self) -> None:
        """Take the ended children off the system's table; those of an earlier bastion are not ours to wait for."""
        with self._creating:
            self._children = {child for child in self._children if _runs(child)}


def _private(path: str, how: int) -> int:
    return os.open(path, how, 0o600)


def _runs(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # the system reaped it, as it does where SIGCHLD is ignored
        return False
