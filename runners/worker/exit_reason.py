"""Why a process ended, and which line of its output says so best. Pure."""

from __future__ import annotations

import errno
import re

from bastion.model.state.state import Cause
from bastion.model.wording import clipped

KILLED = 137
"""The exit code of what was ended by signal 9."""

TERMINATED = 143
"""That of what was ended by SIGTERM."""

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
    """The command itself could not be started, as a shell would say it: 127 not found, 126 not executable."""

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
    """Exit 0 wins over every reason to stop; then the reason to stop; then what the code says."""
    if code == 0:
        return Cause.OK
    if halted is not None:
        return halted
    if code == KILLED and out_of_memory:
        return Cause.OOM
    return Cause.SIGNAL if code in _SIGNALLED else Cause.CODE


def no_room(error: BaseException | None) -> bool:
    """True if what went wrong began with a full disk, or with what its limits forbid: the machine's failure, not the job's."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


_OURS = "[bastion] "


def fatal_line(output: bytes) -> str:
    """The line that tells what went wrong: the end of the first traceback, else the first error, else the last line.

    What the worker itself has noted there is none of the command's.
    """
    lines = [line.rstrip() for line in output.replace(b"\0", b"").decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if not line.startswith(_OURS)]
    found = _raised(lines) or next((line for line in lines if _FATAL.search(line)), "")
    found = found or next((line for line in reversed(lines) if line.strip()), "")
    return short(found.strip())


def short(text: str) -> str:
    """One line, short enough to be stored; what is longer is cut, and says so."""
    return clipped(" ".join(text.encode("utf-8", "replace").decode().splitlines()))


def _raised(lines: list[str]) -> str:
    if _TRACEBACK not in lines:
        return ""
    after = lines[lines.index(_TRACEBACK) + 1 :]
    return next((line for line in after if line and not line.startswith((" ", "\t"))), "")
