"""The program of a Ray job of ours on its node: it starts the worker out of reach of Ray's signals, and stands for it.

Ray stops a job by SIGTERM to all processes below its first process, the user's included. So the first process, the
*host*, has nothing below it. A *guard*, which is the child of no process of Ray, starts the worker and passes on the
notice. It kills all of the machine when the host, or Ray's own process above the host, ends. The guard reaps what loses
its parent, so all of the machine is below it, whatever the processes call themselves. The node's registry shows which
guard belongs to which machine, for the job that kills a machine.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bastion.model.interfaces import Clock
from bastion.platform.host import boot

from ..local import process_marks
from ..local.registry import MachineRecord, Registry, RegistryEntry, register
from ..local.render import MARK
from ..local.render import LocalMachineName as Registered
from ..worker.linux import folders
from ..worker.linux.process_tree import family, put_down, send
from ..worker.linux.session import adopt_orphans
from .render import parse

GUARD = "guard"
"""The role of the guard in a machine's entry: it lives until nothing else of the machine does."""

_NOTICE, _STARTED = b"n", b"s"
_LOOK_MS, _KILL_S = 250, 0.05
_DROPPED = ("RAY_", "BASTION_")
_RAYS = frozenset({"CUDA_VISIBLE_DEVICES", "PYTHONBREAKPOINT", "SPT_NOENV"})


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """The start of one worker.

    argv: its command line.
    env: its environment.
    entry: its machine's entry in the node's registry.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    entry: RegistryEntry


def prepare(flags: Mapping[str, str], python: str, environ: Mapping[str, str], clock: Clock) -> WorkerStart:
    """Make the folders of the machine that the flags name, and register it. Raises `ValueError` if they name none."""
    name, root = parse(flags["machine"]), Path(flags["root"]).expanduser()
    if name is None:
        raise ValueError(f"{flags['machine'][:200]!r} is no machine")
    registry = registry_below(root)
    live = {
        other.name.folder for other in registry.entries() if not _is_over(other, registry) or not registry.forget(other)
    }
    folders.sweep(root / "work", name.scope, live, clock.wall())
    entered = Registered(name.scope, name.key, name.worker, name.epoch, name.nonce)
    entry = registry.add(entered, MachineRecord(str(entered), registry.boot))
    folder = root / "work" / name.folder
    folder.mkdir(parents=True, exist_ok=True)
    devices = environ.get("CUDA_VISIBLE_DEVICES", "") if int(flags.get("gpus", "0")) else ""
    told = {
        "secrets": str(root / "secrets"),
        **{key: value for key, value in flags.items() if key not in ("root", "gpus")},
        "job": name.key.job,
        "task": str(name.key.task),
        "attempt": str(name.key.attempt),
        "worker": str(name.worker),
        "address": address(environ.get("RAY_ADDRESS", "")),
        "folder": str(folder),
        "entry": str(entry.folder),
        "cache": str(root / "setups"),
        "devices": devices,
    }
    words = [python, "-I", "-m", "bastion", "worker", *(f"--{key}={value}" for key, value in told.items())]
    return WorkerStart(tuple(words), environment(environ, str(name)), entry)


def registry_below(root: Path) -> Registry:
    """Return the registry of this node: the machines that our Ray jobs have started here."""
    return Registry(root / "machines", boot())


def _is_over(entry: RegistryEntry, registry: Registry) -> bool:
    """Return True if the machine began and ended. One without a registered process may be about to begin."""
    return entry.record.boot != registry.boot or (bool(entry.processes()) and not entry.living())


def environment(inherited: Mapping[str, str], machine: str) -> dict[str, str]:
    """Return the worker's environment: that of Ray's processes, for its credentials, without Ray's own variables."""
    kept = {key: value for key, value in inherited.items() if not key.startswith(_DROPPED) and key not in _RAYS}
    return kept | {MARK: machine}


def address(head: str) -> str:
    """Return the address at which the nodes of the cluster with this head (`host:port`) reach this one."""
    host = head.rpartition(":")[0].strip("[]") or "127.0.0.1"
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect((host, 9))  # nothing is sent
        return str(way.getsockname()[0])


def stand_for(start: WorkerStart) -> int:
    """Run the worker; return when no process of the machine is left. 0 if it was started, whatever happened later."""
    above, told = os.getppid(), os.pipe()
    ended = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(told[1], _NOTICE))
    if (child := os.fork()) == 0:
        _quietly(lambda: _leave(start, above, told, ended))
    os.waitpid(child, 0)
    os.close(told[0])
    os.close(ended[1])
    # returns when the guard ends: only the guard still holds the other end of this pipe
    return 0 if os.read(ended[0], 1) == _STARTED else 1


def kill(machine: str, root: Path) -> None:
    """Kill all of a machine of this node until nothing of it is left but its guard, which then ends.

    `root` is as its host had it. A machine of before 0.2 has no entry: the processes that carry its mark are killed.
    """
    name, registry = parse(machine), registry_below(root)
    found = [entry for entry in registry.entries() if name and entry.name.nonce == name.nonce]
    for entry in found:
        if entry.record.boot == registry.boot:
            _end(entry)
    while not found and (marked := [process for process in process_marks.scan() if process.machine == machine]):
        process_marks.kill(marked)
        time.sleep(_KILL_S)


def _end(entry: RegistryEntry) -> None:
    while roots := _left(entry):
        put_down(*roots)
        send(roots - _guards(entry), signal.SIGKILL)
        time.sleep(_KILL_S)


def _left(entry: RegistryEntry) -> set[int]:
    """Return the processes below which all of the machine runs; none if only its guard is left."""
    roots, guards = {process.pid for process in entry.living()}, _guards(entry)
    return roots if roots - guards or (guards and family(*guards)) else set()


def _guards(entry: RegistryEntry) -> set[int]:
    return {process.pid for process in entry.living() if process.kind == GUARD}


def _quietly(work: Callable[[], None]) -> None:
    """Run the work and exit: a forked process must never return to its parent's code."""
    try:
        work()
    finally:
        os._exit(1)


def _leave(start: WorkerStart, above: int, told: tuple[int, int], ended: tuple[int, int]) -> None:
    """Become a guard that is no process's child."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    if os.fork() == 0:
        os.close(told[1])
        os.close(ended[0])
        _guard(start, above, told[0])
        os.write(ended[1], _STARTED)
    os._exit(0)


def _guard(start: WorkerStart, above: int, told: int) -> None:
    """Start the worker and watch over it; return when no process of the machine is left."""
    if not register(start.entry.folder, GUARD, os.getpid()):
        return
    adopt_orphans()
    worker = os.posix_spawn(
        start.argv[0],
        [*start.argv, f"--parent={os.getpid()}"],
        start.env,
        file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGTERM, signal.SIGINT],
    )
    poll = select.poll()
    poll.register(told, select.POLLIN)
    poll.register(_watched(worker), select.POLLIN)
    if (ray := _watched(above)) >= 0:
        poll.register(ray, select.POLLIN)
    lives = True
    while lives or _left(start.entry):
        happened = {fd for fd, _ in poll.poll(_LOOK_MS)}
        # Ray's process above the host has ended, or the host has (its end of the pipe is closed)
        if ray in happened or (told in happened and os.read(told, 64) == b""):
            _end(start.entry)
        elif told in happened and lives:
            os.kill(worker, signal.SIGTERM)
        lives = lives and worker not in _reaped()
    shutil.rmtree(start.entry.folder, ignore_errors=True)


def _reaped() -> set[int]:
    """Return the children that have ended: the worker, and what it left."""
    found: set[int] = set()
    with suppress(ChildProcessError):
        while (pid := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            found.add(pid)
    return found


def _watched(pid: int) -> int:
    """Return a descriptor that becomes readable when the process ends; -1 if it has ended."""
    with suppress(ProcessLookupError):
        return os.pidfd_open(pid)
    return -1
