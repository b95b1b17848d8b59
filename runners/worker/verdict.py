"""Why a process ended, and which line of its output says so best. Pure."""

from __future__ import annotations

import re

from bastion.state import Cause

MESSAGE_MAX = 2048
_KILLED = 137
_SIGNALLED = range(129, 193)
_FATAL = re.compile(
    r"^(?!\s*warning)(.*\b[A-Za-z.]*(Error|Exception)\b.*:|.*\b(fatal|panic|segmentation fault|core dumped|out of memory)\b)",
    re.IGNORECASE,
)
_TRACEBACK = "Traceback (most recent call last):"


def cause_of(code: int, halted: Cause | None, *, out_of_memory: bool) -> Cause:
    """Exit 0 wins over every reason to stop; then the reason to stop; then what the code says."""
    if code == 0:
        return Cause.OK
    if halted is not None:
        return halted
    if code == _KILLED and out_of_memory:
        return Cause.OOM
    return Cause.SIGNAL if code in _SIGNALLED else Cause.CODE


def fatal_line(output: bytes) -> str:
    """The line that tells what went wrong: the end of the first traceback, else the first error, else the last line."""
    lines = [line.rstrip() for line in output.replace(b"\0", b"").decode("utf-8", "replace").splitlines()]
    found = _raised(lines) or next((line for line in lines if _FATAL.search(line)), "")
    found = found or next((line for line in reversed(lines) if line.strip()), "")
    return short(found.strip())


def short(text: str) -> str:
    """One line of at most `MESSAGE_MAX` bytes."""
    return " ".join(text.splitlines()).encode("utf-8", "replace")[:MESSAGE_MAX].decode("utf-8", "ignore")


def _raised(lines: list[str]) -> str:
    if _TRACEBACK not in lines:
        return ""
    after = lines[lines.index(_TRACEBACK) + 1 :]
    return next((line for line in after if line and not line.startswith((" ", "\t"))), "")
