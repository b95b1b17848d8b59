"""Doors that tell of every call before and after its effect, so that a process can be made to fall at any of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from bastion.model.errors import BastionError
from bastion.model.interfaces import Bucket, Stat, StoredObject
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life

T = TypeVar("T")

LATE_S = 5.0
"""How long after its sender's death a call that was on its way has its effect: in the middle of a successor's start."""

EFFECTS = frozenset({"create", "replace", "write", "delete", "stop"})
"""Calls that change something far away: it may happen when their sender is no more."""

LOOKS = frozenset({"read", "list", "look"})
"""Calls that change nothing."""


class Side(StrEnum):
    """When a process falls. `LATE`: with the call on its way, which has its effect when the caller is long dead."""

    BEFORE = "before"
    AFTER = "after"
    LATE = "late"


class Fate(StrEnum):
    """What becomes of it. `KILLED`: what keeps it goes on, and acts. `LOST`: all that it stood on is gone as well."""

    KILLED = "killed"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Crash:
    """The process that makes the call of this number, from 0, falls there."""

    call: int
    side: Side
    fate: Fate

    def __str__(self) -> str:
        return f"{self.call}:{self.side}:{self.fate}"

    @classmethod
    def parse(cls, text: str) -> Crash:
        """The inverse of `str`. Raises `ValueError`."""
        call, side, fate = text.split(":")
        return cls(int(call), Side(side), Fate(fate))


class Actor:
    """A process as its doors know it. `fall` ends it; `changed`: a call of its had an effect, or will have.

    It can meet each of the `fates`; with a call on its way only the first of them.
    """

    def __init__(self, name: str, fates: tuple[Fate, ...], fall: Callable[[Fate], None]) -> None:
        self.name, self.fates, self.fall = name, fates, fall
        self.changed = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call through a door: of which process, and the fates that this can meet."""

    who: str
    verb: str
    what: str
    fates: tuple[Fate, ...]

    def crashes(self, number: int) -> Iterator[Crash]:
        """Every way to fall at this call."""
        for side in (Side.BEFORE, Side.AFTER):
            for fate in self.fates:
                yield Crash(number, side, fate)
        if self.verb in EFFECTS:
            yield Crash(number, Side.LATE, self.fates[0])

    def __str__(self) -> str:
        return f"{self.who}: {self.verb} {self.what}"


class Tape:
    """Records all calls in order, and has their callers fall where it was told to.

    `fell` are those that did, by name; `late` is how many effects of dead callers are still to come.
    """

    def __init__(self, kernel: Kernel, crashes: Sequence[Crash] = ()) -> None:
        self.calls: list[Call] = []
        self.fell: list[str] = []
        self.late = 0
        self._kernel = kernel
        self._crashes = {crash.call: crash for crash in crashes}

    def play(self, actor: Actor, verb: str, what: str, effect: Callable[[], T]) -> T:
        """Do the call, and fall at it if it is the one."""
        crash = self._crashes.get(len(self.calls))
        self.calls.append(Call(actor.name, verb, what, actor.fates))
        if crash is not None and crash.side is not Side.AFTER:
            if crash.side is Side.LATE:
                actor.changed = True
                self._later(effect)
            self._fall(actor, crash)
        try:
            answer = effect()
        except Exception:
            if crash is not None:
                self._fall(actor, crash)
            raise
        actor.changed |= verb in EFFECTS
        if crash is not None:
            self._fall(actor, crash)
        return answer

    def _fall(self, actor: Actor, crash: Crash) -> None:
        self.fell.append(actor.name)
        actor.fall(crash.fate)
        self._kernel.park()

    def _later(self, effect: Callable[[], Any]) -> None:
        def work() -> None:
            with suppress(BastionError):  # nobody is there to hear it
                effect()
            self.late -= 1

        self.late += 1
        self._kernel.spawn(Life(), work, LATE_S)


class TappedBucket:
    """A `Bucket` through which one process goes."""

    def __init__(self, bucket: Bucket, actor: Actor, tape: Tape) -> None:
        self.url = bucket.url
        self._bucket, self._actor, self._tape = bucket, actor, tape

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return self._tape.play(self._actor, "read", key, lambda: self._bucket.read(key, limit))

    def create(self, key: str, data: bytes) -> str | None:
        return self._tape.play(self._actor, "create", key, lambda: self._bucket.create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self._tape.play(self._actor, "replace", key, lambda: self._bucket.replace(key, data, version))

    def write(self, key: str, data: bytes) -> str:
        return self._tape.play(self._actor, "write", key, lambda: self._bucket.write(key, data))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:  # a store does not remove many at once: one may fall between two of them
            self._tape.play(self._actor, "delete", key, partial(self._bucket.delete, [key]))

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        return self._tape.play(self._actor, "list", prefix, lambda: self._bucket.list(prefix, after=after))


class TappedMachine:
    """The worker's `Machine`: what changes something on it goes through the tape, the rest is looked up as it is."""

    def __init__(self, host: SimHost, actor: Actor, tape: Tape) -> None:
        self._host, self._actor, self._tape = host, actor, tape

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def write_peers(self, data: bytes) -> None:
        self._tape.play(self._actor, "world", self._host.machine.id, lambda: self._host.write_peers(data))

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> SimProcess:
        return self._tape.play(
            self._actor, "start", " ".join(argv), lambda: self._host.start(argv, env, folder, memory)
        )

    def clear(self) -> None:
        self._tape.play(self._actor, "clear", self._host.machine.id, self._host.clear)
