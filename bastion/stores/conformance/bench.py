"""Where promises of a store are tried: a store that is empty, how much to ask of it, and how to say what was wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...model.errors import Missing
from ...model.interfaces import Bucket


class Broken(Exception):
    """A store breaks a promise; the text says which answer was not the right one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How much a check asks of a store.

    `rewrites` of the same bytes; `many` objects to list; bytes of a `big` object; `rounds` of a race of `racers`;
    `swaps` by each of eight; `turns` of those who disturb each other.
    """

    rewrites: int
    many: int
    big: int
    rounds: int
    racers: int
    swaps: int
    turns: int


@dataclass(frozen=True, slots=True)
class TestStore:
    """A store that is empty, and opened anew with each call of `open`."""

    open: Callable[[], Bucket]
    scale: Scale


Check = Callable[[TestStore], None]
"""Raises `Broken`, or what the store raises. Its name and the first line of its docstring are for people."""


def same(got: object, want: object, what: str) -> None:
    """Raise `Broken` unless the two are equal."""
    if got != want:
        raise Broken(f"{what}: {str(got)[:200]}, and not {str(want)[:200]}")


def true(held: object, what: str) -> None:
    """Raise `Broken` unless it held."""
    if not held:
        raise Broken(what)


def keys(bucket: Bucket, prefix: str = "", after: str = "") -> list[str]:
    """The keys of a listing."""
    return [stat.key for stat in bucket.list(prefix, after=after)]


def missing(bucket: Bucket, key: str) -> None:
    """Raise `Broken` unless the store says that there is no such object."""
    try:
        bucket.read(key)
    except Missing:
        return
    raise Broken(f"{key!r} is read, and there should be no such object")
