"""A simulated object store: every call takes time, may fail before or after its effect, or take effect after it failed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bastion.errors import BucketError, Missing
from bastion.ports import Stat, Stored
from tests.sim.kernel import Kernel, Life

_START = datetime(2026, 1, 1, tzinfo=UTC)

Watcher = Callable[[str, str, bytes], None]
"""Told of each write: (verb, key, data)."""


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad it is: the chance of each fault per call. All 0: calm."""

    fails: float = 0.0
    lost: float = 0.0
    late: float = 0.0
    slow: float = 0.0


@dataclass(slots=True)
class Store:
    """The objects, and whoever watches them."""

    kernel: Kernel
    objects: dict[str, tuple[bytes, int, float]] = field(default_factory=dict)
    versions: int = 0
    watchers: list[Watcher] = field(default_factory=list)

    def put(self, verb: str, key: str, data: bytes) -> str:
        self.versions += 1
        self.objects[key] = (data, self.versions, self.kernel.now)
        for watcher in self.watchers:
            watcher(verb, key, data)
        return str(self.versions)


class SimBucket:
    """One program's way to the store. `cut_until`: it is cut off till then."""

    url = "sim://bucket"

    def __init__(self, store: Store, weather: Callable[[], Weather]) -> None:
        self.cut_until = 0.0
        self._store = store
        self._weather = weather

    def read(self, key: str) -> Stored:
        def effect() -> Stored:
            if key not in self._store.objects:
                raise Missing(f"there is no object {key!r}")
            data, version, _ = self._store.objects[key]
            return Stored(data, str(version))

        found: Stored = self._call(effect)
        return found

    def create(self, key: str, data: bytes) -> str | None:
        def effect() -> str | None:
            return None if key in self._store.objects else self._store.put("create", key, data)

        version: str | None = self._call(effect)
        return version

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        def effect() -> str | None:
            known = self._store.objects.get(key)
            return self._store.put("replace", key, data) if known and str(known[1]) == version else None

        written: str | None = self._call(effect)
        return written

    def write(self, key: str, data: bytes) -> str:
        version: str = self._call(lambda: self._store.put("write", key, data))
        return version

    def delete(self, keys: Iterable[str]) -> None:
        def effect() -> None:
            for key in keys:
                self._store.objects.pop(key, None)

        self._call(effect)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        def effect() -> list[Stat]:
            found = sorted(key for key in self._store.objects if key.startswith(prefix) and key > after)
            return [self._stat(key) for key in found]

        return iter(self._call(effect))

    def _stat(self, key: str) -> Stat:
        data, version, at = self._store.objects[key]
        return Stat(key, str(version), len(data), _START + timedelta(seconds=at))

    def _call(self, effect: Callable[[], Any]) -> Any:
        kernel, weather = self._store.kernel, self._weather()
        rng = kernel.random
        if kernel.now < self.cut_until:
            kernel.sleep(5)
            raise BucketError("cut off")
        luck = rng.random()
        for fault, chance in (("fails", weather.fails), ("lost", weather.lost), ("late", weather.late)):
            if luck < chance:
                self._fail(fault, effect)
            luck -= chance
        slow = luck < weather.slow
        kernel.sleep(rng.uniform(0, 90) if slow else rng.expovariate(20))
        answer = effect()
        if slow:
            kernel.sleep(rng.uniform(0, 30))
        return answer

    def _fail(self, fault: str, effect: Callable[[], Any]) -> None:
        kernel, rng = self._store.kernel, self._store.kernel.random
        if fault == "late":
            kernel.spawn(Life(), lambda: _quietly(effect), rng.uniform(5, 120))
        elif fault == "lost":
            kernel.sleep(rng.expovariate(20))
            _quietly(effect)
        kernel.sleep(rng.uniform(0, 20))
        raise BucketError(f"no answer ({fault})")


def _quietly(effect: Callable[[], Any]) -> None:
    with contextlib.suppress(Missing):
        effect()
