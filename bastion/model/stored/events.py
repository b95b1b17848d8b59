"""The journal's records: every change of any job is an event; the events of a tick are one object. Pure."""

from __future__ import annotations

import typing

import msgspec

from ..audit import Moment
from ..interfaces import AttemptKey
from ..job.spec import JobSpec
from ..job.spec_changes import Changes
from ..state.state import Cause, JobState
from ..wording import clipped


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


class OfUser(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of events that a user asked for. The request had so many bytes (`size`), as in all events that have one."""

    request: str
    user: str
    size: int = 0


class Epoch(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bastion took over. From here on no other writes. `healed_by` an admin it set the journal's time back to the store's."""

    epoch: int
    host: str
    pid: int
    version: str
    healed_by: str = ""


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
    """What a runner says that its machines hold; None: no bound of its own. `offers` are its kinds, where it names them."""

    runner: str
    resources: dict[str, int] | None = None
    offers: list[str] | None = None


class SightChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A runner did not answer, and `why` was heard instead; "": it answers again. While it is blind, a change of words only."""

    runner: str
    why: str = ""


class Submitted(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job was accepted. Its place in the journal is its place in the queue. `at`: when it was asked for, if long before."""

    request: str
    job: str
    spec: JobSpec
    at: Moment | None = None
    size: int = 0


class JobRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job was refused. `at`: when it was asked for, if long before."""

    request: str
    job: str
    name: str
    user: str
    project: str
    reason: str
    at: Moment | None = None
    size: int = 0


class RequestRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request had no effect."""

    request: str
    user: str
    reason: str
    job: str = ""
    size: int = 0


class RequestsDropped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """So many requests of a user had no effect, and are not remembered one by one: they came too many at once, or today."""

    user: str
    count: int
    reason: str


class CancelRequested(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Somebody asked to end a job, or one task of it. What waits ends at once, what runs is stopped."""

    job: str
    task: int | None = None


class Held(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Somebody asked that nothing more of a job starts. What runs goes on."""

    job: str


class Released(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A held job may start again, in its old place."""

    job: str


class Topped(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job got the best place of its user's pending ones of its project and priority; each of these moved back by one."""

    job: str


class Updated(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job asks for something else now. A new command replaces what runs; the job keeps its place."""

    job: str
    changes: Changes


class Paused(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing is started and nobody preempted from here on. What runs goes on."""


class Resumed(OfUser, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The bastion decides again."""


class ImageBuilt(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The build that a job waited for has made its image, with this digest. From here on the job may start."""

    job: str
    digest: str


class Started(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Resources are promised to a new attempt, those of this `choice`. `overdue`: it is a gang that had waited for too long."""

    runner: str
    tier: int
    workers: int
    overdue: bool = False
    choice: int = 0


class Waiting(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The runner says what the attempt's machines wait for; "": they are there, or soon are, and workers are expected."""

    reason: str


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
    """A worker's facts say how its process ended; and when it had `started` and `ended`, as far as that can be.

    `saved`: it wrote a checkpoint.
    """

    worker: int
    cause: Cause
    exit_code: int | None = None
    message: str = ""
    step: int | None = None
    started: Moment | None = None
    ended: Moment | None = None
    saved: bool = False


class Gone(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The runner says that the worker's machine is gone; its facts were read once more after that."""

    worker: int


class Saved(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A checkpoint was written `at` this time, and more are to be expected, one in `every_s` (None: nobody knows when).

    Written only if something else was to be expected before.
    """

    at: Moment
    every_s: float | None = None


class Stopping(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The attempt is to end: for `for_job`'s sake, if it is named; `exit_code` is of the process that failed its gang.

    `lost_s` are the seconds of its work that no checkpoint holds, where they were counted.
    """

    cause: Cause
    deadline: Moment
    reason: str
    for_job: str = ""
    exit_code: int | None = None
    lost_s: float | None = None


class Moved(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the attempt holds is named after another tier from here on. It runs on."""

    tier: int


class Ended(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing of the attempt can run any more. `outcome` PENDING: the task waits again, from `ready_at` on.

    `progressed`: it wrote a checkpoint, so the failures before it count no more.
    """

    cause: Cause
    outcome: JobState
    reason: str
    exit_code: int | None = None
    ready_at: Moment | None = None
    progressed: bool = False


class Decided(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The schedule was asked here: the fold of all that stands before is what it was asked about. Changes nothing.

    Its answer are the next `events`, with their `decision.digest`. So many jobs were `waiting`, and so many held something.
    `now` is said where the object says another. Where others may stand in, `blind` are the runners that did not answer.
    `rules` are those of the policy that it was decided by (`bastion.quota.demand.RULES`).
    """

    events: int = 0
    digest: str = ""
    waiting: int = 0
    live: int = 0
    now: Moment | None = None
    blind: list[str] = []
    rules: int = 1


class Lapsed(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What waits of a job ends: CANCELLED if a condition can never be met, TIMEOUT after its deadline, FAILED with its image."""

    job: str
    outcome: JobState
    reason: str


class ReclaimDropped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What was freed for this job is free for all again."""

    job: str


class Forgotten(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Request ids and ended jobs that the state need not know any more."""

    requests: list[str] = []
    jobs: list[str] = []


class AttemptLost(OfAttempt, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """This attempt was begun in a part of the journal that is lost. Its number is given, so that it is never given again."""

    reason: str


class LossAccepted(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An admin goes on without the objects from `first` to `last`, which are lost. Changes nothing by itself."""

    user: str
    first: int
    last: int


class Illegal(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event that the table of moves refused. It changed nothing."""

    what: str


AnyEvent = (
    Epoch | FileChanged | FileBroken | CapacityChanged | SightChanged | Submitted | JobRejected | RequestRejected
    | RequestsDropped | CancelRequested | Held | Released | Topped | Updated | Paused | Resumed | ImageBuilt | Started
    | Waiting | Claimed | Voided | Exited | Gone | Saved | Stopping | Moved | Ended | Decided | Lapsed | ReclaimDropped
    | Forgotten | AttemptLost | LossAccepted | Illegal
)  # fmt: skip

OfRequest = OfUser | Submitted | JobRejected | RequestRejected
"""The events that a request of the inbox became, one each."""

_SAID = frozenset({"reason", "message", "problem", "why", "what"})
_TEXTS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind.__struct_fields__ if name in _SAID) for kind in typing.get_args(AnyEvent)
}
"""Of each event the fields that hold what somebody said."""


def bounded(event: AnyEvent) -> AnyEvent:
    """The event as it may be stored: whatever users, workers, runners and stores said is of bounded length."""
    for name in _TEXTS[type(event)]:
        text: str = getattr(event, name)
        if (short := clipped(text)) != text:
            event = msgspec.structs.replace(event, **{name: short})
    return event
