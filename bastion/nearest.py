"""The nearest valid word to a wrong one, for error messages. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, valid: Iterable[str]) -> str | None:
    """The valid word that is most like `word`, whatever its capitals; None if none is near."""
    lower = {choice.lower(): choice for choice in sorted(valid, reverse=True)}
    found = get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
    return lower[found[0]] if found else None


def did_you_mean(word: str, valid: Iterable[str], otherwise: str) -> str:
    """The end of an error message: the nearest valid word as a question, or else what to do instead."""
    guess = nearest(word, valid)
    return f"did you mean {guess}?" if guess else otherwise
