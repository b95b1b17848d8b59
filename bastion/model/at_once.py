"""Apply one function to many items: the type of `Tasks.map`, and the plain way for code that has no tasks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""The type of `Tasks.map`. An item's exception is its result."""


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The `Map` that handles one item after the other. An exception is raised, not returned."""
    return [work(item) for item in items]
