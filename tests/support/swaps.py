"""A folder becomes a link to another place in the midst of what somebody does to it: before each of their calls in turn."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

CALLS = (
    "open",
    "scandir",
    "listdir",
    "stat",
    "lstat",
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "mkdir",
    "link",
)
CALLS += ("chmod", "chown", "fchmod", "fchown", "utime", "fstat", "pread")
CALLS_MAX = 2_000


class Elsewhere:
    """A place that nobody is to touch, with files and folders of any name that somebody may look for in it."""

    def __init__(self, folder: Path, names: Iterable[str], owner: int) -> None:
        self.folder = folder
        folder.mkdir()
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("precious")
            (folder / name).chmod(0o640)
        (folder / "empty").mkdir(mode=0o710)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, -1)
        self.before = self.state()

    def state(self) -> dict[str, tuple[int, int, int, str]]:
        """What is there: mode, owner, group and bytes of each path."""
        found = {}
        for path in (self.folder, *sorted(self.folder.rglob("*"))):
            at = path.lstat()
            found[str(path)] = at.st_mode, at.st_uid, at.st_gid, path.read_text() if path.is_file() else ""
        return found


def swap(folder: Path, elsewhere: Path) -> None:
    """The folder is a link to elsewhere from now on, also if it was removed already."""
    with suppress(FileNotFoundError):
        folder.rename(f"{folder}.away")
    with suppress(FileNotFoundError, FileExistsError):
        folder.symlink_to(elsewhere)


def at_each_call(
    monkeypatch: pytest.MonkeyPatch, scene: Callable[[int], tuple[Callable[[], None], Callable[[], object]]]
) -> Iterator[int]:
    """Play a scene anew for each system call of it, and do the other thing right before that call. Yields the call's number.

    `scene` gets that number and makes what is needed: the other thing, and what is played. What is played may fail.
    """
    for number in range(CALLS_MAX):
        other, play = scene(number)
        left = [number]
        with monkeypatch.context() as patched:
            for name in CALLS:
                patched.setattr(os, name, _counted(getattr(os, name), left, other))
            with suppress(Exception):
                play()
        yield number
        if left[0] >= 0:
            return
    raise AssertionError(f"it makes more than {CALLS_MAX} calls")


def _counted(call: Callable[..., Any], left: list[int], other: Callable[[], None]) -> Callable[..., Any]:
    def counted(*args: Any, **how: Any) -> Any:
        left[0] -= 1
        if left[0] == -1:
            other()
        return call(*args, **how)

    return counted
