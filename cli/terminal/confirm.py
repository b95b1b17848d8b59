"""Ask the user before an action that cannot be undone."""

from __future__ import annotations

import sys

from bastion.model.errors import BastionError, UsageError

from .flags import ConfirmOptions, Options
from .main import Call


def agree(call: Call[ConfirmOptions], question: str) -> None:
    """Return if the flag --yes is set or the user types yes.

    Raises `UsageError` if the user cannot be asked, `BastionError` if the user declines.
    """
    check_agreeable(call, question)
    if not call.options.yes and not _says_yes(call, f"{question} [y/N]", usual=False):
        raise BastionError("nothing was done")


def check_agreeable(call: Call[ConfirmOptions], question: str) -> None:
    """Raise `UsageError` if the flag --yes is not set and the user cannot be asked."""
    if not call.options.yes and not can_ask(call):
        raise UsageError(f"{question} use --yes to do it without a question")


def can_ask(call: Call[Options]) -> bool:
    """Return True if a person can answer: standard input is a terminal, and the output is not JSON."""
    return not call.output.json and sys.stdin.isatty()


def again(call: Call[Options], problem: str) -> bool:
    """Show a problem. Return True if the user can be asked and wants to correct it."""
    return can_ask(call) and _says_yes(call, f"{problem}\nedit again? [Y/n]", usual=True)


def _says_yes(call: Call[Options], question: str, *, usual: bool) -> bool:
    call.output.note(question)
    line = sys.stdin.readline()
    word = line.strip().lower()
    # An empty line is Enter and means the usual answer. No line at all is the end of input.
    return word in ("y", "yes") or (usual and line != "" and word == "")
