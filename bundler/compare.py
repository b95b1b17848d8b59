"""The difference between two trees: which files differ, and their lines as far as people can read them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from filecmp import cmp
from pathlib import Path

TEXT_BYTES = 256 * 2**10
TEXT_LINES = 3_000
"""A file beyond `TEXT_BYTES` or `TEXT_LINES` is only named and not compared line by line: in the worst case the time
grows with the square of the lines."""

LINES = 1_000
"""The most lines of differences that are shown for all files together."""

_LINE = 500


@dataclass(frozen=True, slots=True)
class TreeDifference:
    """The difference between two trees.

    added: the paths that only the second tree has.
    removed: the paths that only the first tree has.
    changed: the paths that both trees have, but not alike.
    lines: the lines of the differences, in the form of `diff -u`.
    cut: True if there would be more lines.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    lines: tuple[str, ...]
    cut: bool


def difference(before: Path, after: Path, *, limit: int = LINES) -> TreeDifference:
    """Compare two folders to the byte: files, links, and the owner's right to execute."""
    old, new = set(_leaves(before)), set(_leaves(after))
    changed = sorted(path for path in old & new if not _alike(before / path, after / path))
    lines: list[str] = []
    for path in sorted({*changed, *(old ^ new)}):
        if len(lines) > limit:
            break
        lines += _lines(path, before / path, after / path)
    return TreeDifference(
        tuple(sorted(new - old)), tuple(sorted(old - new)), tuple(changed), tuple(lines[:limit]), len(lines) > limit
    )


def _leaves(root: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        empty = [] if folders or files or folder == str(root) else [folder]
        for path in (*empty, *(os.path.join(folder, name) for name in (*files, *links))):
            yield os.path.relpath(path, root)


def _alike(one: Path, other: Path) -> bool:
    kinds = _kind(one), _kind(other)
    if kinds[0] != kinds[1]:
        return False
    if kinds[0] == "link":
        return os.readlink(one) == os.readlink(other)
    return kinds[0] == "folder" or cmp(one, other, shallow=False)


def _kind(path: Path) -> str:
    if path.is_symlink():
        return "link"
    if path.is_dir():
        return "folder"
    return "program" if path.stat().st_mode & stat.S_IXUSR else "file"


def _lines(path: str, before: Path, after: Path) -> list[str]:
    """Return the differences of one path, in the form of `diff -u`; one line where there is nothing to read."""
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return [f"{path}: not compared line by line: not text, or too long"]
    names = f"a/{path}" if _there(before) else os.devnull, f"b/{path}" if _there(after) else os.devnull
    found = [line[:_LINE] for line in unified_diff(old, new, *names, lineterm="")]
    if not found and _there(before) and _there(after):
        return [f"{path}: {_kind(before)} -> {_kind(after)}"]
    return found


def _there(path: Path) -> bool:
    return os.path.lexists(path)


def _text(path: Path) -> list[str] | None:
    """Return the lines of a file. A link has one line, which shows its target; what is no file has none.

    None: the file is not text, or too large to be compared line by line.
    """
    if path.is_symlink():
        return [f"-> {os.readlink(path)}"]
    if not path.is_file():
        return []
    if path.stat().st_size > TEXT_BYTES:
        return None
    data = path.read_bytes()
    try:
        lines = data.decode().splitlines()
        return None if b"\0" in data or len(lines) > TEXT_LINES else lines
    except UnicodeDecodeError:
        return None
