"""The jobs of a stretch of a journal as arrivals: what was submitted, and how long it ran. Pure but for itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from ..journal.attempts import shape
from ..model.job.spec import JobSpec, kept
from ..model.job.start_conditions import ANY, conditions
from ..model.state.state import Cause, Job, JobState, State
from ..model.stored.events import Ended, Started, Stopping, Submitted
from ..model.stored.journal_object import JournalObject
from .workload import NONE, Arrival, WorkPace

BROKEN_OFF = frozenset({Cause.PREEMPTED, Cause.LOST, Cause.VOID, Cause.UPDATED})
"""After an end of these causes a task goes on from its last checkpoint. Any other end completes a try."""


@dataclass(slots=True)
class _Seen:
    """A job and the work of its tasks, as far as the journal was read.

    at: when it arrives.
    spec: its spec.
    work: work done so far, by task.
    live: when the live attempt of a task started, by task.
    lost: seconds of the live attempt that its stop lost, by task; only if they were counted.
    """

    at: datetime
    spec: JobSpec
    work: dict[int, timedelta] = field(default_factory=dict)
    live: dict[int, datetime] = field(default_factory=dict)
    lost: dict[int, float] = field(default_factory=dict)


class JournalJobs:
    """Collect arrivals from a journal. Give it the journal objects after a state, then close it.

    Jobs of the state arrive at the beginning, with the work that they still do. `unfinished` counts the tasks that
    still ran at the end: they have only the work that they did by then. `unknown` counts the jobs that never ran:
    nothing tells how long they would run, so they are left out.
    """

    def __init__(self, state: State, since: datetime, pace: WorkPace) -> None:
        self.unfinished = self.unknown = 0
        self.arrivals: list[Arrival] = []
        self._since, self._pace = since, pace
        self._seen: dict[str, _Seen] = {}
        for job in state.jobs.values():
            if job.ended is None:
                live = dict.fromkeys(state.live.get(job.id, ()), since)
                self._seen[job.id] = _Seen(since, _spec_of(job), live=live)

    def take(self, record: JournalObject) -> None:
        """Take one journal object."""
        for event in record.events:
            if isinstance(event, Submitted):
                self._seen[event.job] = _Seen(record.now, event.spec)
            elif isinstance(event, (Started, Stopping, Ended)) and event.job in self._seen:
                self._attempt(self._seen[event.job], event, record.now)

    def close(self, now: datetime) -> None:
        """End the journal here and make the `arrivals`, in the order of their time."""
        for seen in self._seen.values():
            self.unfinished += len(seen.live)
            for task, began in seen.live.items():
                seen.work[task] = seen.work.get(task, NONE) + (now - began)
        known = {job: None for job, seen in self._seen.items() if seen.work}
        self.unknown = len(self._seen) - len(known)
        for job in known:
            seen = self._seen[job]
            work = tuple(seen.work[task] for task in sorted(seen.work))
            self.arrivals.append(Arrival(seen.at, job, _again(seen.spec, len(work), known), work))
        self.arrivals.sort(key=lambda arrival: arrival.at)

    def _attempt(self, seen: _Seen, event: Started | Stopping | Ended, now: datetime) -> None:
        if isinstance(event, Started):
            seen.live[event.task] = now
        elif event.task not in seen.live:  # it started in a gap of the journal
            return
        elif isinstance(event, Ended):
            self._end(seen, event, now)
        elif event.lost_s is not None:
            seen.lost[event.task] = event.lost_s

    def _end(self, seen: _Seen, event: Ended, now: datetime) -> None:
        held = now - seen.live.pop(event.task)
        goes_on = event.outcome is JobState.PENDING and event.cause in BROKEN_OFF
        lost_s, work = seen.lost.pop(event.task, None), held
        if goes_on and lost_s is not None:
            work = max(NONE, held - timedelta(seconds=lost_s))
        elif goes_on:
            work = self._pace.saved(held, event.attempt)
        seen.work[event.task] = seen.work.get(event.task, NONE) + work


def _again(spec: JobSpec, count: int, known: Collection[str]) -> JobSpec:
    """Return the spec with this many tasks, and without what the real run has settled: nothing fails or is cut off.

    It still waits for the jobs that it waited for then, if they also arrive, however they end.
    """
    after = [str(wanted._replace(kind=ANY, task=None)) for wanted in conditions(spec.after) if wanted.job in known]
    return msgspec.structs.replace(spec, count=count, grace_s=0.0, deadline=None, after=after)


def _spec_of(job: Job) -> JobSpec:
    """Make the part of a spec that decisions need, from the job in the state."""
    wanted = shape(job, 0)
    return JobSpec(
        **kept(job),
        command=["work"],
        resources=dict(wanted.resources),
        replicas=wanted.replicas,
        alternatives=list(job.choices[1:]),
        after=list(job.after),
    )
