"""A real terminal: a program runs on a pseudo-terminal of a given size, and what it draws is kept."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

PATIENCE_S = 180.0
_MOVES = re.compile(r"\x1b(?:\[[0-9;?<>=:]*[ -/]*[@-~]|[()][A-Z0-9]|[@-Z\\-_]|[=>78])")


class OnTerminal:
    """One program. `text` is what it wrote so far, without colours and moves of the cursor."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process = process
        self.raw = ""
        self._master = master
        self._bytes = b""

    @property
    def text(self) -> str:
        """All that was drawn, in the order of drawing."""
        return _MOVES.sub("", self.raw)

    def until(self, wanted: str, *, times: int = 1) -> None:
        """Read until this was drawn so often."""
        deadline = time.monotonic() + PATIENCE_S
        while self.text.count(wanted) < times:
            assert time.monotonic() < deadline, self.text
            assert self._read(0.2), f"it ended: {self.text}"

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Read to its end. The exit code."""
        deadline = time.monotonic() + PATIENCE_S
        while self._read(0.2) and (self.process.poll() is None or select.select([self._master], [], [], 0)[0]):
            assert time.monotonic() < deadline, self.text
        return self.process.wait(PATIENCE_S)

    def _read(self, wait_s: float) -> bool:
        """Take what there is. False once nobody can write any more."""
        if not select.select([self._master], [], [], wait_s)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self._bytes += data
        self.raw = self._bytes.decode("utf-8", "replace")
        return bool(data)


@contextmanager
def terminal(argv: Sequence[str], environ: Mapping[str, str], *, columns: int, lines: int) -> Iterator[OnTerminal]:
    """Run a program on a terminal of this size; it is ended afterwards at the latest."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    plain = {key: value for key, value in environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        argv, env={**plain, "TERM": "xterm-256color"}, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    try:
        yield OnTerminal(process, master)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(master)
