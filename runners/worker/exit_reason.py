"""The reason why a process ended, and the line of its output that shows it best. Pure."""

from __future__ import annotations

import errno
import re

from bastion.model.state.state import Cause
from bastion.model.wording import clipped

KILLED = 137
"""The exit code of a process that signal 9 ended."""

TERMINATED = 143
"""The exit code of a process that SIGTERM ended."""

NOT_EXECUTABLE = 126
NOT_FOUND = 127
_SIGNALLED = range(129, 193)
_FATAL = re.compile(
    r"^(?!\s*warning)(.*\b[A-Za-z.]*(Error|Exception)\b.*:|.*\b(fatal|panic|segmentation fault|core dumped|out of memory)\b)",
    re.IGNORECASE,
)
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_TRACEBACK = "Traceback (most recent call last):"


class Unstartable(Exception):
    """The command itself could not be started. The code is a shell's: 127 not found, 126 not executable."""

    def __init__(self, name: str, error: Exception) -> None:
        if isinstance(error, FileNotFoundError):
            self.code = NOT_FOUND
            what = "was not found; name a program of the PATH, or a file of the bundle as './file'"
        else:
            self.code = NOT_EXECUTABLE
            why = getattr(error, "strerror", None) or error
            what = f"cannot be executed: {why}; check its permissions and its first line"
        super().__init__(f"command {name!r} {what}")


def cause_of(code: int, halted: Cause | None, *, out_of_memory: bool) -> Cause:
    """Return the cause of an end. Exit 0 wins over every reason to stop; a reason to stop wins over the exit code."""
    if code == 0:
        return Cause.OK
    if halted is not None:
        return halted
    if code == KILLED and out_of_memory:
        return Cause.OOM
    return Cause.SIGNAL if code in _SIGNALLED else Cause.CODE


def no_room(error: BaseException | None) -> bool:
    """Return True if the error began with a full disk or a size limit: that is the machine's failure, not the job's."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


_OURS = "[bastion] "


def fatal_line(output: bytes) -> str:
    """Return the line that shows the failure: the end of the first traceback, else the first error, else the last line.

    Lines that the worker itself wrote there do not count.
    """
    lines = [line.rstrip() for line in output.replace(b"\0", b"").decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if not line.startswith(_OURS)]
    found = _raised(lines) or next((line for line in lines if _FATAL.search(line)), "")
    found = found or next((line for line in reversed(lines) if line.strip()), "")
    return short(found.strip())


def short(text: str) -> str:
    """Return the text as one line that is short enough to be stored. A cut is visible in it."""
    return clipped(" ".join(text.encode("utf-8", "replace").decode().splitlines()))


def _raised(lines: list[str]) -> str:
    if _TRACEBACK not in lines:
        return ""
    after = lines[lines.index(_TRACEBACK) + 1 :]
    return next((line for line in after if line and not line.startswith((" ", "\t"))), "")
