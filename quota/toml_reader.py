"""A TOML reader for text from strangers: it reads within bounds, and knows the lines of faults and of keys. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

Path = tuple[str, ...]

PARTS_MAX = 128
WHOLE_MAX = 2**63
"""Whole numbers have 64 bits: TOML promises no more, and Python does not write numbers of thousands of digits."""

_BETWEEN = re.compile(r"""[^\w.\-"' \t]""")
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_KEY = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_DOTTED = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<keys>{_DOTTED})[ \t]*\]")
_ROW = re.compile(rf"[ \t]*(?P<keys>{_DOTTED})[ \t]*=")


class TomlError(ValueError):
    """The error of a text that is not TOML, or that we do not read. `what` names the fault, `line` its line, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: not TOML: {what}")
        self.line, self.what = line, what


def loads(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the table in a text.

    Raises `TomlError`, also for text that takes very long to read or that cannot be written out again.
    """
    if deep := _too_deep(text):
        raise TomlError(deep, f"a key has more than {PARTS_MAX} parts; use plain tables and lists")
    try:
        found = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise TomlError(1, "it is nested too deeply; use plain tables and lists") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of 5,000 digits raises a bare one
        at = _AT_LINE.search(str(error))
        end = text.rstrip("\n").count("\n") + 1
        raise TomlError(int(at[1] or end) if at else 1, str(error)[: at.start()] if at else str(error)) from None
    if path := _huge(found):
        raise TomlError(TomlLines(text).of(*path), "a whole number needs more than 64 bits")
    return found


def _too_deep(text: str) -> int:
    """Return the line of a key with too many parts, as in `a.b.c`; 0 if there is none.

    `tomllib` takes very long for a key with thousands of parts.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") >= PARTS_MAX and max(word.count(".") for word in _BETWEEN.split(line)) >= PARTS_MAX:
            return number
    return 0


def _huge(table: dict[str, Any]) -> Path:
    """Return the keys that lead to a whole number that is too large; empty if there is none."""
    left: list[tuple[Path, Any]] = [((), table)]
    while left:
        path, value = left.pop()
        if isinstance(value, dict):
            left += [((*path, key), each) for key, each in value.items()]
        elif isinstance(value, list):
            left += [((*path, str(number)), each) for number, each in enumerate(value)]
        elif isinstance(value, int) and not -WHOLE_MAX <= value < WHOLE_MAX:
            return path
    return ()


class TomlLines:
    """The line numbers, from 1, of the keys of one text, which the TOML parser does not give.

    The rows of an array of tables are named "0", "1", ... This is a light scan for headers and for keys at the
    beginning of a line. For what it does not find (inline tables, text over several lines) it gives the line of the
    table around it. That is good enough to lead a person to the place.
    """

    def __init__(self, text: str) -> None:
        self._text = text.split("\n")
        self._at: dict[Path, int] = {}
        self._rows: dict[Path, int] = {}
        table: Path = ()
        for number, line in enumerate(self._text, 1):
            if header := _HEADER.match(line):
                table = self._table(_path(header["keys"]), is_row=header["open"] == "[[")
                self._at.setdefault(table, number)
            elif row := _ROW.match(line):
                self._at.setdefault(table + _path(row["keys"]), number)

    def of(self, *path: str) -> int:
        """Return the line of a key, or of the nearest table around it; 1 if neither is found."""
        while path and path not in self._at:
            path = path[:-1]
        return self._at.get(path, 1)

    def of_text(self, item: str, *path: str) -> int:
        """Return the line of a string inside the list that a key holds; the line of the key if it is not found."""
        start = self.of(*path)
        quoted = (f'"{item}"', f"'{item}'")
        lines = enumerate(self._text[start - 1 :], start)
        return next((number for number, line in lines if any(text in line for text in quoted)), start)

    def _table(self, path: Path, *, is_row: bool) -> Path:
        if not is_row:
            return path
        number = self._rows.get(path, 0)
        self._rows[path] = number + 1
        return (*path, str(number))


def _path(keys: str) -> Path:
    return tuple(key[1:-1] if key[0] in "\"'" else key for key in re.findall(_KEY, keys))
