"""A stranger's values in words, for messages that say what is wrong with them. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

_SAYABLE = 10**50  # Python writes no numbers of thousands of digits, and makes no floats of those of hundreds


def shown(value: Any) -> str:
    """A value for an error message: one short line."""
    large = isinstance(value, int) and abs(value) >= _SAYABLE
    text = "a very large number" if large else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def plain(error: str) -> str:
    """What msgspec says of a value, in our words."""
    return error[:1].lower() + error[1:].replace("`$", "`").replace("object", "table")


def named(pattern: re.Pattern[str], allowed: str) -> Callable[[str], Iterator[str]]:
    """The rule of texts that have this form, and no `..` in it."""

    def rule(value: str) -> Iterator[str]:
        if not pattern.fullmatch(value) or ".." in value:
            yield f"is {shown(value)}; use {allowed}"

    return rule


def between(low: float, high: float, unit: str = "") -> Callable[[float | None], Iterator[str]]:
    """The rule of numbers in this range; of nothing it says nothing."""

    def rule(value: float | None) -> Iterator[str]:
        if value is not None and not low <= value <= high:
            yield f"is {shown(value)}; use {low:g} to {high:g}{unit}"

    return rule
