"""A TOML reader for text from strangers: it reads within bounds and names the line of a fault. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Any

from .toml_lines import Path, TomlLines

PARTS_MAX = 128
WHOLE_MAX = 2**63
"""Whole numbers have 64 bits: TOML promises no more, and Python does not write numbers of thousands of digits."""

_BETWEEN = re.compile(r"""[^\w.\-"' \t]""")
_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class NotToml(ValueError):
    """The error of a text that is not TOML, or that we do not read. `what` names the fault, `line` its line, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: not TOML: {what}")
        self.line, self.what = line, what


def loads(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Return the table in a text.

    Raises `NotToml`, also for text that takes very long to read or that cannot be written out again.
    """
    if deep := _too_deep(text):
        raise NotToml(deep, f"a key has more than {PARTS_MAX} parts; use plain tables and lists")
    try:
        found = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise NotToml(1, "it is nested too deeply; use plain tables and lists") from None
    except ValueError as error:  # TOMLDecodeError is one; a number of 5,000 digits raises a bare one
        at = _AT_LINE.search(str(error))
        end = text.rstrip("\n").count("\n") + 1
        raise NotToml(int(at[1] or end) if at else 1, str(error)[: at.start()] if at else str(error)) from None
    if path := _huge(found):
        raise NotToml(TomlLines(text).of(*path), "a whole number needs more than 64 bits")
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
