"""Print for a command: results on standard output, notes on standard error, JSON on request."""

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
"""The columns and lines of a terminal that does not report its size."""

_BOLD, _NORMAL = "\033[1m", "\033[0m"
_ACTS = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # moves, colours, titles, bells, clipboards
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # changes the reading direction of the text around it
    "\u2028\u2029\ud800-\udfff\U000e0000-\U000e007f"  # breaks lines, is not a character, or is invisible
)
_UNSAFE = re.compile(f"[{_ACTS}]")
_UNSAFE_OR_BOLD = re.compile(rf"(\x1b\[[01]m)|[{_ACTS}]")
_UNSAFE_OR_COLOUR = re.compile(rf"(\x1b\[[0-9;]{{0,32}}m)|[{_ACTS}]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str, unsafe: re.Pattern[str] = _UNSAFE) -> str:
    """Return the text with every character that could control a terminal escaped as in JSON.

    Inside JSON it keeps its meaning. Text that the pattern `unsafe` captures in a group is our own and stays unchanged.
    """
    return unsafe.sub(lambda found: (found.lastindex and found[1]) or json.dumps(found[0])[1:-1], text)


def harmless_log(line: str) -> str:
    """Return a line of a log that is safe for a terminal.

    Colours stay; of overprinted text, only the last text stays.
    """
    last = line.rstrip("\r").rpartition("\r")[2]
    coloured = harmless(last, _UNSAFE_OR_COLOUR)
    return f"{coloured}{_NORMAL}" if "\033" in coloured else coloured


class Output:
    """The streams that a command prints to.

    `json`: results and errors are JSON, one line each, and `out` gets nothing else.
    """

    def __init__(self, out: TextIO, err: TextIO, *, json: bool = False, environ: Mapping[str, str]) -> None:
        self.out = out
        self.err = err
        self.json = json
        self._environ = environ
        self._dumb = environ.get("TERM") == "dumb"
        self._plain = bool(environ.get("NO_COLOR")) or self._dumb

    @property
    def width(self) -> int | None:
        """The longest line: the width of the terminal; None, without limit, for a program."""
        return self._size()[0] if self.out.isatty() else None

    @property
    def height(self) -> int | None:
        """The number of lines that can be redrawn; None if none can."""
        return self._size()[1] if self.out.isatty() and not self._dumb else None

    def check_reader(self) -> None:
        """Raise `BrokenPipeError` if the reader of standard output has gone, without waiting for the next line."""
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
        """Take the whole terminal, and yield a function that redraws its lines.

        At the end, the previous content comes back.
        """
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
        """Return columns and lines of the terminal. COLUMNS and LINES win, as in other programs."""
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
        """Print one or more lines of the result. Its text may come from anybody; it cannot control the terminal."""
        self._print(harmless(text, _UNSAFE_OR_BOLD if self._bold else _UNSAFE))

    def log(self, lines: Sequence[str]) -> None:
        """Print lines of a log: unchanged for programs, made safe on a terminal."""
        if lines and self.json:
            self.say("\n".join(json.dumps({"line": line}) for line in lines))
        elif lines:
            self._print("\n".join(map(harmless_log, lines) if self.out.isatty() else lines))

    def file(self, text: str) -> None:
        """Print the text of a file: unchanged for programs, made safe on a terminal."""
        self._print(harmless(text) if self.out.isatty() else text)

    def data(self, value: Any) -> None:
        """Print the result as one line of JSON."""
        self.say(json.dumps(value, ensure_ascii=False))

    def csv(self, rows: Sequence[Sequence[Any]]) -> None:
        """Print the result as comma-separated values. The first row holds the names.

        A text that a spreadsheet would read as a formula gets a `'` in front.
        """
        csv_module.writer(self.out, lineterminator="\n").writerows([*map(_csv_cell, row)] for row in rows)
        self.out.flush()

    def note(self, text: str) -> None:
        """Print a line for people, such as progress or a hint. With JSON, nothing is printed."""
        if not self.json:
            self._complain(text)

    def error(self, text: str) -> None:
        """Print the reason why the command failed, as one line."""
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
        """Return `text`, in bold if standard output is a terminal that shows it."""
        return f"{_BOLD}{text}{_NORMAL}" if self._bold else text

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show on a terminal that long work is in progress. Elsewhere, show nothing."""
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
