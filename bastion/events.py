"""The journal's records: every change of any job is an event; the events of a tick are one object. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from bastion.changes import Changes
from bastion.codec import SCHEMA, Record, decode, encode, readable
from bastion.ports import AttemptKey
from bastion.spec import JobSpec
from bastion.state import Cause, JobState

OBJECT_BYTES_MAX = 4 * 1024 * 1024


class Event(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="event"
):
    """The base of all events. Its class names it in the journal."""


class OfAttempt(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of events about one attempt."""

    job: str
    task: int
    attempt: int

    @property
    def key(self) -> AttemptKey:
        """The attempt that it is about."""
        return AttemptKey(self.job, self.task, self.attempt)


class Epoch(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bastion took over. From here on no other writes."""

    epoch: int
    host: str
    pid: int
    version: str


class FileChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The quota file or the configuration was read and is in force. Text "" with version "": there is no file."""

    file: str
    version: str
    text: str


class FileBroken(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The quota file or the configuration cannot be used; the last good one stays in force."""

    file: str
    version: str
    problem: str


class CapacityChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a runner says that its machines hold; None: no bound of its own."""

    runner: str
    resources: dict[str, int] | None = None


class Submitted(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job was accepted. Its place in the journal is its place in the queue."""

    request: str
    job: str
    spec: JobSpec


class JobRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A well-formed job was refused."""

    request: str
    job: str
    name: str
    user: str
    project: str
    reason: str


class RequestRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request had no effect."""

    request: str
    user: str
    reason: str
    job: str = ""


class CancelRequested(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Somebody asked to end a job, or one task of it. What waits ends at once, what runs is stopped."""

    request: str
    user: str
    job: str
    task: int | None = None


class Held(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Somebody asked that nothing more of a job starts. What runs goes on."""

    request: str
    user: str
    job: str


class Released(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A held job may start again, in its old place."""

    request: str
    user: str
    job: str


class Topped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job got the best place that its user's pending jobs of its project and priority had; each of these moved back by one."""

    request: str
    user: str
    job: str


class Updated(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job asks for something else now. A new command replaces what runs; the job keeps its place."""

    request: str
    user: str
    job: str
    changes: Changes


class Paused(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing is started and nobody preempted from here on. What runs goes on."""

    request: str
    user: str


class Resumed(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The bastion decides again."""

    request: str
    user: str


class Started(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Resources are promised to a new attempt."""

    runner: str
    tier: int
    workers: int


class Claimed(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A worker was seen: its machine, and where its process can be reached."""

    worker: int
    machine: str
    address: str = ""
    port: int = 0


class Voided(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A worker that was never seen can never run: the bastion holds its claim."""

    worker: int


class Exited(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A worker's facts say how its process ended."""

    worker: int
    cause: Cause
    exit_code: int | None = None
    message: str = ""
    step: int | None = None


class Gone(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The runner says that the worker's machine is gone; its facts were read once more after that."""

    worker: int


class Stopping(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The attempt is to end: for `for_job`'s sake, if it is named; `exit_code` is of the process that failed its gang."""

    cause: Cause
    deadline: datetime
    reason: str
    for_job: str = ""
    exit_code: int | None = None


class Ended(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing of the attempt can run any more. `outcome` PENDING: the task waits again, from `ready_at` on."""

    cause: Cause
    outcome: JobState
    reason: str
    exit_code: int | None = None
    ready_at: datetime | None = None


class ReclaimDropped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was freed for this job is free for all again."""

    job: str


class Forgotten(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Request ids and ended jobs that the state need not know any more."""

    requests: list[str] = []
    jobs: list[str] = []


class Illegal(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event that the table of moves refused. It changed nothing."""

    what: str


AnyEvent = (
    Epoch
    | FileChanged
    | FileBroken
    | CapacityChanged
    | Submitted
    | JobRejected
    | RequestRejected
    | CancelRequested
    | Held
    | Released
    | Topped
    | Updated
    | Paused
    | Resumed
    | Started
    | Claimed
    | Voided
    | Exited
    | Gone
    | Stopping
    | Ended
    | ReclaimDropped
    | Forgotten
    | Illegal
)


class JournalObject(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One object of the journal. `nonce` tells its writer, after a lost answer, that it is its own."""

    seq: int
    epoch: int
    nonce: str
    now: datetime
    events: list[AnyEvent]


readable(JournalObject)


def pack(*, seq: int, epoch: int, nonce: str, now: datetime, events: list[bytes]) -> bytes:
    """A journal object from events that are encoded already."""
    head = encode({"schema": SCHEMA, "seq": seq, "epoch": epoch, "nonce": nonce, "now": now})
    return head[:-1] + b',"events":[' + b",\n".join(events) + b"]}"


def unpack(data: bytes, seq: int) -> JournalObject:
    """A journal object from its bytes. Raises `RecordError`, or `Newer`."""
    return decode(data, JournalObject, f"journal object {seq}")
