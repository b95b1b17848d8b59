"""What a command prints: results on standard output, notes on standard error, JSON if asked for."""

from __future__ import annotations

import csv as csv_module
import json
import os
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

WIDTH, HEIGHT = 120, 40
"""What a terminal has that does not say how large it is."""


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
                first = Text(lines[0] if lines else "", style="" if self._plain or len(lines) < 2 else "bold")
                live.update(Text("\n").join([first, *map(Text, lines[1:])]), refresh=True)

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
        """A line of the result."""
        print(text, file=self.out, flush=True)

    def data(self, value: Any) -> None:
        """The result as one line of JSON."""
        self.say(json.dumps(value, ensure_ascii=False))

    def csv(self, rows: Sequence[Sequence[Any]]) -> None:
        """The result as comma-separated values; the first row holds their names."""
        csv_module.writer(self.out, lineterminator="\n").writerows(rows)
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
