"""Ask before something that cannot be undone."""

from __future__ import annotations

import sys

from bastion.errors import BastionError, UsageError
from cli.main import Call


def agree(call: Call, question: str) -> None:
    """Return if --yes was said or the user types yes. Raises `UsageError` where nobody can be asked."""
    if call.flags["yes"]:
        return
    if call.output.json or not sys.stdin.isatty():
        raise UsageError(f"{question} say --yes to do it without being asked")
    call.output.note(f"{question} [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise BastionError("nothing was done")
