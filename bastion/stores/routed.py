"""A bastion's three buckets as one: each key has a home, told by its first word, and a call asks that one only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from threading import Lock

from ..model import layout
from ..model.interfaces import Bucket, Stat, Stored


class Routed:
    """`private`, and the URLs of the others by the name of the home; who is not named there is private too.

    The others are opened by `opening` when they are first asked: most commands never do. Nothing relies on an order
    across the three.
    """

    def __init__(self, private: Bucket, urls: Mapping[str, str], opening: Callable[[str], Bucket]) -> None:
        self.url = private.url
        self.urls = urls
        self._open: dict[str, Bucket] = {layout.PRIVATE: private}
        self._how = opening
        self._opening = Lock()

    def read(self, key: str, limit: int | None = None) -> Stored:
        """Of its home."""
        return self._home(key).read(key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        """In its home."""
        return self._home(key).create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """In its home."""
        return self._home(key).replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        """In its home."""
        return self._home(key).write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Each in its home."""
        by_home: dict[str, list[str]] = {}
        for key in keys:
            by_home.setdefault(self._name(key), []).append(key)
        for name, doomed in by_home.items():
            self._bucket(name).delete(doomed)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """Of one home, if the prefix tells it; else of all, in one order. What lies where it has no home is left out."""
        if "/" in prefix:
            return self._home(prefix).list(prefix, after=after)
        names = (layout.PRIVATE, *self.urls)
        return merge(*(self._own(name, prefix, after) for name in names), key=lambda stat: stat.key)

    def _own(self, name: str, prefix: str, after: str) -> Iterator[Stat]:
        return (stat for stat in self._bucket(name).list(prefix, after=after) if self._name(stat.key) == name)

    def _name(self, key: str) -> str:
        home = layout.home(key)
        return home if home in self.urls else layout.PRIVATE

    def _home(self, key: str) -> Bucket:
        return self._bucket(self._name(key))

    def _bucket(self, name: str) -> Bucket:
        with self._opening:
            if name not in self._open:
                self._open[name] = self._how(self.urls[name])
            return self._open[name]


def url_of(bucket: Bucket, key: str) -> str:
    """The URL of the place that holds this key, or the keys of this prefix."""
    return bucket.urls.get(layout.home(key), bucket.url) if isinstance(bucket, Routed) else bucket.url
