"""Values in words, for messages: values of unknown origin, lengths of time and times. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from .durations import short
from .errors import BastionError

TEXT_BYTES_MAX = 2_048
"""The most bytes of a stored reason or message.

The limit holds in UTF-8 and also as JSON, where some characters take more bytes.
"""

_LONGEST_AS_JSON = 6  # bytes that one byte of a text may become, as in \u0000
_SAYABLE = 10**50  # Python writes no numbers of thousands of digits, and makes no floats of those of hundreds


def shown(value: Any) -> str:
    """Return a value as one short line for an error message."""
    large = isinstance(value, int) and abs(value) >= _SAYABLE
    try:
        text = "a very large number" if large else repr(value)
    except ValueError:  # the value contains such a number
        text = f"a {type(value).__name__} with a very large number"
    return text if len(text) <= 60 else f"{text[:57]}..."


def one_line(text: str, most: int) -> str:
    """Return a text of unknown origin as one line of at most `most` characters, short enough to be stored."""
    line = " ".join(text.encode("utf-8", "replace").decode().split())
    return clipped(line if len(line) <= most else f"{line[: most - 3]}...")


def clipped(text: str, most: int = TEXT_BYTES_MAX) -> str:
    """Return a text as it may be stored: at most `most` bytes. A longer text is cut, with a mark at its end."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()  # half a character cannot be stored
    if len(text) * _LONGEST_AS_JSON <= most or _stored_size(text) <= most:
        return text
    mark = f"... (cut: it had {len(text.encode())} bytes)"
    low, high = 0, min(len(text), most)
    while low < high:  # the longest beginning that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _stored_size(text[:middle] + mark) <= most else (low, middle - 1)
    return text[:low] + mark


def _stored_size(text: str) -> int:
    """Return the bytes of a text as JSON without its quotes."""
    return len(msgspec.json.encode(text)) - 2


def told(error: Exception) -> str:
    """Return an error in words, never empty: the text of our own errors, the `repr` of others."""
    return (isinstance(error, BastionError) and str(error).strip()) or repr(error)


def plain(error: str) -> str:
    """Return msgspec's complaint about a value in our words."""
    return error[:1].lower() + error[1:].replace("`$", "`").replace("object", "table")


def named(pattern: re.Pattern[str], allowed: str) -> Callable[[str], Iterator[str]]:
    """Make the rule for texts that match a pattern and have no `..` in them."""

    def rule(value: str) -> Iterator[str]:
        if not pattern.fullmatch(value) or ".." in value:
            yield f"is {shown(value)}; use {allowed}"

    return rule


def between(low: float, high: float, unit: str = "") -> Callable[[float | None], Iterator[str]]:
    """Make the rule for numbers in this range. None is always allowed."""

    def rule(value: float | None) -> Iterator[str]:
        if value is not None and not low <= value <= high:
            yield f"is {shown(value)}; use {low:g} to {high:g}{unit}"

    return rule


def one_of(words: Sequence[str]) -> Callable[[str], Iterator[str]]:
    """Make the rule for texts that are one of these words."""

    def rule(value: str) -> Iterator[str]:
        if value not in words:
            yield f"is {shown(value)}; use {', '.join(words)}"

    return rule


def clock(moment: datetime, now: datetime) -> str:
    """Return `14:20 UTC, in 2h3m`, or `14:20 UTC, 5s ago`; with the day if it is not today."""
    then, today = moment.astimezone(UTC), now.astimezone(UTC).date()
    day = "" if then.date() == today else f"{then:%Y-%m-%d} "
    left = (moment - now).total_seconds()
    return f"{day}{then:%H:%M} UTC, " + (f"in {short(left)}" if left >= 0 else f"{short(-left)} ago")


def listed(parts: Sequence[str]) -> str:
    """Return `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
