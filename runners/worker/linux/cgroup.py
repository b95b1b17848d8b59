"""A Linux control group (version 2) for the processes of one worker: the kernel enforces its bounds exactly.

It needs a tree of groups that we may change: a group that systemd has delegated (`Delegate=yes`), a container's own, or
a machine on which no other program manages groups. Elsewhere there is no group, and a guard looks at the processes
instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .bounds import Bounds, BrokenBound

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
LEAF = "bastion"
"""The group of the bastion and its workers: a group whose children are bounded can hold no processes itself."""

MACHINE = "bastion-"
"""The prefix of a machine's group; the nonce of its id follows.

Its worker is in a leaf below; its bounded job is beside it.
"""

_JOB = "job-"
_NEEDED = frozenset({"memory", "pids"})
_MOVES = 3
_DELEGATED = ("trusted.delegate", "user.delegate")


class WorkerCgroup:
    """A group that was made for the processes of a worker. `root` is the tree of all groups, `own` names our group."""

    def __init__(self, folder: Path, bounds: Bounds, root: Path, own: Path) -> None:
        self._folder, self._bounds = folder, bounds
        self._root, self._own = root, own

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Put this process into the group for a while, so that processes started meanwhile are in it from the start."""
        before = _own(self._root, self._own)
        _write(self._folder / "cgroup.procs", "0")
        try:
            yield
        finally:
            _write(before / "cgroup.procs", "0")
            if self._bounds.processes:  # not earlier: our own threads may be more than the bound
                _write(self._folder / "pids.max", str(self._bounds.processes))

    def look(self) -> BrokenBound | None:
        """Return the bound that the kernel has enforced so far: a process that it refused, or ended."""
        if self._bounds.memory and _count(self._folder / "memory.events", "oom_kill"):
            return self._bounds.too_much()
        if self._bounds.processes and _count(self._folder / "pids.events", "max"):
            return self._bounds.too_many()
        return None

    def kill(self) -> None:
        """Kill all processes of the group at once."""
        with suppress(OSError):
            _write(self._folder / "cgroup.kill", "1")

    def remove(self) -> None:
        """Remove the group, when all of its processes have ended."""
        with suppress(OSError):
            self._folder.rmdir()


def group(name: str, bounds: Bounds, root: Path = ROOT, own: Path = OWN) -> WorkerCgroup | None:
    """Return a group of this name with these bounds, that this process can enter; None where none can be made."""
    try:
        base = base_of(root, own)
        if base is None:
            return None
        for left in base.glob(f"{_JOB}*"):  # left by a crashed worker; one with processes in it stays
            if not os.path.exists(f"/proc/{left.name.removeprefix(_JOB)}"):
                WorkerCgroup(left, bounds, root, own).remove()
        folder = base / f"{_JOB}{name}"
        folder.mkdir(exist_ok=True)
        if bounds.memory:
            _write(folder / "memory.oom.group", "1")
            _write(folder / "memory.max", str(bounds.memory_bytes))
            with suppress(OSError):  # not every kernel counts it
                _write(folder / "memory.swap.max", "0")
        found = WorkerCgroup(folder, bounds, root, own)
        # a trial: where this process cannot enter the group, there is none
        with found.inside():
            return found
    except OSError:
        return None


def base_of(root: Path, own: Path) -> Path | None:
    """Return the group below which job groups are made; None if we may not change the tree. Raises `OSError`."""
    base = _own(root, own)
    if base.name == LEAF:
        base = base.parent
    if not set(_words(base / "cgroup.controllers")) >= _NEEDED:
        return None
    whole = _is_first(base)
    if not is_ours(base, root):
        return None
    for _ in range(_MOVES):
        if set(_words(base / "cgroup.subtree_control")) >= _NEEDED:
            return base
        if not whole:
            _move(base, base / LEAF)
        with suppress(OSError):  # busy: a process appeared in the group meanwhile
            _write(base / "cgroup.subtree_control", " ".join(f"+{word}" for word in sorted(_NEEDED)))
    return None


def is_ours(base: Path, root: Path) -> bool:
    """Return True for a group in which we may make children, because no other program manages this part of the tree."""
    machines = base.name.startswith(MACHINE) and is_ours(base.parent, root)
    return base == root or _is_first(base) or machines or _is_delegated(base)


def _is_first(base: Path) -> bool:
    """Return True for the first group of the machine, which may hold processes as well."""
    return not (base / "cgroup.type").exists()


def _own(root: Path, own: Path) -> Path:
    line = next((line for line in own.read_text().splitlines() if line.startswith("0::/")), "")
    if not line:
        raise FileNotFoundError("no control groups of version 2")
    return root / line.removeprefix("0::/")


def _move(base: Path, leaf: Path) -> None:
    """Move all processes of a group of ours into a group below it."""
    leaf.mkdir(exist_ok=True)
    for pid in _words(base / "cgroup.procs"):
        with suppress(ProcessLookupError):
            _write(leaf / "cgroup.procs", pid)


def _is_delegated(folder: Path) -> bool:
    for name in _DELEGATED:
        with suppress(OSError):
            if os.getxattr(folder, name) == b"1":
                return True
    return False


def _words(path: Path) -> list[str]:
    return path.read_text().split()


def _count(path: Path, word: str) -> int:
    with suppress(OSError, ValueError, IndexError):
        words = _words(path)
        return int(words[words.index(word) + 1])
    return 0


def _write(path: Path, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
