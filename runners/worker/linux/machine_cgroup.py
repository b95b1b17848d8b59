"""The control group of one machine.

All processes of the machine are in it, even if they change parents or environments. It only shows which processes are
there, and ends them at once; bounds are another matter (see `cgroup`). It is version 2 if we may change its tree, else
the freezer of version 1; "" stands for none.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from .cgroup import LEAF, MACHINE, base_of, is_ours
from .process_tree import send, started

MOUNTS, OWN = Path("/proc/self/mounts"), Path("/proc/self/cgroup")
V2, V1 = "cgroup2", "cgroup"
_FREEZER = "freezer"
_PROCS = "cgroup.procs"
_FROZEN_TRIES, _FROZEN_S = 50, 0.002
_PASSES = 20


def make(name: str, kinds: tuple[str, ...] = (V2, V1), mounts: Path = MOUNTS, own: Path = OWN) -> str:
    """Return the path of a new group for a machine; "" where none can be made."""
    for kind in kinds:
        with suppress(OSError, StopIteration, ValueError):
            base = _base_of(kind, mounts, own)
            if base is not None:
                folder = base / f"{MACHINE}{name}"
                (folder / LEAF).mkdir(parents=True)
                return str(folder)
    return ""


def enter(group: str) -> None:
    """Move this process into the group, and with it all that it starts later. Raises `OSError`."""
    (Path(group) / LEAF / _PROCS).write_text("0")


def members(group: str) -> list[int]:
    """Return the pids of all processes in the group and in the groups below it."""
    return [pid for folder in _tree(group) for pid in _pids(folder) if started(pid) is not None]


def end(group: str) -> None:
    """Kill all of its processes, and those that they start meanwhile."""
    folder = Path(group)
    with suppress(OSError):
        (folder / "cgroup.kill").write_text("1") if (folder / "cgroup.kill").exists() else _end_frozen(folder)


def remove(group: str) -> None:
    """Remove the group, when it is empty."""
    for folder in reversed(list(_tree(group))):
        with suppress(OSError):
            folder.rmdir()


def _end_frozen(folder: Path) -> None:
    """Kill all processes where the kernel has no `cgroup.kill`: freeze them first, then kill them."""
    for _ in range(_PASSES):
        _freeze(folder, frozen=True)
        found = members(str(folder))
        send(found, signal.SIGKILL)
        _freeze(folder, frozen=False)
        if not found:
            return


def _freeze(folder: Path, *, frozen: bool) -> None:
    with suppress(OSError):
        if (folder / "cgroup.freeze").exists():
            (folder / "cgroup.freeze").write_text("1" if frozen else "0")
            return
        state = folder / "freezer.state"
        state.write_text("FROZEN" if frozen else "THAWED")
        for _ in range(_FROZEN_TRIES if frozen else 0):
            if state.read_text().strip() == "FROZEN":
                return
            time.sleep(_FROZEN_S)


def _base_of(kind: str, mounts: Path, own: Path) -> Path | None:
    """Return the group below which machine groups are made; None if we may not change it."""
    root = next(Path(words[1]) for words in map(str.split, mounts.read_text().splitlines()) if _is(words, kind))
    if kind == V2:
        with suppress(OSError):
            if bounding := base_of(root, own):  # so that groups below it can have bounds too
                return bounding
    lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    wanted = next(path for _, names, path in lines if (_FREEZER in names.split(",") if kind == V1 else not names))
    base = root / wanted.lstrip("/")
    if base.name == LEAF:
        base = base.parent
    return base if kind == V1 or is_ours(base, root) else None


def _is(words: list[str], kind: str) -> bool:
    return words[2] == kind and (kind == V2 or _FREEZER in words[3].split(","))


def _tree(group: str) -> Iterator[Path]:
    """Yield the group and those below it, top down."""
    for folder, _, _ in os.walk(group):
        yield Path(folder)


def _pids(folder: Path) -> list[int]:
    try:
        return [int(word) for word in (folder / _PROCS).read_text().split()]
    except OSError:  # removed meanwhile
        return []
