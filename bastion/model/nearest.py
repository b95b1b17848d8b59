"""Find the nearest valid word to a wrong one, for error messages. Pure."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from difflib import get_close_matches

MANY = 1_000
"""If there are more words than this, only this many neighbours in the alphabet are compared: comparing is slow."""


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """Return the valid word that is most like `word`, ignoring capitals; None if none is near."""
    # reversed, so that of words that differ only in capitals the first in the alphabet stays
    lower = {choice.lower(): choice for choice in sorted(valid, reverse=True)}
    choices = list(lower)
    if len(choices) > MANY:
        at = bisect(sorted(choices), word.lower())
        choices = sorted(choices)[max(0, at - MANY // 2) : at + MANY // 2]
    found = get_close_matches(word.lower(), choices, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


def did_you_mean(word: str, valid: Iterable[str], otherwise: str) -> str:
    """Return the end of an error message: the nearest valid word as a question, or else what to do instead."""
    guess = nearest(word, valid)
    return f"did you mean {guess}?" if guess else otherwise
