"""Find the smallest amounts that suffice, by trying. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

Amounts = Mapping[str, int]
Works = Callable[[Amounts], bool]


def least(guess: Amounts, top: Amounts, works: Works) -> dict[str, int] | None:
    """Return amounts that work, while one unit less of any of them does not; None if not even `top` works.

    Zero of everything is taken not to work, and is not tried. Trying is expensive. A good `guess` needs two tries for
    each amount, a bad one the logarithm of the range. If more can work worse, there may be smaller amounts that work;
    the result still works, and one unit less of it does not.
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
    """Return True if one unit less of this kind works too."""
    return found[kind] > 0 and asked({**found, kind: found[kind] - 1})


def _bisected(found: Amounts, kind: str, asked: Works) -> int:
    """Return a smaller amount that works: 0, or one where one unit less does not work.

    One unit less than in `found` must work.
    """
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
