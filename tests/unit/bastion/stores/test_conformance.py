"""Each promise can be broken, and is then named: stores in memory that lie in one way each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from uuid import uuid4

import pytest

from bastion.model.errors import BucketError, ObjectNotFound
from bastion.model.interfaces import Bucket, Stat, StoredObject
from bastion.stores.conformance.suite import CHECKS, HANDY, LEADERSHIP, UNFIT, UNSAFE, name_of, prove
from bastion.stores.memory import MemoryBucket

SMALL = replace(HANDY, many=1100, big=1 << 20, rounds=2, racers=8, swaps=3, turns=4, rewrites=3)


class Overwrites(MemoryBucket):
    def create(self, key: str, data: bytes) -> str | None:
        return self.write(key, data)


class LooksFirst(MemoryBucket):
    def create(self, key: str, data: bytes) -> str | None:
        if any(stat.key == key for stat in self.list(key)):
            return None
        time.sleep(0.05 if "race/" in key else 0.0)  # so that others look meanwhile, on a busy machine, too
        return self.write(key, data)


class SwapsBlindly(MemoryBucket):
    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self.write(key, data) if any(stat.key == key for stat in self.list(key)) else None


class LooksThenSwaps(MemoryBucket):
    def replace(self, key: str, data: bytes, version: str) -> str | None:
        if not any(stat.version == version for stat in self.list(key) if stat.key == key):
            return None
        time.sleep(0.005)
        return self.write(key, data)


class VersionsAreHashes(MemoryBucket):
    def _versions(self, key: str) -> str:
        return str(hash(super().read(key).data))

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return StoredObject(super().read(key, limit).data, self._versions(key))

    def create(self, key: str, data: bytes) -> str | None:
        return super().create(key, data) and self._versions(key)

    def write(self, key: str, data: bytes) -> str:
        super().write(key, data)
        return self._versions(key)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        try:
            stored = super().read(key)
        except ObjectNotFound:
            return None
        same = str(hash(stored.data)) == version and super().replace(key, data, stored.version)
        return self._versions(key) if same else None


class ListsInDisorder(MemoryBucket):
    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        return iter(sorted(super().list(prefix, after=after), key=lambda stat: stat.key[::-1]))


class ListsOnePage(MemoryBucket):
    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        stats = super().list(prefix, after=after)
        return (stat for _, stat in zip(range(1000), stats, strict=False))


class DeletesFolders(MemoryBucket):
    def delete(self, keys: Iterable[str]) -> None:
        for key in list(keys):
            super().delete([key, *(stat.key for stat in self.list("") if stat.key.startswith(f"{key}/"))])


class CutsBigObjects(MemoryBucket):
    def read(self, key: str, limit: int | None = None) -> StoredObject:
        stored = super().read(key, limit)
        return StoredObject(stored.data[: 1 << 19], stored.version)


class TakesAnyKey(MemoryBucket):
    def write(self, key: str, data: bytes) -> str:
        return super().write(key if key not in ("", "..") else "root", data)


LIARS: list[tuple[type[MemoryBucket], str]] = [
    (Overwrites, "create refuses a taken key"),
    (LooksFirst, "of racing creators one wins"),
    (SwapsBlindly, "replace wants the version that is there"),
    (LooksThenSwaps, "racing swaps lose nothing"),
    (VersionsAreHashes, "each write has a new version"),
    (ListsInDisorder, "a listing is in order"),
    (ListsOnePage, "many objects are listed over pages"),
    (DeletesFolders, "delete minds nothing else"),
    (CutsBigObjects, "a big object comes back whole"),
    (TakesAnyKey, "bad keys are refused"),
]


def opening(kind: type[MemoryBucket]) -> Callable[[], Bucket]:
    name = f"memory://{uuid4()}"
    return lambda: kind(name)


def test_an_honest_store_keeps_every_promise_and_is_left_empty() -> None:
    opened = opening(MemoryBucket)
    found = list(prove(opened, CHECKS, SMALL))
    assert [finding.name for finding in found if finding.problem] == []
    assert [finding.name for finding in found] == [name_of(check) for check in CHECKS]
    assert all(finding.promise.endswith(".") for finding in found)
    assert list(opened().list("")) == []


@pytest.mark.parametrize(("kind", "name"), LIARS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_liar_is_found_out(kind: type[MemoryBucket], name: str) -> None:
    opened = opening(kind)
    wrong = {finding.name: finding for finding in prove(opened, CHECKS, SMALL) if finding.problem}
    assert name in wrong
    fences = {name_of(check) for check in LEADERSHIP}
    assert wrong[name].advice == (UNSAFE if name in fences else UNFIT)
    assert list(opened().list("")) == []


def test_a_store_that_cannot_be_asked_is_told_in_its_own_words() -> None:
    class Denies(MemoryBucket):
        def create(self, key: str, data: bytes) -> str | None:
            raise BucketError("the store is away")

    found = next(iter(prove(opening(Denies), LEADERSHIP, SMALL)))
    assert found.problem == "the store is away"
