"""The results of background tasks, as types: each kind of task has its own, and the tick matches them. Pure.

    Maintenance ---- BackgroundTask(kind), work ----> BackgroundTasks ---- Done(task, result) ----> Bastion (the tick)
    starts what is due                                never two equal      or Failed(task, error)   matches the result

To add a kind of task: its result here, in `TaskResult` and in `NAMES`; its start in `maintenance`; its case in `tick`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..model.clocks import ClockReading
from ..model.interfaces import AttemptKey
from .observations import FactsRead, Sighting


@dataclass(frozen=True, slots=True)
class StatusWritten:
    """`status.json` is written: other bastions see that this one leads."""


@dataclass(frozen=True, slots=True)
class LogSent:
    """The lines of the bastion's own log are in the bucket."""


@dataclass(frozen=True, slots=True)
class JournalSound:
    """The journal still ends with what this bastion wrote last."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """One file as it is in the bucket.

    file: "quota" or "config".
    version: its version in the bucket; "": there is none.
    data: its content; None: there is none, or `problem` says why it was not read.
    problem: why it was not read; "": it was.
    """

    file: str
    version: str
    data: bytes | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class AdminFilesRead:
    """Both files, from one reading.

    at: monotonic time at which the reading began.
    files: the files.
    """

    at: float
    files: tuple[FileRead, ...]


@dataclass(frozen=True, slots=True)
class BeatsRead:
    """The result of one good pair of listings.

    at: monotonic time at which they began.
    beats: version of each worker's heartbeat.
    facts: the facts that changed.
    keys: all keys that were listed, with their workers.
    refused: facts that come from another machine than the one that claimed, in words.
    """

    at: float
    beats: dict[tuple[AttemptKey, int], str]
    facts: list[FactsRead]
    keys: dict[str, tuple[AttemptKey, int]]
    refused: list[str]


@dataclass(frozen=True, slots=True)
class RunnerSeen:
    """One turn of a reconciler, in which the runner answered.

    runner: name of the runner.
    sightings: what was observed in the turn.
    """

    runner: str
    sightings: Sequence[Sighting]


@dataclass(frozen=True, slots=True)
class FoldersSwept:
    """A runner has removed what ended attempts left behind.

    runner: name of the runner.
    """

    runner: str


@dataclass(frozen=True, slots=True)
class BuildsSeen:
    """The image builds that jobs wait for, as their service told of them.

    sightings: the builds that ended, and what is wrong with others.
    """

    sightings: Sequence[Sighting]


@dataclass(frozen=True, slots=True)
class SnapshotMade:
    """A snapshot of the journal is made.

    seq: the next number of the journal when the snapshot was started.
    """

    seq: int


@dataclass(frozen=True, slots=True)
class ObjectsRemoved:
    """Objects are removed whose effect is in the journal, such as requests that were answered."""


@dataclass(frozen=True, slots=True)
class JobsRetired:
    """The tombstones of jobs are written, and their orders and claims removed: they may leave the state.

    jobs: ids of the jobs.
    """

    jobs: Sequence[str]


@dataclass(frozen=True, slots=True)
class StopAsked:
    """This process was asked to stop. The end of the task ends the wait for the next tick."""


TaskResult = (
    StatusWritten
    | LogSent
    | JournalSound
    | AdminFilesRead
    | BeatsRead
    | RunnerSeen
    | FoldersSwept
    | BuildsSeen
    | ClockReading
    | SnapshotMade
    | ObjectsRemoved
    | JobsRetired
    | StopAsked
)
"""The results that a background task may yield."""

NAMES: Mapping[type[object], str] = {
    StatusWritten: "status",
    LogSent: "log",
    JournalSound: "journal",
    AdminFilesRead: "files",
    BeatsRead: "heartbeat",
    RunnerSeen: "runner",
    FoldersSwept: "folders",
    BuildsSeen: "builds",
    ClockReading: "clock",
    SnapshotMade: "snapshot",
    ObjectsRemoved: "consumed",
    JobsRetired: "retire",
    StopAsked: "signal",
}
"""The names of the tasks, for people only: `bastion status`, the log and the names of threads show them."""

R = TypeVar("R", bound=TaskResult)


@dataclass(frozen=True, slots=True)
class BackgroundTask(Generic[R]):
    """The identity of a task: two equal ones never run at once.

    result: the type of the result that it yields.
    runner: name of the runner that it asks; "": it asks none.
    """

    result: type[R]
    runner: str = ""

    def __str__(self) -> str:
        return f"{NAMES[self.result]} {self.runner}".rstrip()


@dataclass(frozen=True, slots=True)
class Done:
    """A task that ended well.

    task: the task.
    result: its result.
    """

    task: BackgroundTask[Any]
    result: TaskResult


@dataclass(frozen=True, slots=True)
class Failed:
    """A task that ended with an error.

    task: the task.
    error: what it raised.
    """

    task: BackgroundTask[Any]
    error: Exception
