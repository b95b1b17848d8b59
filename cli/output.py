"""What a command prints: results on standard output, notes on standard error, JSON if asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

WIDTH = 120


class Output:
    """Where a command prints. `json`: results and errors are JSON, one line each, and nothing else is on `out`."""

    def __init__(self, out: TextIO, err: TextIO, *, json: bool = False, environ: Mapping[str, str]) -> None:
        self.out = out
        self.err = err
        self.json = json
        self._plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"

    @property
    def width(self) -> int | None:
        """How long a line may be: `WIDTH` on a terminal, without limit for a program."""
        return WIDTH if self.out.isatty() else None

    def say(self, text: str) -> None:
        """A line of the result."""
        print(text, file=self.out, flush=True)

    def data(self, value: Any) -> None:
        """The result as one line of JSON."""
        self.say(json.dumps(value, ensure_ascii=False))

    def note(self, text: str) -> None:
        """A line for people: progress, hints. Scripts get none."""
        if not self.json:
            self._complain(text)

    def error(self, text: str) -> None:
        """Why the command failed: one line."""
        line = " ".join(text.split())
        self._complain(json.dumps({"error": line}, ensure_ascii=False) if self.json else f"error: {line}")

    def _complain(self, text: str) -> None:
        print(text, file=self.err, flush=True)

    def bold(self, text: str) -> str:
        """`text`, bold where standard output is a terminal that shows it."""
        return f"\033[1m{text}\033[0m" if self.out.isatty() and not self._plain else text

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show on a terminal that something long is under way; elsewhere nothing."""
        if self.json or self._plain or not self.err.isatty():
            yield
            return
        from rich.console import Console  # heavy: only for a terminal

        with Console(file=self.err).status(text):
            yield


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: frozenset[str] = frozenset(),
    caps: Mapping[str, int] | None = None,
    width: int | None = None,
) -> list[str]:
    """Aligned lines with two-space gutters and no drawing, so that `awk` works; `-` stands for nothing.

    Heads in `right` are aligned to the right. With a `width`, columns in `caps` are cut to their length, in the
    middle, because ids differ at their ends; and every line is cut to `width`.
    """
    limits = [(caps or {}).get(head) if width else None for head in heads]
    cells = [[_cut(cell or "-", cap) for cell, cap in zip(row, limits, strict=True)] for row in (heads, *rows)]
    sizes = [max(len(line[i]) for line in cells) for i in range(len(heads))]
    lines = [
        "  ".join(_pad(*part) for part in zip(line, sizes, (h in right for h in heads), strict=True)) for line in cells
    ]
    return [_end(line.rstrip(), width) for line in lines]


def _pad(cell: str, size: int, to_right: bool) -> str:
    return cell.rjust(size) if to_right else cell.ljust(size)


def _cut(cell: str, cap: int | None) -> str:
    if cap is None or len(cell) <= cap:
        return cell
    tail = cap // 2
    return f"{cell[: cap - tail - 1]}~{cell[-tail:]}"


def _end(line: str, width: int | None) -> str:
    return line if width is None or len(line) <= width else f"{line[: width - 1]}~"
