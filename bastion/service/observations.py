"""Observations from outside the bastion, as values, and the events that they cause. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..journal.attempts import build_ended
from ..model.interfaces import AttemptKey, BuildResult
from ..model.state.state import AttemptState, Cause, State
from ..model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Claimed,
    Exited,
    Gone,
    SightChanged,
    Stopping,
    Voided,
    Waiting,
)
from ..model.stored.records import Claim, Facts
from ..model.wording import one_line, told

WAITS_MAX = 1_024
"""The most characters that are kept of the reason for a wait."""

WHY_MAX = 512
"""Characters of an error that are stored."""

REWORD = timedelta(minutes=5)
"""While a runner is unreachable, a new error text is stored at most this often: some differ with every request."""


@dataclass(frozen=True, slots=True)
class ClaimRead:
    """The claim of one worker: its own, or the void that the bastion put in its place.

    key: the attempt.
    worker: number of the worker in the attempt.
    claim: the claim that is in the bucket.
    """

    key: AttemptKey
    worker: int
    claim: Claim


@dataclass(frozen=True, slots=True)
class FactsRead:
    """The facts of one worker, as they were read.

    key: the attempt.
    worker: number of the worker in the attempt.
    facts: its facts; None: there are none, or none that can be used.
    gone: the runner had said that the machine is gone before they were read, so they are the last.
    """

    key: AttemptKey
    worker: int
    facts: Facts | None
    gone: bool = False


@dataclass(frozen=True, slots=True)
class SilentWorker:
    """A worker that counts as lost, because its heartbeat has not changed for too long.

    key: the attempt.
    worker: number of the worker in the attempt.
    seconds: how long its heartbeat has not changed.
    """

    key: AttemptKey
    worker: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CapacityRead:
    """The capacity that a runner reports.

    runner: name of the runner.
    resources: amount of each resource kind that its machines hold; None: it cannot tell.
    offers: the resource kinds that it names as its own; None: it names none, so it may have any.
    """

    runner: str
    resources: dict[str, int] | None
    offers: list[str] | None = None


@dataclass(frozen=True, slots=True)
class MachinesAwaited:
    """The reason why an attempt waits for its machines.

    key: the attempt.
    said: the reason, as the runner gives it; "": it waits only for its workers.
    """

    key: AttemptKey
    said: str


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """Something in the bucket that cannot be understood; for `bastion status`."""

    what: str


@dataclass(frozen=True, slots=True)
class Stray:
    """A listed machine that this bastion did not make, or one of an epoch that does not exist; for `bastion status`."""

    what: str


@dataclass(frozen=True, slots=True)
class BuildEnded:
    """A build of images that has ended.

    build: name of the build.
    end: its images, or its problem.
    """

    build: str
    end: BuildResult


Sighting = ClaimRead | FactsRead | SilentWorker | CapacityRead | MachinesAwaited | BuildEnded | UnreadableObject | Stray


def note(state: State, seen: Sighting, now: datetime) -> Iterator[AnyEvent]:
    """Return the events that an observation causes; none if it is not new."""
    match seen:
        case ClaimRead():
            yield from _claim(state, seen)
        case FactsRead():
            yield from _facts(state, seen, now)
        case SilentWorker():
            yield from _silent(state, seen, now)
        case BuildEnded():
            yield from build_ended(state, seen.build, seen.end)
        case MachinesAwaited():
            yield from _awaited(state, seen)
        case UnreadableObject() | Stray():
            return
        case CapacityRead():
            known = state.capacity.get(seen.runner), state.offers.get(seen.runner)
            if seen.runner not in state.capacity or known != (seen.resources, seen.offers):
                yield CapacityChanged(runner=seen.runner, resources=seen.resources, offers=seen.offers)


def _claim(state: State, seen: ClaimRead) -> Iterator[AnyEvent]:
    key, attempt = seen.key, state.attempt(seen.key)
    if attempt is None or attempt.state is AttemptState.ENDED:
        return
    worker = attempt.workers[seen.worker]
    if worker.seen or worker.over:
        return
    if seen.claim.void:
        yield Voided(job=key.job, task=key.task, attempt=key.attempt, worker=seen.worker)
    else:
        yield Claimed(
            job=key.job,
            task=key.task,
            attempt=key.attempt,
            worker=seen.worker,
            machine=seen.claim.machine,
            address=seen.claim.address,
            port=seen.claim.port,
        )


def _facts(state: State, seen: FactsRead, now: datetime) -> Iterator[AnyEvent]:
    key, attempt, facts = seen.key, state.attempt(seen.key), seen.facts
    if attempt is None or attempt.state is AttemptState.ENDED:
        return
    worker = attempt.workers[seen.worker]
    if worker.over:
        return
    if facts is not None and facts.cause is not None and worker.cause is None:
        began = _bounded(facts.started, attempt.started, now)
        yield Exited(
            job=key.job,
            task=key.task,
            attempt=key.attempt,
            worker=seen.worker,
            cause=facts.cause,
            exit_code=facts.exit_code,
            message=one_line(facts.message, 2_048),
            step=facts.step,
            started=began,
            saved=facts.checkpoint_at is not None,
            ended=_bounded(facts.ended, began or attempt.started, now),
        )
    if seen.gone:
        yield Gone(job=key.job, task=key.task, attempt=key.attempt, worker=seen.worker)


def _bounded(said: datetime | None, least: datetime, now: datetime) -> datetime | None:
    """Bound a time that a worker reports: not before its attempt was started, and not after now."""
    return None if said is None else max(least, min(said, now))


def _awaited(state: State, seen: MachinesAwaited) -> Iterator[AnyEvent]:
    key, attempt, said = seen.key, state.attempt(seen.key), one_line(seen.said, WAITS_MAX)
    if attempt is not None and attempt.state is AttemptState.STARTING and attempt.waits_for != said:
        yield Waiting(job=key.job, task=key.task, attempt=key.attempt, reason=said)


def _silent(state: State, seen: SilentWorker, now: datetime) -> Iterator[AnyEvent]:
    key, attempt = seen.key, state.attempt(seen.key)
    if attempt is not None and attempt.state is AttemptState.RUNNING and attempt.workers[seen.worker].cause is None:
        why = f"worker {seen.worker} has been silent for {seen.seconds:.0f} s"
        yield Stopping(job=key.job, task=key.task, attempt=key.attempt, cause=Cause.LOST, deadline=now, reason=why)


def runner_news(state: State, runner: str, error: Exception | None, now: datetime) -> Iterator[SightChanged]:
    """Yield what a turn of this runner says about it: reachable without an `error`, else unreachable.

    Nothing if the state already says so, or if only the text differs and the last one is newer than `REWORD`.
    """
    why = one_line(told(error), WHY_MAX) if error else ""
    known = state.blind.get(runner)
    if why == (known.why if known else ""):
        return
    if not (known and why) or now - known.heard >= REWORD:
        yield SightChanged(runner=runner, why=why)
