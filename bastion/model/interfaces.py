"""The doors to the world. Protocols only: what is behind them may fail, lie late, or be simulated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from bastion.quota.resources import Resources

from .errors import RunnerError


class Clock(Protocol):
    """Time. Nothing of ours asks for it elsewhere."""

    def wall(self) -> datetime:
        """The time of day, aware, in UTC. May jump both ways."""

    def monotonic(self) -> float:
        """Seconds since some moment, never backwards, running on while the machine is suspended."""

    def sleep(self, seconds: float) -> None:
        """Return after about this many seconds."""


class Ids(Protocol):
    """Every random name and nonce."""

    def new(self) -> str:
        """A fresh name: 32 lower-case hexadecimal characters, never given twice."""


class Seal(Protocol):
    """What proves that a machine was made by this bastion. Raises `RunnerError` while it has no key."""

    def nonce(self, *made_for: object) -> str:
        """A new nonce for a machine that is made for this: 32 hexadecimal characters."""

    def proves(self, nonce: str, *made_for: object) -> bool:
        """True if a nonce was made here, for just this."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One object as a listing shows it. `version` changes with every write; `modified` is for display only."""

    key: str
    version: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Stored:
    """One object as it was read. `owner` is the number of the account that put it there, where the store tells: a folder does."""

    data: bytes
    version: str
    owner: int | None = None


class Bucket(Protocol):
    """A flat store of whole objects.

    Keys are `/`-separated, 1 to 900 bytes of UTF-8 without control characters, their parts 1 to 240 bytes, none of
    them `.` or `..`; other keys are refused with a `BastionError`. Listings leave out what no key can name.

    Every method raises `BucketError` if the store could not be asked (after its own retries): for a write
    the outcome is then unknown. A reader never sees a part of an object.
    """

    url: str

    def read(self, key: str, limit: int | None = None) -> Stored:
        """The whole object. Raises `Missing`; `TooLarge` if it has more than `limit` bytes: no more of them are taken in.

        One request, whatever the limit: so nobody has to ask for the size first.
        """

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Its version; None if the key is taken (maybe by us: a lost answer)."""

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. The new version; None if it has another or is gone."""

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. The new version."""

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; missing ones are no error."""

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """Objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        Lazy: one request for each page of 1,000 that is really consumed.
        """


class Tasks(Protocol):
    """Work beside the tick: started here, its results collected at the tick. No thread of ours is born elsewhere."""

    def start(self, name: str, work: Callable[[], Any]) -> bool:
        """Begin `work` unless a task of this name is still running or uncollected, or it cannot be now. True if begun."""

    def finished(self) -> list[tuple[str, Any, Exception | None]]:
        """(name, result, error) of what ended since the last call, in the order of ending."""

    def wait(self, seconds: float) -> None:
        """Return when a task has ended and waits to be collected, or after this many seconds."""

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """`work` of each item, some at a time; results in order. An item's exception is its result."""

    def close(self) -> None:
        """Begin nothing any more; do not wait for what hangs."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str


class Shell(Protocol):
    """Run commands of other programs."""

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> Said:
        """Run to the end. Raises `RunnerError` if it cannot be started or outlasts `limit_s` seconds (it is then killed)."""


@dataclass(frozen=True, slots=True, order=True)
class AttemptKey:
    """Names one attempt: the job's id, the task's number, the attempt's number, all from 0."""

    job: str
    task: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}/{self.task}/{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What a runner needs to know to create the machines of an attempt.

    `resources` are per replica; `workers` counts all hosts; `epoch` is the bastion's and is put on every machine. `image` is
    that in which the code comes, `host/path/name@sha256:…`: for runners whose machines are made of it. "": it comes otherwise.
    `user` submitted the job: a machine that its users share runs it as their account.
    """

    key: AttemptKey
    resources: Resources
    replicas: int
    workers: int
    tier: int
    epoch: int
    image: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One machine as the backend's listing shows it. `id` is the backend's own and is never given twice.

    Not `seen`: what belongs to it is listed, and the machine itself is not there yet or not any more. `doomed`: it is of no
    use to anybody, and holds what others could have until it is deleted. Not `ours`: it has a name of ours, and nothing proves
    that this bastion made it. `origin` says how it was made and by whom, as far as the backend tells.
    """

    id: str
    key: AttemptKey
    worker: int
    epoch: int
    seen: bool = True
    doomed: bool = False
    ours: bool = True
    origin: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """How a build of images ended: the digests by their names, in hexadecimal; or the `problem`, in words."""

    images: Mapping[str, str]
    problem: str = ""


class Builds(Protocol):
    """Where images are built beside us."""

    def ended(self, names: Sequence[str]) -> Mapping[str, Built | RunnerError]:
        """Of these builds those that have ended, and those that could not be asked about.

        The number of requests does not grow with that of the builds.
        """


class Sight(Enum):
    """The answer to a direct question about one machine. `BLIND`: nobody could tell."""

    THERE = "there"
    GONE = "gone"
    BLIND = "blind"


class Runner(Protocol):
    """A backend that gives machines to attempts. Each call is idempotent and returns at once; `RunnerError` if it fails."""

    name: str
    pace_s: float
    """How many seconds to leave between two listings while attempts live."""

    offers: Collection[str] | None
    """The kinds of resources that it has; None: those of its capacity, or any where that is not known."""

    def capacity(self) -> Resources | None:
        """What all its machines hold together, as far as it knows; None: no bound of its own, or not known now."""

    def workers(self, resources: Resources, replicas: int) -> int:
        """How many workers (hosts) an attempt of this shape has."""

    def create(self, placement: Placement) -> None:
        """Begin to create what is missing of the attempt's machines. Machines may come late, or twice: workers claim.

        A machine that is not `ours` is in nobody's place.
        """

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """True if this is the id of a machine that this bastion makes for this worker. By the id alone: nobody is asked."""

    def stop(self, machine: str) -> None:
        """Tell the worker on this machine to look for its stop order now. Begins no second grace.

        `stop`, `delete` and `look` leave alone what is another bastion's, or is not what its id says.
        """

    def delete(self, machine: str) -> None:
        """Take the machine down, answered or not. A machine that is gone is no error."""

    def list(self) -> Sequence[Machine]:
        """All machines of this bastion, by one bulk question. `RunnerError` if blind: not knowing is not emptiness.

        Also those that only claim to be, and are not `ours`.
        """

    def sweep(self) -> None:
        """Remove what ended attempts left on its machines more than a day ago."""

    def waiting(self) -> Mapping[AttemptKey, str]:
        """What attempts wait for that have no machines yet, as the last listing and creations showed; words for people.

        Of an attempt in here nobody expects workers. The words change only when something has changed.
        """

    def look(self, machine: str) -> Sight:
        """The direct question about one machine, listed or not."""


Runners = Mapping[str, Runner]
