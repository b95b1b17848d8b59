"""A part of a bucket as a bucket: all objects below one prefix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.interfaces import Bucket, Stat, Stored


class Prefixed:
    """The objects of `inner` below `prefix/`, with keys that leave out the prefix."""

    def __init__(self, inner: Bucket, prefix: str) -> None:
        self._inner = inner
        self._prefix = f"{prefix}/"
        self.url = f"{inner.url.rstrip('/')}/{prefix}"

    def read(self, key: str, limit: int | None = None) -> Stored:
        """Return the whole object."""
        return self._inner.read(self._prefix + key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet."""
        return self._inner.create(self._prefix + key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version."""
        return self._inner.replace(self._prefix + key, data, version)

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there."""
        return self._inner.write(self._prefix + key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        self._inner.delete([self._prefix + key for key in keys])

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects below the prefix, with keys that leave it out."""
        beyond = self._prefix + after if after else ""
        for stat in self._inner.list(self._prefix + prefix, after=beyond):
            yield Stat(stat.key.removeprefix(self._prefix), stat.version, stat.size, stat.modified)
