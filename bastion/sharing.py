"""Equal values as one object: of a hundred thousand jobs that wait, most say the same. Pure: nobody changes what is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")

Share = Callable[[Mapping[K, int]], Mapping[K, int]]

REMEMBERED = 4_096


def one(value: T) -> T:
    """An equal value of the same type: one object for all who ask while it is in fashion."""
    same: T = _one(value)
    return same


def sharing(_kind: type[K]) -> Share[K]:
    """A function that does the same for tables of this kind of key: of its own, for `JobState.PENDING` equals "PENDING"."""

    @lru_cache(REMEMBERED)
    def table(rows: tuple[tuple[K, int], ...]) -> Mapping[K, int]:
        return dict(rows)

    return lambda mapping: table(tuple(mapping.items()))


@lru_cache(REMEMBERED, typed=True)
def _one(value: Any) -> Any:
    return value
