"""What a command prints: results on standard output, notes on standard error, JSON if asked for."""

from __future__ import annotations

import csv as csv_module
import json
import os
import re
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

WIDTH, HEIGHT = 120, 40
"""What a terminal has that does not say how large it is."""

_BOLD, _NORMAL = "\033[1m", "\033[0m"
_ACTS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # moves, colours, titles, bells, clipboards
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # turns the order of what stands beside it
    "\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f"  # breaks lines, is no character, is there and not seen
)
_UNSAFE = re.compile(f"[{_ACTS}]")
_UNSAFE_OR_BOLD = re.compile(rf"(\x1b\[[01]m)|[{_ACTS}]")
_UNSAFE_OR_COLOUR = re.compile(rf"(\x1b\[[0-9;]{{0,32}}m)|[{_ACTS}]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str, unsafe: re.Pattern[str] = _UNSAFE) -> str:
    """The text with all that would act on a terminal written as JSON writes it. Within JSON it still means the same.

    What a pattern of ours catches in a group is ours, and stays.
    """
    return unsafe.sub(lambda found: (found.lastindex and found[1]) or json.dumps(found[0])[1:-1], text)


def harmless_log(line: str) -> str:
    """A line of a log as a terminal may have it: colours stay, and of what was printed over itself the last text."""
    last = line.rstrip("\r").rpartition("\r")[2]
    coloured = harmless(last, _UNSAFE_OR_COLOUR)
    return f"{coloured}{_NORMAL}" if "\033" in coloured else coloured


class Output:
    """Where a command prints. `json`: results and errors are JSON, one line each, and nothing else is on `out`."""

    def __init__(self, out: TextIO, err: TextIO, *, json: bool = False, environ: Mapping[str, str]) -> None:
        self.out = out
        self.err = err
        self.json = json
        self._environ = environ
        self._dumb = environ.get("TERM") == "dumb"
        self._plain = bool(environ.get("NO_COLOR")) or self._dumb

    @property
    def width(self) -> int | None:
        """How long a line may be: as wide as the terminal, without limit for a program."""
        return self._size()[0] if self.out.isatty() else None

    @property
    def height(self) -> int | None:
        """How many lines can be drawn over again; None if none can."""
        return self._size()[1] if self.out.isatty() and not self._dumb else None

    def check_reader(self) -> None:
        """Raise `BrokenPipeError` if whoever read standard output went away, without waiting for the next line."""
        try:
            fd = self.out.fileno()
        except (OSError, ValueError):
            return
        poll = select.poll()
        poll.register(fd, 0)
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
            raise BrokenPipeError

    @contextmanager
    def screen(self) -> Iterator[Callable[[Sequence[str]], None]]:
        """The whole terminal, to draw lines on over and over; what was there before comes back afterwards."""
        from rich.console import Console  # heavy: only for a terminal
        from rich.live import Live
        from rich.text import Text

        console = Console(file=self.out, force_terminal=True, highlight=False)
        with Live(
            console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        ) as live:

            def draw(lines: Sequence[str]) -> None:
                columns, rows = self._size()
                console.width, console.height = columns, rows
                safe = [harmless(line) for line in lines]
                first = Text(safe[0] if safe else "", style="" if self._plain or len(safe) < 2 else "bold")
                live.update(Text("\n").join([first, *map(Text, safe[1:])]), refresh=True)

            yield draw

    def _size(self) -> tuple[int, int]:
        """Columns and lines of the terminal: the size that is set wins, as for other programs."""
        try:
            columns, lines = os.get_terminal_size(self.out.fileno())
        except (OSError, ValueError):
            columns, lines = 0, 0
        said = self._environ.get("COLUMNS", ""), self._environ.get("LINES", "")
        columns, lines = (
            int(word) if word.isdecimal() else size for word, size in zip(said, (columns, lines), strict=True)
        )
        return columns or WIDTH, lines or HEIGHT

    def say(self, text: str) -> None:
        """A line of the result, or several. Whoever wrote what is in it, it does nothing to the terminal."""
        self._print(harmless(text, _UNSAFE_OR_BOLD if self._bold else _UNSAFE))

    def log(self, lines: Sequence[str]) -> None:
        """Lines of a log: for programs as they are, on a terminal so that they do nothing to it."""
        if lines and self.json:
            self.say("\n".join(json.dumps({"line": line}) for line in lines))
        elif lines:
            self._print("\n".join(map(harmless_log, lines) if self.out.isatty() else lines))

    def file(self, text: str) -> None:
        """The text of a file: for programs as it is, on a terminal so that it does nothing to it."""
        self._print(harmless(text) if self.out.isatty() else text)

    def data(self, value: Any) -> None:
        """The result as one line of JSON."""
        self.say(json.dumps(value, ensure_ascii=False))

    def csv(self, rows: Sequence[Sequence[Any]]) -> None:
        """The result as comma-separated values; the first row holds their names. No spreadsheet takes a text for a formula."""
        csv_module.writer(self.out, lineterminator="\n").writerows([*map(_csv_cell, row)] for row in rows)
        self.out.flush()

    def note(self, text: str) -> None:
        """A line for people: progress, hints. Scripts get none."""
        if not self.json:
            self._complain(text)

    def error(self, text: str) -> None:
        """Why the command failed: one line."""
        line = " ".join(text.split())
        self._complain(json.dumps({"error": line}, ensure_ascii=False) if self.json else f"error: {line}")

    def _complain(self, text: str) -> None:
        print(harmless(text), file=self.err, flush=True)

    def _print(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    @property
    def _bold(self) -> bool:
        return self.out.isatty() and not self._plain

    def bold(self, text: str) -> str:
        """`text`, bold where standard output is a terminal that shows it."""
        return f"{_BOLD}{text}{_NORMAL}" if self._bold else text

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show on a terminal that something long is under way; elsewhere nothing."""
        if self.json or self._plain or not self.err.isatty():
            yield
            return
        from rich.console import Console  # heavy: only for a terminal
        from rich.markup import escape

        with Console(file=self.err).status(escape(harmless(text))):
            yield


def _csv_cell(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    return harmless(f"'{cell}" if cell.startswith(_FORMULA) else cell)
