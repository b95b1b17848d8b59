"""The least amounts that suffice, found by asking. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Amounts = Mapping[str, int]
Works = Callable[[Amounts], bool]


def least(guess: Amounts, top: Amounts, works: Works) -> dict[str, int] | None:
    """Amounts that work, while none of them works with one unit less; None if not even `top` does.

    Nothing is known not to work, and is not asked. Asking is dear: with a good `guess` it takes two questions an
    amount, with a bad one the logarithm of what lies between. Where more may work worse there may be less that works
    than what is returned; what is said of it is true all the same.
    """
    known: dict[tuple[int, ...], bool] = {tuple(0 for _ in top): False}

    def asked(amounts: Amounts) -> bool:
        key = tuple(amounts[kind] for kind in top)
        if key not in known:
            known[key] = works(amounts)
        return known[key]

    found = next((dict(amounts) for amounts in (guess, top) if asked(amounts)), None)
    while found is not None and (kind := next((kind for kind in top if _less(found, kind, asked)), None)):
        found[kind] = _bisected(found, kind, asked)
    return found


def _less(found: Amounts, kind: str, asked: Works) -> bool:
    """True if one unit less of a kind works too."""
    return found[kind] > 0 and asked({**found, kind: found[kind] - 1})


def _bisected(found: Amounts, kind: str, asked: Works) -> int:
    """An amount that works, while one unit less does not, or it is 0. One unit less than what was found works."""
    if asked({**found, kind: 0}):
        return 0
    below, enough = 0, found[kind] - 1
    while enough - below > 1:
        middle = (below + enough) // 2
        if asked({**found, kind: middle}):
            enough = middle
        else:
            below = middle
    return enough
