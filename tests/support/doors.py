"""Doors for tests: a bucket that fails when it is told to, and a state that events were folded into."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bastion.journal.fold import apply
from bastion.model.errors import BucketError, RunnerError
from bastion.model.interfaces import (
    AttemptKey,
    Bucket,
    Machine,
    MachineExistence,
    Placement,
    Stat,
    StoredObject,
    TaskEnd,
)
from bastion.model.state.state import State
from bastion.model.stored.events import AnyEvent
from bastion.platform.system import RandomIds
from bastion.quota.resources import Resources
from bastion.stores.memory import MemoryBucket
from tests.support.world import NOON

Fault = Callable[[str, str], Callable[[], object] | None]


def memory(now: Callable[[], datetime] | None = None) -> MemoryBucket:
    """A store that nobody else has. `now` is its clock, if it is not the machine's."""
    return MemoryBucket(f"memory://{RandomIds().new()}", now)


@dataclass
class FaultyBucket:
    """A memory bucket that keeps count and, call by call, does what `faults` say.

    A fault is called with (verb, key) before the effect; what it returns is called after it. Either may raise.
    """

    inner: Bucket = field(default_factory=memory)
    faults: list[Fault] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    url: str = "memory://faulty"

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return self._call("read", key, lambda: self.inner.read(key, limit))  # type: ignore[no-any-return]

    def create(self, key: str, data: bytes) -> str | None:
        return self._call("create", key, lambda: self.inner.create(key, data))  # type: ignore[no-any-return]

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self._call("replace", key, lambda: self.inner.replace(key, data, version))  # type: ignore[no-any-return]

    def write(self, key: str, data: bytes) -> str:
        return self._call("write", key, lambda: self.inner.write(key, data))  # type: ignore[no-any-return]

    def delete(self, keys: Iterable[str]) -> None:
        gone = list(keys)
        self._call("delete", " ".join(gone), lambda: self.inner.delete(gone))

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        return self._call("list", prefix, lambda: self.inner.list(prefix, after=after))  # type: ignore[no-any-return]

    def _call(self, verb: str, key: str, effect: Callable[[], Any]) -> Any:
        self.calls.append((verb, key))
        after = self.faults.pop(0)(verb, key) if self.faults else None
        result = effect()
        if after:
            after()
        return result


def fails(verb: str, key: str) -> None:
    """A fault: the call has no effect."""
    raise BucketError(f"{verb} of {key} failed")


def loses_the_answer(verb: str, key: str) -> Callable[[], object]:
    """A fault: the call has its effect, and nobody learns of it."""
    return lambda: fails(verb, key)


def works(_verb: str, _key: str) -> None:
    """No fault."""


def only(verb: str, fault: Fault) -> Fault:
    """A fault of such calls; others work."""
    return lambda called, key: fault(called, key) if called == verb else None


def folded(*events: AnyEvent, state: State | None = None) -> State:
    """A state at noon that took in these events."""
    state = state or State(now=NOON)
    for index, event in enumerate(events):
        apply(state, event, state.seq, index)
    state.seq += 1
    return state


@dataclass
class HandTasks:
    """Tasks that run at once, or, if they are in `held`, when `release` is called."""

    held: set[Hashable] = field(default_factory=set)
    begun: list[Hashable] = field(default_factory=list)
    _waiting: dict[Hashable, Callable[[], Any]] = field(default_factory=dict)
    _results: list[TaskEnd] = field(default_factory=list)

    def start(self, task: Hashable, work: Callable[[], Any]) -> bool:
        if task in self._waiting or any(task == end.task for end in self._results):
            return False
        self.begun.append(task)
        self._waiting[task] = work
        if task not in self.held:
            self.release(task)
        return True

    def release(self, task: Hashable) -> None:
        """Let a held task run."""
        work = self._waiting.pop(task)
        try:
            self._results.append(TaskEnd(task, work(), None))
        except Exception as error:
            self._results.append(TaskEnd(task, None, error))

    def finished(self) -> list[TaskEnd]:
        results, self._results = self._results, []
        return results

    def wait(self, seconds: float) -> None:
        """Whoever waits lets what was held go on."""
        for task in list(self._waiting):
            self.release(task)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [attempted(work, item) for item in items]

    def close(self) -> None:
        pass


def attempted(work: Callable[[Any], Any], item: Any) -> Any:
    """As `Tasks.map` does it: an item's exception is its result."""
    try:
        return work(item)
    except Exception as error:
        return error


@dataclass
class HandRunner:
    """A fleet that a test moves: machines are there when the test says so. Keeps count of what it is asked."""

    machines: list[Machine] = field(default_factory=list)
    sights: dict[str, MachineExistence] = field(default_factory=dict)
    blind: bool = False
    refuses: set[str] = field(default_factory=set)
    holds: dict[str, int] | None = field(default_factory=lambda: {"v4": 8, "cpu": 8})
    calls: list[tuple[str, Any]] = field(default_factory=list)
    lists: int = 0
    others: set[str] = field(default_factory=set)
    waits: dict[AttemptKey, str] = field(default_factory=dict)
    name: str = "local"
    pace_s: float = 1.0
    offers: Collection[str] | None = None

    def capacity(self) -> dict[str, int] | None:
        return self.holds

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        self._call("create", placement.key)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        return machine not in self.others

    def stop(self, machine: str) -> None:
        self._call("stop", machine)

    def delete(self, machine: str) -> None:
        self._call("delete", machine)

    def list(self) -> Sequence[Machine]:
        self.lists += 1
        if self.blind:
            raise RunnerError("the fleet does not answer")
        return list(self.machines)

    def waiting(self) -> dict[AttemptKey, str]:
        return self.waits

    def look(self, machine: str) -> MachineExistence:
        self.calls.append(("look", machine))
        return self.sights.get(machine, MachineExistence.THERE)

    def sweep(self) -> None:
        pass

    def has(self, machine: str, key: AttemptKey, worker: int = 0, epoch: int = 1, *, ours: bool = True) -> None:
        """This machine is there, and listed."""
        made = f"thing {machine} of eve"
        self.machines.append(Machine(id=machine, key=key, worker=worker, epoch=epoch, ours=ours, origin=made))

    def loses(self, machine: str) -> None:
        """This machine is gone."""
        self.machines = [other for other in self.machines if other.id != machine]
        self.sights[machine] = MachineExistence.GONE

    def _call(self, verb: str, what: Any) -> None:
        self.calls.append((verb, what))
        if verb in self.refuses:
            raise RunnerError(f"{verb} failed")
