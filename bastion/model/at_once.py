"""Doing one thing to many items: the shape of `Tasks.map`, and the plain way for those who have no tasks. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""Like `Tasks.map`: an item's exception is its result."""


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The `Map` that does one item after the other; here an exception is raised."""
    return [work(item) for item in items]
