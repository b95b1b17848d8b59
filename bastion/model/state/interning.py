"""Equal values as one object. Pure: shared values are never changed.

Of a hundred thousand pending jobs, most have the same values; sharing them saves memory.
"""

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
"""Return an equal value of the same type: one object for all callers.

Only the last `REMEMBERED` different values are shared.
"""


def sharing(_kind: type[K]) -> Share[K]:
    """Return a function that does the same for tables with this kind of key.

    Each kind needs a function of its own, because `JobState.PENDING` equals "PENDING".
    """

    @lru_cache(REMEMBERED)
    def table(rows: tuple[tuple[K, int], ...]) -> Mapping[K, int]:
        return dict(rows)

    return lambda mapping: table(tuple(mapping.items()))
