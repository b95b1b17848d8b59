"""Ask before something that cannot be undone."""

from __future__ import annotations

import sys

from bastion.model.errors import BastionError, UsageError

from .main import Call


def agree(call: Call, question: str) -> None:
    """Return if --yes was said or the user types yes. Raises `UsageError` where nobody can be asked."""
    check_agreeable(call, question)
    if not call.flags["yes"] and not _says_yes(call, f"{question} [y/N]", usual=False):
        raise BastionError("nothing was done")


def check_agreeable(call: Call, question: str) -> None:
    """Raises `UsageError` if neither --yes was said nor anybody can be asked."""
    if not call.flags["yes"] and not can_ask(call):
        raise UsageError(f"{question} say --yes to do it without being asked")


def can_ask(call: Call) -> bool:
    """True if somebody sits there."""
    return not call.output.json and sys.stdin.isatty()


def again(call: Call, problem: str) -> bool:
    """Show a problem; True if somebody sits there and wants to mend it."""
    return can_ask(call) and _says_yes(call, f"{problem}\nedit again? [Y/n]", usual=True)


def _says_yes(call: Call, question: str, *, usual: bool) -> bool:
    call.output.note(question)
    line = sys.stdin.readline()
    word = line.strip().lower()
    return word in ("y", "yes") or (usual and line != "" and word == "")
