"""Count the requests to a bucket, as a cloud store would bill them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from threading import Lock

from ..model.interfaces import Bucket, Stat, StoredObject
from .keys import PAGE


class CountingBucket:
    """A wrapper of a bucket with `counts` of requests by method.

    One request is counted for each page of `list`, and for each key of `delete`.
    """

    def __init__(self, inner: Bucket) -> None:
        self.url = inner.url
        self.counts: Counter[str] = Counter()
        self._inner = inner
        self._lock = Lock()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Count and pass on."""
        self._count("read")
        return self._inner.read(key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        """Count and pass on."""
        self._count("create")
        return self._inner.create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Count and pass on."""
        self._count("replace")
        return self._inner.replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        """Count and pass on."""
        self._count("write")
        return self._inner.write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Count each key and pass on."""
        to_delete = tuple(keys)
        self._count("delete", len(to_delete))
        self._inner.delete(to_delete)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """Count each page that is begun, and pass on."""
        stats = self._inner.list(prefix, after=after)
        return self._pages(stats)

    def _pages(self, stats: Iterator[Stat]) -> Iterator[Stat]:
        self._count("list")
        for index, stat in enumerate(stats):
            if index and index % PAGE == 0:
                self._count("list")
            yield stat

    def _count(self, method: str, requests: int = 1) -> None:
        with self._lock:
            self.counts[method] += requests
