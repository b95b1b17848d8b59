"""A bucket and a clock for the tests of the bundler: dictionaries that count what is asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Stat, StoredObject

START = datetime(2024, 1, 1, tzinfo=UTC)


class TestClock:
    __test__ = False

    def __init__(self) -> None:
        self.now = START

    def wall(self) -> datetime:
        return self.now

    def monotonic(self) -> float:
        return (self.now - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class CountingBucket:
    def __init__(self, clock: TestClock) -> None:
        self.url = "memory://bundles"
        self.asked: Counter[str] = Counter()
        self.objects: dict[str, tuple[bytes, datetime]] = {}
        self._clock = clock

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        self.asked["read"] += 1
        if key not in self.objects:
            raise ObjectNotFound(key)
        return StoredObject(self.objects[key][0], "1")

    def create(self, key: str, data: bytes) -> str | None:
        self.asked["create"] += 1
        if key in self.objects:
            return None
        return self._put(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        raise NotImplementedError

    def write(self, key: str, data: bytes) -> str:
        self.asked["write"] += 1
        return self._put(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        raise NotImplementedError

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        self.asked["list"] += 1
        for key in sorted(self.objects):
            if key.startswith(prefix) and key > after:
                data, modified = self.objects[key]
                yield Stat(key, "1", len(data), modified)

    def _put(self, key: str, data: bytes) -> str:
        self.objects[key] = (data, self._clock.now)
        return "1"
