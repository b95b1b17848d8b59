"""The records of the journal: every change of a job is an event; one object holds the events of one tick. Pure."""

from __future__ import annotations

import typing

import msgspec

from ..codec import Moment
from ..interfaces import AttemptKey
from ..job.spec import JobSpec
from ..job.spec_changes import Changes
from ..state.state import Cause, JobState
from ..wording import clipped


class Event(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, tag_field="event"
):
    """The base of all events. The journal names an event by its class."""


class AttemptEvent(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of events about one attempt.

    job: the job's id.
    task: number of the task.
    attempt: number of the attempt within the task.
    """

    job: str
    task: int
    attempt: int

    @property
    def key(self) -> AttemptKey:
        """Return the key of the attempt."""
        return AttemptKey(self.job, self.task, self.attempt)


class UserEvent(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The base of events that a user asked for.

    request: name of the request.
    user: the user who asked.
    size: bytes of the request. It means the same in all events that have it.
    """

    request: str
    user: str
    size: int = 0


class Epoch(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A bastion became leader. From here on no other writes.

    epoch: the number of its leadership.
    host: its machine.
    pid: its process on that machine.
    version: its version.
    healed_by: the admin who had it set the journal's time back to the store's; "" for none.
    """

    epoch: int
    host: str
    pid: int
    version: str
    healed_by: str = ""


class FileChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The quota file or the configuration was read and is in force.

    file: `quota` or `config`.
    version: version of the object; "" if there is no file.
    text: the whole text; "" if there is no file.
    """

    file: str
    version: str
    text: str


class FileBroken(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The quota file or the configuration cannot be used. The last good one stays in force.

    file: `quota` or `config`.
    version: version of the object.
    problem: what is wrong with it.
    """

    file: str
    version: str
    problem: str


class CapacityChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A runner reports another capacity.

    runner: name of the runner.
    resources: what its machines hold; None: it has no limit of its own.
    offers: the kinds that it has; None: it does not name them.
    """

    runner: str
    resources: dict[str, int] | None = None
    offers: list[str] | None = None


class SightChanged(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A runner became unreachable or reachable. While it is unreachable, only its error changed.

    runner: name of the runner.
    why: the error that came in place of an answer; "": it answers again.
    """

    runner: str
    why: str = ""


class Submitted(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job was accepted. Its place in the journal is its place among pending jobs.

    request: name of the request.
    job: id of the job.
    spec: the job's spec.
    at: when it was asked for, if that was long before; else None.
    size: bytes of the request.
    """

    request: str
    job: str
    spec: JobSpec
    at: Moment | None = None
    size: int = 0


class JobRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job was refused.

    request: name of the request.
    job: id that the job would have.
    name, user, project: of that job.
    reason: why it was refused.
    at: when it was asked for, if that was long before; else None.
    size: bytes of the request.
    """

    request: str
    job: str
    name: str
    user: str
    project: str
    reason: str
    at: Moment | None = None
    size: int = 0


class RequestRejected(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A request had no effect.

    request: name of the request.
    user: the user who wrote it.
    reason: why it had no effect.
    job: id of the job that it is about; "" for none.
    size: bytes of the request.
    """

    request: str
    user: str
    reason: str
    job: str = ""
    size: int = 0


class RequestsDropped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Some requests of a user had no effect and are not remembered one by one: there were too many, at once or today.

    user: the user.
    count: number of the requests.
    reason: why they were dropped.
    """

    user: str
    count: int
    reason: str


class CancelRequested(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A user asked to cancel a job or one of its tasks. Pending tasks end at once, live attempts are stopped.

    job: id of the job.
    task: number of the task; None: the whole job.
    """

    job: str
    task: int | None = None


class Held(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A user asked to start nothing more of a job. Live attempts go on."""

    job: str


class Released(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A held job may start again, at its old place."""

    job: str


class Topped(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job got the best place among its user's pending jobs of its project and priority.

    Each of the others that was before it moves back by one.
    """

    job: str


class Updated(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The spec of a job changed. A new command replaces live attempts; the job keeps its place.

    job: id of the job.
    changes: the new values.
    """

    job: str
    changes: Changes


class Paused(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """From here on nothing is started or preempted. Live attempts go on."""


class Resumed(UserEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The bastion starts and preempts again."""


class ImageBuilt(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The build that a job waited for has made its image. From here on the job may start.

    job: id of the job.
    digest: digest of the image.
    """

    job: str
    digest: str


class Started(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A new attempt gets resources.

    runner: name of the runner that is to create its machines.
    tier: the quota tier that it runs in.
    workers: number of its workers.
    overdue: True if it is a gang that had waited for too long.
    choice: number of the job's shape that it has.
    """

    runner: str
    tier: int
    workers: int
    overdue: bool = False
    choice: int = 0


class Waiting(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The runner says what the attempt's machines wait for.

    reason: in words; "": they are there, or soon will be, and workers are expected.
    """

    reason: str


class Claimed(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A worker was seen.

    worker: its number.
    machine: the backend's id of its machine.
    address: address of its process; "" if it gave none.
    port: port of its process; 0 if it gave none.
    """

    worker: int
    machine: str
    address: str = ""
    port: int = 0


class Voided(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A worker that was never seen can never run: the bastion holds its claim."""

    worker: int


class Exited(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The process of a worker ended, as its facts say.

    worker: number of the worker.
    cause: why it ended.
    exit_code: its exit code; None if there is none.
    message: what went wrong, in words; "" if nothing did.
    step: the last step that it reported; None for none.
    started: when the process started, as far as that can be; None if it is not known.
    ended: when the process ended, as far as that can be; None if it is not known.
    saved: True if it wrote a checkpoint.
    """

    worker: int
    cause: Cause
    exit_code: int | None = None
    message: str = ""
    step: int | None = None
    started: Moment | None = None
    ended: Moment | None = None
    saved: bool = False


class Gone(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The runner says that the worker's machine is gone. Its facts were read once more after that."""

    worker: int


class Saved(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A checkpoint was written. This event comes only if something else was expected before.

    at: when it was written.
    every_s: more are expected, one in this many seconds; None: it is not known when.
    """

    at: Moment
    every_s: float | None = None


class Stopping(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The attempt is to end.

    cause: why.
    deadline: when its grace period ends.
    reason: why, in words.
    for_job: id of the job that it is stopped for; "" for none.
    exit_code: exit code of the process that failed its gang; None for none.
    lost_s: seconds of its work that no checkpoint holds; None if they were not counted.
    """

    cause: Cause
    deadline: Moment
    reason: str
    for_job: str = ""
    exit_code: int | None = None
    lost_s: float | None = None


class Moved(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The resources of the attempt count in another tier from here on. It runs on."""

    tier: int


class Ended(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Nothing of the attempt can run any more.

    cause: why it ended.
    outcome: the new state of its task; PENDING: the task waits again.
    reason: why it ended, in words.
    exit_code: its exit code; None if there is none.
    ready_at: when the task may start again; None: at once.
    progressed: it wrote a checkpoint, so earlier failures of the task no longer count.
    """

    cause: Cause
    outcome: JobState
    reason: str
    exit_code: int | None = None
    ready_at: Moment | None = None
    progressed: bool = False


class Decided(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The policy was asked here, about the fold of all events before. This event changes only `State.rules`.

    events: how many of the next events are its answer.
    digest: their `decision_record.digest`.
    waiting: number of jobs that had pending tasks.
    live: number of jobs that held resources.
    now: time of the decision, if it differs from the object's.
    blind: the runners that did not answer, where other runners may take their place.
    rules: rules of the policy that took the decision (`bastion.quota.demand.RULES`).
    """

    events: int = 0
    digest: str = ""
    waiting: int = 0
    live: int = 0
    now: Moment | None = None
    blind: list[str] = []
    rules: int = 1


class Lapsed(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The pending tasks of a job end.

    job: id of the job.
    outcome: CANCELLED if a condition can never be met, TIMEOUT after its deadline, FAILED if its image could not be
        built.
    reason: why, in words.
    """

    job: str
    outcome: JobState
    reason: str


class ReclaimDropped(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The resources that were freed for this job are free for all again."""

    job: str


class Forgotten(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The state no longer needs these.

    requests: names of requests.
    jobs: ids of jobs that have ended.
    """

    requests: list[str] = []
    jobs: list[str] = []


class AttemptLost(AttemptEvent, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """This attempt was started in a part of the journal that is lost. Its number is never given again.

    reason: what was lost, in words.
    """

    reason: str


class LossAccepted(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An admin goes on without journal objects that are lost. The event itself changes nothing.

    user: the admin.
    first: number of the first lost object.
    last: number of the last lost object.
    """

    user: str
    first: int
    last: int


class Illegal(Event, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event that the table of transitions refused. It changed nothing.

    what: the event and the reason, in words.
    """

    what: str


AnyEvent = (
    Epoch | FileChanged | FileBroken | CapacityChanged | SightChanged | Submitted | JobRejected | RequestRejected
    | RequestsDropped | CancelRequested | Held | Released | Topped | Updated | Paused | Resumed | ImageBuilt | Started
    | Waiting | Claimed | Voided | Exited | Gone | Saved | Stopping | Moved | Ended | Decided | Lapsed | ReclaimDropped
    | Forgotten | AttemptLost | LossAccepted | Illegal
)  # fmt: skip

OfRequest = UserEvent | Submitted | JobRejected | RequestRejected
"""The events that requests of the inbox become: one event for each request."""

_SAID = frozenset({"reason", "message", "problem", "why", "what"})
_TEXTS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind.__struct_fields__ if name in _SAID) for kind in typing.get_args(AnyEvent)
}
"""For each event, the fields with text from users, workers, runners or stores."""


def bounded(event: AnyEvent) -> AnyEvent:
    """Return the event as it may be stored: text from users, workers, runners and stores is cut to a limited length."""
    for name in _TEXTS[type(event)]:
        text: str = getattr(event, name)
        if (short := clipped(text)) != text:
            event = msgspec.structs.replace(event, **{name: short})
    return event
