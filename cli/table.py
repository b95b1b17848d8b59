"""Tables that people read and `awk` understands, on a terminal as narrow as it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

CUT = "…"
LAST_MIN = 28
"""A last column with less room than this gets lines of its own."""
LAST_LINES = 3


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[str] = frozenset(),
    caps: Mapping[str, int] | None = None,
    width: int | None = None,
    spare: Sequence[str] = (),
) -> list[str]:
    """Aligned lines with two-space gutters and no drawing; `-` stands for nothing. The first line holds the heads.

    Heads in `right` are aligned to the right. With a `width`, no line is longer: columns in `caps` are cut to their
    length, in the middle, because ids differ at their ends; the columns in `spare` go, the first one first, while they
    leave the last column less than 28 characters; and if that is not enough it gets lines of its own below the others.
    """
    lines = [[plain(cell) or "-" for cell in row] for row in (heads, *rows)]
    if width is None:
        return _aligned(lines, right)
    lines = [[middle(cell, (caps or {}).get(head)) for head, cell in zip(heads, row, strict=True)] for row in lines]
    for head in spare:
        if _fits(lines, width):
            break
        at = lines[0].index(head)
        lines = [row[:at] + row[at + 1 :] for row in lines]
    if len(lines[0]) == 1 or _fits(lines, width):
        return [end(line, width) for line in _aligned(lines, right)]
    return _stacked(lines, right, width)


def plain(text: str) -> str:
    """One line of text: what would move the cursor is a space. Somebody else may have written it."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


def end(line: str, width: int | None) -> str:
    """The line, cut at its end if it is longer than this."""
    return line if width is None or len(line) <= width else f"{line[: max(0, width - 1)]}{CUT}"


def _fits(lines: Sequence[Sequence[str]], width: int) -> bool:
    """True if the last column has the room that it needs, or else enough."""
    *others, last = _sizes(lines)
    return width - sum(others) - 2 * len(others) >= min(last, LAST_MIN)


def _stacked(lines: Sequence[Sequence[str]], right: frozenset[str], width: int) -> list[str]:
    """The last column on lines of its own."""
    upper = [list(row[:-1]) for row in lines]
    excess = sum(_sizes(upper)) + 2 * (len(upper[0]) - 1) - width
    longest = _sizes(upper)[0]
    if excess > 0:
        upper = [[middle(row[0], max(8, longest - excess)), *row[1:]] for row in upper]
    out = []
    for number, (line, row) in enumerate(zip(_aligned(upper, right), lines, strict=True)):
        out.append(end(line, width))
        if number:  # nobody needs the head of what has no column
            out += _wrapped(row[-1], width)
    return out


def _wrapped(text: str, width: int) -> list[str]:
    if text == "-":
        return []
    room = max(8, width - 2)
    found = wrap(text, room, max_lines=LAST_LINES, placeholder=CUT)
    return [end(f"  {line}", width) for line in found]


def _aligned(lines: Sequence[Sequence[str]], right: frozenset[str]) -> list[str]:
    sizes, to_right = _sizes(lines), [head in right for head in lines[0]]
    return ["  ".join(map(_pad, row, sizes, to_right)).rstrip() for row in lines]


def _sizes(lines: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*lines, strict=True)]


def _pad(cell: str, size: int, to_right: bool) -> str:
    return cell.rjust(size) if to_right else cell.ljust(size)


def middle(cell: str, cap: int | None) -> str:
    """The cell, cut in its middle if it is longer than this: ids differ at their ends."""
    if cap is None or len(cell) <= cap:
        return cell
    tail = cap // 2
    return f"{cell[: cap - tail - 1]}{CUT}{cell[-tail:]}"
