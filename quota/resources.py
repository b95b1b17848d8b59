"""Amounts of hardware: whole numbers by kind, as in `{"v4": 32, "cpu": 4}`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Resources = Mapping[str, int]


def plus(a: Resources, b: Resources) -> dict[str, int]:
    """Return the sum, kind by kind."""
    out = dict(a)
    for kind, amount in b.items():
        out[kind] = out.get(kind, 0) + amount
    return out


def minus(a: Resources, b: Resources) -> dict[str, int]:
    """Return the difference, kind by kind. It may fall below 0."""
    out = dict(a)
    for kind, amount in b.items():
        out[kind] = out.get(kind, 0) - amount
    return out


def times(a: Resources, n: int) -> dict[str, int]:
    """Return `n` times the amounts."""
    return {kind: amount * n for kind, amount in a.items()}


def total(rows: Iterable[Resources]) -> dict[str, int]:
    """Return the sum of all rows, kind by kind."""
    out: dict[str, int] = {}
    for row in rows:
        for kind, amount in row.items():
            out[kind] = out.get(kind, 0) + amount
    return out


def fits(demand: Resources, free: Resources) -> bool:
    """Return True if `free` holds all of `demand`. A kind that `free` does not list counts as 0."""
    return all(amount <= free.get(kind, 0) for kind, amount in demand.items())


def text(amounts: Resources) -> str:
    """Return the amounts as people write them: `v4=32,cpu=4`; `nothing` if there are none."""
    return ",".join(f"{kind}={amount}" for kind, amount in amounts.items()) or "nothing"
