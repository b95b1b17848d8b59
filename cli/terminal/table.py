"""Choose the form of a result, and lay out tables that people can read and `awk` can parse. Pure.

The form is `-o table|wide|csv|json`; `--json` stands for the last. A table has the width of the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import wrap

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean

from .flags import Flag, text

TABLE, WIDE, CSV, JSON = "table", "wide", "csv", "json"

CUT = "…"
LAST_MIN = 28
"""The width that the last column gets on its line, at the cost of the spare columns."""
LAST_LINES = 6
"""The largest number of lines of a last cell below its row. A longer text is cut at its end."""
FIRST_MAX = 30
"""The longest first cell in its row, where the columns do not fit. A longer one gets a line of its own."""

_Row = Sequence[str]


def table(
    heads: _Row,
    rows: Sequence[_Row],
    *,
    right: frozenset[str] = frozenset(),
    caps: Mapping[str, int] | None = None,
    width: int | None = None,
    spare: Sequence[str] = (),
) -> list[str]:
    """Return aligned lines with two-space gutters and without drawn borders. `-` stands for an empty cell.

    The first line holds the heads.

    Heads in `right` are aligned to the right. With a `width`, no line is longer. Columns in `caps` are cut to their
    length, in the middle. The columns in `spare` are dropped, the first one first, while they leave the last column
    less than 28 characters. The first column is never cut, because people copy ids from it; one that is too long gets
    lines of its own. A last cell without enough width wraps below its line.
    """
    lines = [[plain(cell) or "-" for cell in row] for row in (heads, *rows)]
    if width is None:
        return _aligned(lines, _sizes(lines), right)
    lines = [[middle(cell, (caps or {}).get(head)) for head, cell in zip(heads, row, strict=True)] for row in lines]
    first_max = width if _fits(lines, width, width) else FIRST_MAX
    for head in spare:
        if _fits(lines, width, first_max):
            break
        at = lines[0].index(head)
        lines = [row[:at] + row[at + 1 :] for row in lines]
    return _laid_out(lines, right, width, min(first_max, width))


def plain(text: str) -> str:
    """Return one line of text, with a space for each run that would move the cursor. The text may come from anybody."""
    return text if text.isprintable() else " ".join("".join(c if c.isprintable() else " " for c in text).split())


def end(line: str, width: int | None) -> str:
    """Return the line, cut at its end if it is longer than `width`."""
    return line if width is None or len(line) <= width else f"{line[: max(0, width - 1)]}{CUT}"


def _fits(lines: Sequence[_Row], width: int, first_max: int) -> bool:
    """Return True if the last column has the width that it needs, or at least `LAST_MIN`."""
    *others, last = _sizes(lines, first_max)
    return width - sum(others) - 2 * len(others) >= min(last, LAST_MIN)


def _laid_out(lines: Sequence[_Row], right: frozenset[str], width: int, first_max: int) -> list[str]:
    """Lay out each row on a line. A first cell that is too long stands above it, such a last cell below it."""
    *others, _ = sizes = _sizes(lines, first_max)
    room = width - sum(others) - 2 * len(others)
    out = []
    for number, row in enumerate(lines):
        *cells, end_cell = row
        below = bool(cells) and len(end_cell) > room
        if cells and len(cells[0]) > first_max:
            out += _split(cells[0], width)
            cells[0] = ""
        shown = [*cells, ""] if below else [*cells, end_cell]
        if any(shown):
            out.append(end(_aligned([shown], sizes, right, heads=lines[0])[0], width))
        if below and number:
            out += _wrapped(end_cell, width)
    return out


def _split(cell: str, width: int) -> list[str]:
    return [cell[start : start + width] for start in range(0, len(cell), width)]


def _wrapped(text: str, width: int) -> list[str]:
    if text == "-":
        return []
    room = max(8, width - 2)
    found = wrap(text, room, max_lines=LAST_LINES, placeholder=CUT)
    return [end(f"  {line}", width) for line in found]


def _aligned(
    lines: Sequence[_Row], sizes: Sequence[int], right: frozenset[str], *, heads: _Row | None = None
) -> list[str]:
    to_right = [head in right for head in heads or lines[0]]
    return ["  ".join(map(_pad, row, sizes, to_right)).rstrip() for row in lines]


def _sizes(lines: Sequence[_Row], first_max: int | None = None) -> list[int]:
    """Return the width of each column.

    A first cell longer than `first_max` does not count: it gets a line of its own.
    """
    first, *others = zip(*lines, strict=True)
    counted = [len(cell) for cell in first if first_max is None or not others or len(cell) <= first_max]
    return [max(counted, default=0), *(max(map(len, column)) for column in others)]


def _pad(cell: str, size: int, to_right: bool) -> str:
    return cell.rjust(size) if to_right else cell.ljust(size)


def middle(cell: str, cap: int | None) -> str:
    """Return the cell, cut in its middle if it is longer than `cap`: ids differ at their ends."""
    if cap is None or len(cell) <= cap:
        return cell
    tail = cap // 2
    return f"{cell[: cap - tail - 1]}{CUT}{cell[-tail:]}"


def formats(*forms: str) -> Flag[str]:
    """Declare the flag `output` of a command that has these formats."""
    about = f"Print as {', '.join(forms[:-1])} or {forms[-1]}."
    return text(about, "FORMAT", default=TABLE, short="o", choices=forms)


def format_of(output: str, json: bool, *forms: str) -> str:
    """Return the format that `--output` and `--json` ask for together. Raises `UsageError`."""
    if output not in forms:
        raise UsageError(f"--output is {output[:64]!r}; {did_you_mean(output[:64], forms, 'use ' + ', '.join(forms))}")
    if json and output not in (TABLE, JSON):
        raise UsageError(f"--json and --output={output} ask for two formats; leave one out")
    return JSON if json else output


def wants_json(argv: Sequence[str]) -> bool:
    """Return True if the command line asks for JSON.

    It looks before the parser does, because the parser's errors are JSON, too.
    """
    before = list(argv[: argv.index("--")] if "--" in argv else argv)
    if any(word in ("--json", "-json", "--json=true", "--output=json", "-ojson", "-o=json") for word in before):
        return True
    return any(pair in (("-o", JSON), ("--output", JSON)) for pair in pairwise(before))
