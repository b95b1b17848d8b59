"""Interfaces to the outside. Protocols only: an implementation may fail, answer late or wrongly, or be simulated."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Protocol

from bastion.quota.resources import Resources

from .errors import RunnerError


class Clock(Protocol):
    """The source of time. The rest of our code reads the time only through this interface."""

    def wall(self) -> datetime:
        """Return the time of day: aware, in UTC. It may jump forwards or backwards."""

    def monotonic(self) -> float:
        """Return the seconds since some fixed moment.

        They never go backwards, and they count on while the machine is suspended.
        """

    def sleep(self, seconds: float) -> None:
        """Return after about this many seconds."""


class Ids(Protocol):
    """The source of every random name and nonce."""

    def new(self) -> str:
        """Return a fresh name: 32 lower-case hexadecimal characters. It never returns the same name twice."""


class Seal(Protocol):
    """The proof that this bastion made a machine. Its methods raise `RunnerError` while it has no key."""

    def nonce(self, *made_for: object) -> str:
        """Return a new nonce for a machine that is made for `made_for`: 32 hexadecimal characters."""

    def proves(self, nonce: str, *made_for: object) -> bool:
        """Return True if this bastion made the nonce for exactly `made_for`."""


@dataclass(frozen=True, slots=True)
class Stat:
    """One object as a listing shows it.

    key: the object's name in the bucket.
    version: changes with every write.
    size: bytes.
    modified: when the object was written, by the store; for display only.
    """

    key: str
    version: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object as it was read.

    data: the whole content.
    version: the version that was read; `Bucket.replace` takes it.
    owner: number of the account that wrote the object; None if the store does not report it. A folder reports it.
    """

    data: bytes
    version: str
    owner: int | None = None


class Bucket(Protocol):
    """A flat store of whole objects.

    Keys are `/`-separated, 1 to 900 bytes of UTF-8 without control characters, their parts 1 to 240 bytes, none of them
    `.` or `..`. Other keys are refused with a `BastionError`. Listings leave out objects that no valid key can name.

    Every method raises `BucketError` if the store could not be asked (after its own retries). For a write the outcome
    is then unknown. A reader never sees a part of an object.
    """

    url: str

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`; `TooLarge` if it has more than `limit` bytes.

        A too large object is not read further. This is one request, whatever the limit: a caller need not ask for the
        size first.
        """

    def create(self, key: str, data: bytes) -> str | None:
        """Create an object and return its version; return None if the key is taken.

        A taken key may hold our own object: the answer to an earlier try was lost.
        """

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone."""

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there, and return the new version."""

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects. A missing object is no error."""

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        Lazy: it sends one request for each page of 1,000 that the caller really consumes.
        """


class ExpiringStore(Protocol):
    """A store that removes objects by lifecycle rules of its own, in a format of its own."""

    def rules(self) -> Sequence[dict[str, Any]]:
        """Return the rules of the whole bucket. Raises `BucketError`."""

    def set_rules(self, rules: Sequence[dict[str, Any]]) -> None:
        """Replace all of them with these. Raises `BucketError`."""

    def close(self) -> None:
        """Close the connections."""


Map = Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
"""The type of `Tasks.map`. An item's exception is its result."""


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """The end of a background task.

    task: what it was started as.
    result: what its work returned.
    error: what its work raised; None: it returned.
    """

    task: Any
    result: Any
    error: Exception | None


class Tasks(Protocol):
    """Work beside the tick. A tick starts tasks and collects their results. Our code starts threads only here."""

    def start(self, task: Hashable, work: Callable[[], Any]) -> bool:
        """Start `work` and return True. `task` tells it from others: a value, or a name. People see its text.

        Return False if an equal task still runs, if its result is not collected yet, or if the work cannot be started
        now.
        """

    def finished(self) -> list[TaskEnd]:
        """Return the tasks that ended since the last call, in the order of their ends."""

    def wait(self, seconds: float) -> None:
        """Return when a task has ended and its result is not collected yet, or after this many seconds."""

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Apply `work` to each item, several at a time; return the results in order.

        If `work` raises an exception, that is the item's result.
        """

    def close(self) -> None:
        """Start no more work. Do not wait for tasks that hang."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command.

    code: exit code.
    out: standard output, as text.
    err: standard error, as text.
    """

    code: int
    out: str
    err: str


class Shell(Protocol):
    """Commands of other programs."""

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        """Run a command to its end.

        Raises `RunnerError` if it cannot be started or takes longer than `limit_s` seconds; it is then killed.
        """


@dataclass(frozen=True, slots=True, order=True)
class AttemptKey:
    """The name of one attempt.

    job: the job's id.
    task: the task's number, from 0.
    attempt: the attempt's number within the task, from 0.
    """

    job: str
    task: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}/{self.task}/{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """An attempt's machines, as a runner has to create them.

    key: the attempt.
    resources: amounts per replica, by kind.
    replicas: number of replicas.
    workers: number of hosts of all replicas together.
    tier: the quota tier that the attempt runs in.
    epoch: the bastion's epoch; the runner puts it on every machine.
    image: the image that holds the code, `host/path/name@sha256:…`, for runners that make machines from it. "" if the
        code comes another way.
    user: the user who submitted the job. On a machine that its users share, the job runs under this user's account.
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
    """One machine as the backend's listing shows it.

    id: the backend's own id; never reused.
    key: the attempt that the machine belongs to.
    worker: the worker's number within the attempt, from 0.
    epoch: epoch of the bastion that created it.
    seen: False if only things that belong to the machine are listed, and the machine itself is not there yet or not any
        more.
    doomed: True if the machine is of no use any more. It still occupies capacity until it is deleted.
    ours: False if the machine has a name of ours, but nothing proves that this bastion made it.
    origin: how the machine was made and by which account, as far as the backend reports it.
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
class BuildResult:
    """The end of a build of images.

    images: digests in hexadecimal, by image name.
    problem: why the build failed, in words.
    """

    images: Mapping[str, str]
    problem: str = ""


class BuildService(Protocol):
    """The service that builds images beside us."""

    def ended(self, names: Sequence[str]) -> Mapping[str, BuildResult | RunnerError]:
        """Return the builds among `names` that have ended, and an error for each that could not be asked about.

        The number of requests does not grow with the number of builds.
        """


class MachineExistence(Enum):
    """The answer to a direct question about one machine.

    THERE: it exists.
    GONE: it does not exist any more.
    UNREACHABLE: the backend could not tell.
    BLIND: the former name of UNREACHABLE, until 0.2.0.
    """

    THERE = "there"
    GONE = "gone"
    UNREACHABLE = "blind"
    BLIND = UNREACHABLE


class Runner(Protocol):
    """A backend that gives machines to attempts.

    Each call is idempotent and returns at once. It raises `RunnerError` if it fails.
    """

    name: str
    pace_s: float
    """Seconds between two listings while attempts are live."""

    offers: Collection[str] | None
    """The kinds of resources that the runner has. None: the kinds of its capacity, or any kind if that is unknown."""

    def capacity(self) -> Resources | None:
        """Return the amounts of all its machines together.

        None: the runner has no limit of its own, or does not know it now.
        """

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return how many workers (hosts) an attempt of this shape has."""

    def create(self, placement: Placement) -> None:
        """Start to create those machines of the attempt that are missing.

        Machines may come late, or twice: workers claim. A machine that is not `ours` does not take the place of a
        missing one.
        """

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """Return True if this is the id of a machine that this bastion makes for this worker.

        It looks at the id alone and asks no backend.
        """

    def stop(self, machine: str) -> None:
        """Ask the worker on this machine to look for its stop order now. This starts no second grace period.

        `stop`, `delete` and `look` ignore a machine that belongs to another bastion, or that is not what its id says.
        """

    def delete(self, machine: str) -> None:
        """Delete the machine, whether it answers or not. A machine that is gone is no error."""

    def list(self) -> Sequence[Machine]:
        """List all machines of this bastion with one bulk request.

        Raises `RunnerError` if the backend cannot be reached: an empty list means that there are none. Machines that
        only claim to be this bastion's are listed, too; they are not `ours`.
        """

    def sweep(self) -> None:
        """Remove what attempts left on their machines, if they ended more than a day ago."""

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return the attempts that have no machines yet, each with what it waits for, in words for people.

        The answer is as the last listing and creations showed it. No workers are expected of an attempt in it. The
        words change only when something has changed.
        """

    def look(self, machine: str) -> MachineExistence:
        """Ask directly about one machine, listed or not."""


Runners = Mapping[str, Runner]
