"""A bucket in the memory of this process: `memory://name`. One name is one store, no matter how often it is opened."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock

from ..model.errors import ObjectNotFound, UsageError
from ..model.interfaces import Stat, StoredObject
from .keys import PAGE, check_key, check_prefix, check_size

_SCHEME = "memory://"


@dataclass(slots=True)
class _Store:
    """Objects by key, their sorted keys, and a count of writes. The order of code points is that of their UTF-8."""

    lock: Lock = field(default_factory=Lock)
    objects: dict[str, tuple[StoredObject, Stat]] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    writes: int = 0
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def put(self, key: str, data: bytes) -> str:
        if key not in self.objects:
            insort(self.keys, key)
        self.writes += 1
        version = str(self.writes)
        self.objects[key] = StoredObject(data, version), Stat(key, version, len(data), self.now())
        return version

    def drop(self, key: str) -> None:
        if self.objects.pop(key, None):
            del self.keys[bisect_left(self.keys, key)]

    def page(self, prefix: str, after: str) -> list[Stat]:
        start = max(bisect_left(self.keys, prefix), bisect_right(self.keys, after))
        return [self.objects[key][1] for key in self.keys[start : start + PAGE] if key.startswith(prefix)]


_stores: dict[str, _Store] = {}
_opening = Lock()


class MemoryBucket:
    """A `Bucket` for tests and trials. It is gone when the process ends. Safe for threads. `now` is its own clock."""

    def __init__(self, url: str, now: Callable[[], datetime] | None = None) -> None:
        if not url.removeprefix(_SCHEME) or not url.startswith(_SCHEME):
            raise UsageError(f"bucket is {url!r}; give it a name: memory://name")
        self.url = url.rstrip("/")
        with _opening:
            self._store = _stores.setdefault(self.url, _Store())
        if now is not None:
            self._store.now = now

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`, `TooLarge`."""
        check_key(key)
        found = self._store.objects.get(key)
        if found is None:
            raise ObjectNotFound(f"{self.url}: there is no object {key!r}")
        check_size(found[1].size, key, limit)
        return found[0]

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Return its version; None if the key is taken."""
        check_key(key)
        with self._store.lock:
            return None if key in self._store.objects else self._store.put(key, bytes(data))

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone."""
        check_key(key)
        with self._store.lock:
            found = self._store.objects.get(key)
            same = found is not None and found[0].version == version
            return self._store.put(key, bytes(data)) if same else None

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. Return the new version."""
        check_key(key)
        with self._store.lock:
            return self._store.put(key, bytes(data))

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects. Missing ones are no error."""
        to_delete = tuple(keys)
        for key in to_delete:
            check_key(key)
        with self._store.lock:
            for key in to_delete:
                self._store.drop(key)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys."""
        check_prefix(prefix)
        return self._pages(prefix, after)

    def _pages(self, prefix: str, after: str) -> Iterator[Stat]:
        while True:
            with self._store.lock:
                page = self._store.page(prefix, after)
            yield from page
            if len(page) < PAGE:
                return
            after = page[-1].key
