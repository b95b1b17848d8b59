"""The setting for checks of a store: an empty store, the size of the checks, and the way to report a wrong answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...model.errors import ObjectNotFound
from ...model.interfaces import Bucket


class BrokenPromise(Exception):
    """A store breaks a promise. The text says which answer was wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckScale:
    """The amount of work that a check gives to a store.

    rewrites: writes of the same bytes.
    many: objects to list.
    big: bytes of a big object.
    rounds: rounds of a race.
    racers: clients in each round.
    swaps: swaps by each of eight clients.
    turns: turns of clients that disturb each other.
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
    """An empty store to check.

    open: opens the store; each call gives a new client.
    scale: the amount of work.
    """

    open: Callable[[], Bucket]
    scale: CheckScale


Check = Callable[[TestStore], None]
"""Raises `BrokenPromise`, or what the store raises. Its name and the first line of its docstring are shown to people."""


def same(got: object, want: object, what: str) -> None:
    """Raise `BrokenPromise` unless the two are equal."""
    if got != want:
        raise BrokenPromise(f"{what}: {str(got)[:200]}, but {str(want)[:200]} is right")


def true(held: object, what: str) -> None:
    """Raise `BrokenPromise` unless `held` is true."""
    if not held:
        raise BrokenPromise(what)


def keys(bucket: Bucket, prefix: str = "", after: str = "") -> list[str]:
    """Return the keys of a listing."""
    return [stat.key for stat in bucket.list(prefix, after=after)]


def missing(bucket: Bucket, key: str) -> None:
    """Raise `BrokenPromise` unless the store says that there is no such object."""
    try:
        bucket.read(key)
    except ObjectNotFound:
        return
    raise BrokenPromise(f"{key!r} is read, but there should be no such object")
