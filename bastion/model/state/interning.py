"""Equal values as one object: of a hundred thousand jobs that wait, most say the same. Pure: nobody changes what is shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Protocol, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K")

Share = Callable[[Mapping[K, int]], Mapping[K, int]]

REMEMBERED = 4_096


class _Same(Protocol):
    def __call__(self, value: T, /) -> T: ...


def _itself(value: object) -> object:
    return value


one = cast(_Same, lru_cache(REMEMBERED, typed=True)(_itself))
"""An equal value of the same type: one object for all who ask while it is in fashion."""


def sharing(_kind: type[K]) -> Share[K]:
    """A function that does the same for tables of this kind of key: of its own, for `JobState.PENDING` equals "PENDING"."""

    @lru_cache(REMEMBERED)
    def table(rows: tuple[tuple[K, int], ...]) -> Mapping[K, int]:
        return dict(rows)

    return lambda mapping: table(tuple(mapping.items()))
