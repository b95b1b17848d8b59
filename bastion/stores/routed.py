"""A bastion's three buckets as one: the first word of a key decides its home, and a call uses only that bucket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from threading import Lock

from ..model import layout
from ..model.interfaces import Bucket, Stat, StoredObject


class RoutedBucket:
    """The private bucket, and others by the name of the home. A home without a URL is in the private one, too.

    `opening` opens another bucket at its first use: most commands never use it. Nothing relies on an order across the
    three.
    """

    def __init__(self, private: Bucket, urls: Mapping[str, str], opening: Callable[[str], Bucket]) -> None:
        self.url = private.url
        self.urls = urls
        self._open: dict[str, Bucket] = {layout.PRIVATE: private}
        self._how = opening
        self._opening = Lock()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Read from the key's home."""
        return self._home(key).read(key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        """Create in the key's home."""
        return self._home(key).create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Replace in the key's home."""
        return self._home(key).replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        """Write to the key's home."""
        return self._home(key).write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove each key from its home."""
        by_home: dict[str, list[str]] = {}
        for key in keys:
            by_home.setdefault(self._name(key), []).append(key)
        for name, to_delete in by_home.items():
            self._bucket(name).delete(to_delete)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List one home, if the prefix decides it; else all, in one order. Objects outside their home are left out."""
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
    """Return the URL of the bucket that holds this key, or the keys of this prefix."""
    return bucket.urls.get(layout.home(key), bucket.url) if isinstance(bucket, RoutedBucket) else bucket.url
