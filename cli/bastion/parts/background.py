"""Run a bastion in the background: its loop in its own session, its output in a bounded file of the state folder."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TextIO

from bastion.model.errors import BastionError
from bastion.model.interfaces import Clock
from bastion.platform.local_paths import log_file

from ...common.bastion_alive import is_up
from ...common.place import BastionPlace

UP_S = 60.0
END_S = 5.0
LOOK_S = 0.05
LAST_LINES = 20
_READ_MAX = 64 * 1024
OUTPUT_BYTES = 8 * 1024 * 1024
"""The largest size of the output file, in bytes. One earlier file is stored as well.

The bucket has all of the log, too.
"""


def come_up(place: BastionPlace, environ: Mapping[str, str], clock: Clock) -> None:
    """Start the loop, and return when a bastion ticks: this one, or another one that was faster.

    Raises `BastionError` with the last lines of its output if it ends, or does not tick within `UP_S` seconds.
    """
    log = log_file(place.name, place.bucket.url, environ)
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    start = log.stat().st_size if log.exists() else 0
    process = _spawn(place, log)
    deadline = clock.monotonic() + UP_S
    while process.poll() is None and clock.monotonic() < deadline:
        if is_up(place, clock):
            return
        clock.sleep(LOOK_S)
    _end(process)
    raise BastionError(f"bastion {place.name} did not start: {_last_words(log, start)} (full output: {log})")


def _spawn(place: BastionPlace, log: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-m", "bastion", "bastion", "start", *place.flags()]
    with log.open("ab") as out:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=log.parent, start_new_session=True
        )


class BackgroundOutput(logging.StreamHandler[TextIO]):
    """A log handler for the file that standard output and error go to.

    A file that is too long is replaced by a new one.
    """

    def __init__(
        self, stream: TextIO, file: Path, *, bytes_max: int = OUTPUT_BYTES, ways: Collection[int] = (1, 2)
    ) -> None:
        """`ways` are the file descriptors that lead to the file."""
        super().__init__(stream)
        self._file, self._bytes_max, self._ways = file, bytes_max, ways

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        super().emit(record)
        if os.fstat(self.stream.fileno()).st_size > self._bytes_max:
            self._turn()

    def _turn(self) -> None:
        os.replace(self._file, self._file.with_name(f"{self._file.name}.1"))
        fresh = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for way in self._ways:
            os.dup2(fresh, way)  # output that does not come from the logger follows into the new file
        os.close(fresh)


def leads_to(stream: TextIO, file: Path) -> bool:
    """Return True if the stream writes into this very file."""
    try:
        return os.path.samestat(os.fstat(stream.fileno()), file.stat())
    except (OSError, ValueError):  # there is no such file, or the stream has no file descriptor
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that hangs. Otherwise it could become the leader long after its failure was reported."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _last_words(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - _READ_MAX))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return " | ".join(lines[-LAST_LINES:]) or "it printed nothing"
