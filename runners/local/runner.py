"""The runner whose fleet is this machine. Only its registry and its guard define what runs."""

from __future__ import annotations

import os
import signal
import stat
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import psutil

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, MachineExistence, Placement
from bastion.platform import host
from bastion.quota.resources import Resources, plus

from ..worker.linux import folders, machine_cgroup
from ..worker.linux.process_tree import started
from ..worker.linux.unix_account import ROOT, is_known
from . import former_machines, gpus, render
from .machine_guard import MachineGuard, send
from .registry import KEEPER, MachineRecord, Registry, RegistryEntry, register
from .render import LocalMachineName

_GIB = 2**30
_OWN = os.path.join(sys.prefix, "bin") if sys.prefix != sys.base_prefix else ""
_END_S, _END_LOOK_S = 0.25, 0.01


@dataclass(kw_only=True)
class LocalRunner:
    """The runner that starts workers as sessions of their own, which outlive the bastion.

    scope: the bastion's name on this machine: one word, the same at every start.
    bucket_url: the bastion's folder in the bucket.
    work_root: the folder below which attempts work.
    ids: the source of nonces.
    clock: the time.
    given: replaces the capacity that the machine has; None to measure it.
    devices: the GPUs of this machine.
    python: the interpreter of workers.
    inherited: the environment that workers inherit.
    flags: flags for every worker.
    run_as: the account of the jobs' processes; "" for the bastion's own.
    as_submitter: True if each job runs as the account of its user.
    registry: the folder of what all bastions of this account have started here; None: beside the work folders.
    scan: reads the registry.
    adopts: True if processes that a machine leaves without a parent become children of this process.
    kinds: the control groups that a machine may have.
    name: the runner's name.
    pace_s: seconds between two listings while attempts live.
    offers: the kinds of resources that it has; None: those of its capacity.
    """

    scope: str
    bucket_url: str
    work_root: Path
    ids: Ids
    clock: Clock
    given: Resources | None = None
    devices: Sequence[gpus.LocalGpu] = ()
    python: str = sys.executable
    inherited: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    flags: Mapping[str, object] = field(default_factory=dict)
    run_as: str = ""
    as_submitter: bool = False
    registry: Path | None = None
    scan: Callable[[Registry], list[RegistryEntry]] = Registry.entries
    adopts: bool = False
    kinds: tuple[str, ...] = (machine_cgroup.V2, machine_cgroup.V1)
    name: str = "local"
    pace_s: float = 0.25
    offers: Collection[str] | None = None
    _children: set[int] = field(default_factory=set)
    _creating: Lock = field(default_factory=Lock)
    _guard: MachineGuard = field(init=False)
    _took_over: bool = False

    def __post_init__(self) -> None:
        registry = Registry(self.registry or self.work_root.parent / "machines", host.boot())
        self._guard = MachineGuard(registry=registry, clock=self.clock, adopts=self.adopts)

    def capacity(self) -> Resources:
        """Return the given capacity; else the processors, the memory in whole GiB, and the GPUs by kind."""
        if self.given is not None:
            return self.given
        machine = {"cpu": os.cpu_count() or 1, "memory": psutil.virtual_memory().total // _GIB}
        return plus(machine, gpus.count(self.devices))

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of workers: one for each replica."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Start the workers of the attempt that do not run. Raises `RunnerError` if one cannot be started."""
        with self._creating:
            there = {entry.name.worker for entry in self._mine() if entry.name.key == placement.key}
            for worker in sorted(set(range(placement.workers)) - there):
                self._start(placement, worker)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """Return True if the parts of the id match."""
        name = render.parse(machine)
        return name is not None and (name.scope, name.key, name.worker) == (self.scope, key, worker)

    def stop(self, machine: str) -> None:
        """Send SIGTERM to the worker, which then looks for its stop order at once."""
        for entry in self._of(machine):
            self._guard.tell(entry)

    def delete(self, machine: str) -> None:
        """Kill all of the machine, and give it a moment to be gone. The next look finds what cannot end yet."""
        for entry in self._of(machine):
            self._guard.end(entry)
            deadline = self.clock.monotonic() + _END_S
            while self._guard.processes(entry) and self.clock.monotonic() < deadline:
                self.clock.sleep(_END_LOOK_S)

    def list(self) -> Sequence[Machine]:
        """Return all machines of this scope."""
        with self._creating:
            self._reap()
            return [entry.name.machine for entry in self._mine()]

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return nothing: workers start at once."""
        return {}

    def look(self, machine: str) -> MachineExistence:
        """Return whether the machine exists.

        It is gone when no process of it runs, or if this bastion did not make it.
        """
        try:
            with self._creating:
                self._reap()
                return (
                    MachineExistence.THERE
                    if any(str(entry.name) == machine for entry in self._mine())
                    else MachineExistence.GONE
                )
        except RunnerError:
            return MachineExistence.UNREACHABLE

    def sweep(self) -> None:
        """Remove work folders that are 24 h old and belong to no live machine."""
        with self._creating:
            live = {entry.name.folder for entry in self._mine()}
        folders.sweep(self.work_root, self.scope, live, self.clock.wall())

    def _mine(self) -> Iterator[RegistryEntry]:
        """Yield the machines of this scope that have a running process, and remove the others from the registry.

        The first listing takes in what an older bastion started: by then no such bastion starts anything.
        """
        if not self._took_over:
            former_machines.adopt(self._guard.registry, self.scope, self.work_root)
            self._took_over = True
        for entry in self.scan(self._guard.registry):
            if entry.name.scope == self.scope and (self._guard.lives(entry) or not self._guard.forget(entry)):
                yield entry

    def _of(self, machine: str) -> Sequence[RegistryEntry]:
        """Return the machine of exactly this id, if this bastion has started it."""
        return [entry for entry in self.scan(self._guard.registry) if self._is(entry, machine)]

    def _is(self, entry: RegistryEntry, machine: str) -> bool:
        return entry.name.scope == self.scope and str(entry.name) == machine

    @property
    def _cache(self) -> Path:
        """The folder of the results of setups, for all bastions of this machine."""
        return self.work_root / "cache"

    def _start(self, placement: Placement, worker: int) -> None:
        name = LocalMachineName(self.scope, placement.key, worker, placement.epoch, self.ids.new())
        guard, what = self._guard, f"worker {worker} of {placement.key}"
        held = [index for entry in self.scan(guard.registry) if guard.lives(entry) for index in entry.record.devices]
        devices = gpus.assign(placement.resources, self.devices, held)
        folder, account = self.work_root / name.folder, self._account(placement)
        try:
            self._keep_others_out()
            folder.mkdir(parents=True)
            group = machine_cgroup.make(name.nonce, self.kinds)
            record = MachineRecord(str(name), guard.registry.boot, account, group, devices)
            entry = guard.registry.add(name, record)
            with open(folder / "worker.log", "ab", opener=_private) as log:
                pid = self._spawn(entry, folder, log.fileno())
        except OSError as error:
            raise RunnerError(f"cannot start {what}: {error}") from error
        self._children.add(pid)
        if not register(entry.folder, KEEPER, pid):
            send(pid, started(pid) or 0, signal.SIGKILL)
            raise RunnerError(f"cannot start {what}: another bastion removed its entry; see bastion status")

    def _keep_others_out(self) -> None:
        """Close the work folders to other accounts. A job's account passes through them, and ours above, to its own."""
        self.work_root.mkdir(parents=True, exist_ok=True)
        others = bool(self.run_as or self.as_submitter)
        self.work_root.chmod(0o711 if others else 0o700)
        if others:
            above = self.work_root.parent
            above.chmod(stat.S_IMODE(above.stat().st_mode) | 0o011)

    def _account(self, placement: Placement) -> str:
        """Return the account of the job's processes; "" for the bastion's own.

        Raises `RunnerError` if it does not exist.
        """
        if not self.as_submitter:
            return self.run_as
        if not placement.user or not is_known(placement.user):
            raise RunnerError(f"this machine has no account {placement.user!r} to run {placement.key} as; create it")
        return "" if placement.user == ROOT else placement.user

    def _spawn(self, entry: RegistryEntry, folder: Path, log: int) -> int:
        name, record = entry.name, entry.record
        own = {"run_as": record.account, "group": record.group, "entry": str(entry.folder)}
        flags = {**self.flags, **{key: value for key, value in own.items() if value}}
        return os.posix_spawn(
            self.python,
            render.command(self.python, name, self.bucket_url, folder, record.devices, cache=self._cache, **flags),
            render.environment(self.inherited, name, record.devices, _OWN),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )

    def _reap(self) -> None:
        """Reap the ended children; those of an earlier bastion are not ours to wait for."""
        self._children = {child for child in self._children if _runs(child)}
        self._guard.reap()


def _private(path: str, how: int) -> int:
    return os.open(path, how, 0o600)


def _runs(child: int) -> bool:
    try:
        return os.waitpid(child, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # the system has reaped it, as it does where SIGCHLD is ignored
        return False
