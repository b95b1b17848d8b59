"""A simulated object store: every call takes time, may fail before or after its effect, or take effect after it failed."""

from __future__ import annotations

import contextlib
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from random import Random
from typing import Any

from bastion.model.errors import BucketError, ObjectNotFound, TooLarge
from bastion.model.interfaces import Stat, StoredObject
from bastion.stores.keys import check_size
from tests.simulation.parts.kernel import START, Kernel, Life

Watcher = Callable[[str, str, bytes], None]
"""Told of each change: (verb, key, data)."""

REFUSALS = ("503 slow down", "429 too many requests", "409 conflict", "no answer", "connection reset")


class Line:
    """One program's way to the rest of the world: this one is always good. `dice` are its own."""

    def __init__(self, name: str = "", dice: Random | None = None) -> None:
        self.name = name
        self.dice = dice or Random(0)

    def is_cut(self) -> bool:
        """Nothing gets through."""
        return False

    def luck(self, call: str, where: str) -> str:
        """The fault that befalls a call of this kind; empty if none does."""
        return ""

    def rate(self, what: str) -> float:
        """How many calls of this kind take a second, about."""
        return 20.0

    def takes(self, what: str) -> float:
        """How many seconds this call takes."""
        return self.dice.expovariate(self.rate(what))

    def fall(self) -> None:
        """The program dies in the middle of a call, if it can."""


@dataclass(slots=True)
class Store:
    """The objects, with the number of their version and when it was written; and whoever watches them.

    `writers` are the accounts that ever wrote an object of this key; the last one owns it.
    """

    kernel: Kernel
    objects: dict[str, tuple[bytes, int, float]] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    versions: int = 0
    watchers: list[Watcher] = field(default_factory=list)
    writers: dict[str, list[int]] = field(default_factory=dict)
    down_until: float = 0.0

    def put(self, verb: str, key: str, data: bytes, account: int = 0) -> str:
        """Write, and tell the watchers. The new version."""
        self.versions += 1
        writers = self.writers.setdefault(key, [])
        writers.append(writers[-1] if verb == "tear" and writers else account)
        if key not in self.objects:
            insort(self.keys, key)
        self.objects[key] = (data, self.versions, self.kernel.now)
        self._tell(verb, key, data)
        return str(self.versions)

    def drop(self, key: str) -> None:
        """Remove, and tell the watchers."""
        if self.objects.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]
            self._tell("delete", key, b"")

    def found(self, prefix: str, after: str) -> dict[str, Stat]:
        """What a listing shows now, in order."""
        shown: dict[str, Stat] = {}
        for index in range(bisect_left(self.keys, max(prefix, after)), len(self.keys)):
            key = self.keys[index]
            if not key.startswith(prefix):
                break
            if key > after:
                data, version, at = self.objects[key]
                shown[key] = Stat(key, str(version), len(data), START + timedelta(seconds=at))
        return shown

    def _tell(self, verb: str, key: str, data: bytes) -> None:
        self.kernel.trace.note(f"{verb} {key} {data.decode('latin-1')}")
        for watcher in self.watchers:
            watcher(verb, key, data)


class SimBucket:
    """One program's bucket. `cut_until`: it is cut off till then, whatever its line. What it writes is its `account`'s."""

    url = "sim://bucket"

    def __init__(self, store: Store, line: Line | None = None) -> None:
        self.cut_until = 0.0
        self.account = 0
        self._store = store
        self._line = line or Line()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        def effect() -> StoredObject:
            if key not in self._store.objects:
                raise ObjectNotFound(f"there is no object {key!r}")
            data, version, _ = self._store.objects[key]
            check_size(len(data), key, limit, self._store.writers[key][-1])
            return StoredObject(data, str(version), self._store.writers[key][-1])

        found: StoredObject = self._call(f"read {key}", effect, lambda answer: answer.version)
        return found

    def create(self, key: str, data: bytes) -> str | None:
        account = self.account  # of the program that asks, though the effect may come late

        def effect() -> str | None:
            return None if key in self._store.objects else self._store.put("create", key, data, account)

        version: str | None = self._call(f"create {key}", effect, str, may_echo=True)
        return version

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        def effect() -> str | None:
            known = self._store.objects.get(key)
            return self._store.put("replace", key, data) if known and str(known[1]) == version else None

        written: str | None = self._call(f"replace {key} {version}", effect, str, may_echo=True)
        return written

    def write(self, key: str, data: bytes) -> str:
        version: str = self._call(f"write {key}", lambda: self._store.put("write", key, data), str)
        return version

    def delete(self, keys: Iterable[str]) -> None:
        doomed = tuple(keys)

        def effect() -> None:
            for key in doomed:
                self._store.drop(key)

        self._call(f"delete {' '.join(doomed)}", effect, str)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        what = f"list {prefix} {after}"
        stale = self._line.luck("list", f"{self._line.name} {what}")
        before = self._store.found(prefix, after) if stale else {}
        if stale:
            self._store.kernel.sleep(self._line.dice.uniform(0, 20))

        def effect() -> list[Stat]:
            now = self._store.found(prefix, after)
            return list(now.values()) if not stale else _mixed(before, now, self._line.dice)

        return iter(self._call(what, effect, _versions))

    def _call(self, what: str, effect: Callable[[], Any], told: Callable[[Any], str], *, may_echo: bool = False) -> Any:
        """Do it, with what luck has in store. `may_echo`: a client that asks again is refused by its own write."""
        kernel, line = self._store.kernel, self._line
        if kernel.now < max(self._store.down_until, self.cut_until) or line.is_cut():
            kernel.sleep(line.dice.uniform(2, 30))
            raise BucketError("cut off")
        fault = line.luck("call", f"{line.name} {what}")
        if fault in ("fails", "lost", "late"):
            self._fail(fault, effect)
        if fault == "falls before":
            line.fall()
        kernel.sleep(line.dice.uniform(0, 60) if fault == "slow" else line.takes(what))
        answer = self._effect(what, effect)
        if fault == "falls after":
            line.fall()
        if fault == "echo" and may_echo:
            answer = None
        if fault == "slow":
            kernel.sleep(line.dice.uniform(0, 30))
        kernel.trace.answered(f"{line.name} {what}", told(answer))
        return answer

    def _effect(self, what: str, effect: Callable[[], Any]) -> Any:
        try:
            return effect()
        except ObjectNotFound:
            self._store.kernel.trace.answered(f"{self._line.name} {what}", "missing")
            raise
        except TooLarge:
            self._store.kernel.trace.answered(f"{self._line.name} {what}", "too large")
            raise

    def _fail(self, fault: str, effect: Callable[[], Any]) -> None:
        kernel, dice = self._store.kernel, self._line.dice
        if fault == "late":
            kernel.spawn(Life(), lambda: _quietly(effect), dice.uniform(5, 120))
        elif fault == "lost":
            kernel.sleep(dice.expovariate(20))
            _quietly(effect)
        kernel.sleep(dice.uniform(0, 20))
        raise BucketError(f"{dice.choice(REFUSALS)} ({fault})")


def _versions(found: list[Stat]) -> str:
    return " ".join(stat.version for stat in found)


def _mixed(before: dict[str, Stat], now: dict[str, Stat], dice: Random) -> list[Stat]:
    """A listing that was taken while others wrote: of what changed meanwhile it shows the old or the new, as it happens."""
    shown = []
    for key in sorted(before.keys() | now.keys()):
        stat = now.get(key) if before.get(key) == now.get(key) else dice.choice([before.get(key), now.get(key)])
        if stat is not None:
            shown.append(stat)
    return shown


def _quietly(effect: Callable[[], Any]) -> None:
    with contextlib.suppress(ObjectNotFound, TooLarge):
        effect()
