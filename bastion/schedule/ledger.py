"""Add up who used how much, waited how long and preempted whom in a window of time. One pass over the journal.

A `Ledger` is mutable and changes only itself. Its memory is bounded by the jobs that the bastion itself remembers, plus
eight bytes for each start in the window. Pure but for itself.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from msgspec import UNSET

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, times

from ..journal.fold import apply
from ..model.job.spec import JobSpec
from ..model.job.start_conditions import conditions
from ..model.state.state import ENDED, Cause, Job, JobState, State
from ..model.stored.events import (
    CancelRequested,
    CapacityChanged,
    Ended,
    Epoch,
    Exited,
    FileChanged,
    Forgotten,
    Held,
    ImageBuilt,
    Lapsed,
    Released,
    Started,
    Stopping,
    Submitted,
    Updated,
)
from ..model.stored.journal_object import JournalObject
from .plan import inputs
from .time_integral import MICROSECOND, TimeIntegral, Window
from .usage import shares

K = TypeVar("K")
EntryName = Callable[[Job | JobSpec, str], str | None]
"""A function that names the entry of a job, from its spec or its state, and its id; None: the job is not counted."""

BY: Mapping[str, EntryName] = {
    "project": lambda job, _: job.project,
    "user": lambda job, _: job.user,
    "job": lambda _, job_id: job_id,
}
"""The ways to group jobs into entries."""


@dataclass(slots=True)
class LedgerEntry:
    """The use of one user, project or job in the window.

    jobs: the number of its jobs that were submitted in the window, held something, or had others stopped for them.
    waits: microseconds from when a task could have run to its start, one for each start.
    suffered: how many of its attempts were asked to stop for other jobs.
    caused: how many attempts were stopped for its jobs.
    held: the resources that it held over time, by kind, in units times microseconds.
    """

    jobs: int = 0
    waits: array[int] = field(default_factory=lambda: array("q"))
    suffered: int = 0
    caused: int = 0
    held: dict[str, TimeIntegral] = field(default_factory=dict)


@dataclass(slots=True)
class _Job:
    """The facts about one job that has not ended.

    who: the name of its entry; None: it is not counted, but others may wait for its end.
    demands: the demand of one task, for each choice.
    submitted: when it was submitted.
    left: the number of its tasks that have not ended.
    choice: the choice of its live tasks.
    live: the numbers of the tasks that hold resources.
    counted: its entry counts it among its jobs.
    held: it is held now.
    released: when it could start: after a hold, its `begin` time, and the last end that it waited for; None: at once.
    again: when a task that ran before could run again, by task.
    finished: when the processes of a task ended that still holds resources, by task.
    """

    who: str | None
    demands: Sequence[Resources]
    submitted: datetime
    left: int
    choice: int = 0
    live: set[int] = field(default_factory=set)
    counted: bool = False
    held: bool = False
    released: datetime | None = None
    again: dict[int, datetime] = field(default_factory=dict)
    finished: dict[int, datetime] = field(default_factory=dict)


class Ledger:
    """The entries of a window. Start it with a state, feed it the journal objects after that state, then close it.

    window: the window.
    entries: the entries by name.
    promised: the shares by project and kind, in units times microseconds.
    capacity: the capacity by kind, in units times microseconds.
    later: what ended attempts would have held until the bastion noticed, by kind, in units times microseconds. An
        attempt that ended while no bastion ran holds its resources only until its own end.
    closes: True: the first object from after the window ends the pass. False: such objects still count, at the last
        time before.
    """

    def __init__(self, window: Window, of: EntryName, state: State | None = None) -> None:
        """Begin a ledger with an entry for each name that `of` gives; see `BY`.

        `state` is the fold of the journal before the first object. It must be older than the window.
        """
        self.window = window
        self.entries: dict[str, LedgerEntry] = {}
        self.promised: dict[tuple[str, str], TimeIntegral] = {}
        self.capacity: dict[str, TimeIntegral] = {}
        self.later: Counter[str] = Counter()
        self.closes = True
        self._began: datetime | None = None
        self._last: datetime | None = None
        self._of = of
        self._uncounted = LedgerEntry()
        self._jobs: dict[str, _Job] = {}
        self._behind: dict[str, list[tuple[int | None, str]]] = {}
        self._facts = State()
        self._opened = False
        if state is not None:
            self._begin(state)

    def take(self, record: JournalObject) -> bool:
        """Take one journal object. Return False if it is from after the window: no more objects are needed."""
        now = record.now
        if now >= self.window.until:
            if self.closes:
                return False
            # The journal's clock ran ahead of the store's; a later epoch sets it back.
            now = self._last or self.window.since
        self._last = now
        if not self._opened and now >= self.window.since:
            self._open()
        place = self.window.place(now)
        for event in record.events:
            work = _WORK.get(type(event))
            if work is not None:
                work(self, event, now, place)
        return True

    def close(self) -> None:
        """Count everything that is still held up to the end of the window."""
        if not self._opened:
            self._open()
        held = [integral for entry in self.entries.values() for integral in entry.held.values()]
        for integral in (*held, *self.promised.values(), *self.capacity.values()):
            integral.advance(self.window.length)

    def _begin(self, state: State) -> None:
        for job in state.jobs.values():
            if job.ended:
                continue
            known = self._known(job.id, job, job.came)
            known.choice, known.held, known.released = (
                job.choice,
                job.held is not None,
                max(job.since, job.begin or job.since),
            )
            self._wait(job.id, job.after)
            known.left = sum(number for where, number in job.counts.items() if where not in ENDED)
            for number, task in job.tasks.items():
                if task.state is JobState.PENDING and task.attempts:
                    known.again[number] = max(filter(None, (task.attempts[-1].ended, task.ready_at)))
                if task.live:
                    known.live.add(number)
                    if task.live.finished:
                        known.finished[number] = task.live.finished
        self._facts = State(files=dict(state.files), capacity=dict(state.capacity), offers=dict(state.offers))
        self._promise(0)

    def _open(self) -> None:
        """Begin the window: from here on count what is held already."""
        self._opened = True
        for job in self._jobs.values():
            if job.live:
                self._hold(job, 0, len(job.live))

    def _known(self, job_id: str, job: Job | JobSpec, submitted: datetime) -> _Job:
        demands = [choice.demand for choice in job.choices] or [times(job.resources, job.replicas)]
        known = _Job(self._of(job, job_id), demands, submitted, job.count)
        self._jobs[job_id] = known
        return known

    def _entry(self, job: _Job) -> LedgerEntry:
        """Return the entry of the job, and count the job there once."""
        entry = self._uncounted if job.who is None else self.entries.setdefault(job.who, LedgerEntry())
        entry.jobs += not job.counted
        job.counted = True
        return entry

    def _hold(self, job: _Job, place: int, number: int) -> None:
        """Let so many more attempts of the job hold its demand from this place on."""
        held = self._entry(job).held
        for kind, amount in job.demands[job.choice].items():
            if kind not in held:
                held[kind] = TimeIntegral(self.window)
            held[kind].add(place, number * amount)

    def _submitted(self, event: Submitted, now: datetime, _place: int) -> None:
        known = self._known(event.job, event.spec, event.at or now)
        known.released = event.spec.begin
        self._wait(event.job, event.spec.after)
        if self._opened:
            self._entry(known)

    def _started(self, event: Started, now: datetime, place: int) -> None:
        job = self._jobs.get(event.job)
        if job is None or event.task in job.live:
            return
        job.live.add(event.task)
        job.choice = event.choice
        waiting = max(job.again.pop(event.task, job.submitted), job.released or job.submitted)
        if self._opened:
            self._hold(job, place, 1)
            self._entry(job).waits.append(max(0, (now - waiting) // MICROSECOND))

    def _ended(self, event: Ended, now: datetime, place: int) -> None:
        job = self._jobs.get(event.job)
        if job is None:
            return
        if event.task in job.live:  # else it started in a gap of the journal
            job.live.remove(event.task)
            finished = job.finished.pop(event.task, now)
            if self._opened:
                self._hold(job, place, -1)
                if self._began and finished < self._began:
                    self._take_back(job, self.window.place(finished), place)
        if event.outcome is JobState.PENDING:
            job.again[event.task] = max(now, event.ready_at or now)
            return
        self._over(event.job, event.task, now)
        job.left -= 1
        if not job.left:
            del self._jobs[event.job]

    def _take_back(self, job: _Job, finished: int, place: int) -> None:
        """Take back what was counted after its processes had ended, while no bastion was there to notice."""
        for kind, amount in job.demands[job.choice].items():
            self._entry(job).held[kind].take_back(finished, place, amount)
            self.later[kind] += amount * (place - finished) * (job.who is not None)

    def _epoch(self, _event: Epoch, now: datetime, _place: int) -> None:
        self._began = now

    def _exited(self, event: Exited, *_at: Any) -> None:
        job = self._jobs.get(event.job)
        if job is not None and event.ended and event.task in job.live:
            job.finished[event.task] = max(event.ended, job.finished.get(event.task, event.ended))

    def _stopping(self, event: Stopping, _now: datetime, _place: int) -> None:
        if not self._opened or event.cause is not Cause.PREEMPTED:
            return
        if event.job in self._jobs:
            self._entry(self._jobs[event.job]).suffered += 1
        if event.for_job in self._jobs:
            self._entry(self._jobs[event.for_job]).caused += 1

    def _held(self, event: Held, *_at: Any) -> None:
        if event.job in self._jobs:
            self._jobs[event.job].held = True

    def _released(self, event: Released, now: datetime, _place: int) -> None:
        job = self._jobs.get(event.job)
        if job is not None and job.held:
            job.held, job.released = False, max(now, job.released or now)

    def _wait(self, job: str, after: Sequence[str]) -> None:
        for wanted in conditions(after):
            self._behind.setdefault(wanted.job, []).append((wanted.task, job))

    def _over(self, job: str, task: int | None, now: datetime) -> None:
        """Let the jobs that waited for this end start from now on. `task` None: all pending tasks of the job ended."""
        for wanted, name in self._behind.get(job, ()):
            other = self._jobs.get(name)
            if other is not None and not other.live and (task is None or wanted in (None, task)):
                other.released = max(now, other.released or now)

    def _ends(self, event: CancelRequested | Lapsed, now: datetime, _place: int) -> None:
        self._over(event.job, getattr(event, "task", None), now)

    def _updated(self, event: Updated, now: datetime, _place: int) -> None:
        job = self._jobs.get(event.job)
        if job is not None and event.changes.begin is not UNSET:
            job.released = event.changes.begin or now
        self._wait(event.job, event.changes.after or ())

    def _built(self, event: ImageBuilt, now: datetime, _place: int) -> None:
        if (job := self._jobs.get(event.job)) is not None:
            job.released = max(now, job.released or now)

    def _forgotten(self, event: Forgotten, *_at: Any) -> None:
        for job_id in event.jobs:
            self._jobs.pop(job_id, None)
            self._behind.pop(job_id, None)

    def _changed(self, event: FileChanged | CapacityChanged, _now: datetime, place: int) -> None:
        apply(self._facts, event, 0, 0)
        self._promise(place)

    def _promise(self, place: int) -> None:
        """Set the shares and the capacity from this place on, as the quota file and the runners give them."""
        quota = inputs(self._facts).quota or Quota.open()
        promised = shares(self._facts, quota)
        units = {(project, kind): n for project in quota.shares for kind, n in promised.units(project).items()}
        _set(self.promised, units, place, self.window)
        _set(self.capacity, promised.capacity, place, self.window)


def _set(integrals: dict[K, TimeIntegral], levels: Mapping[K, int], place: int, window: Window) -> None:
    for key in {*integrals, *levels}:
        integrals.setdefault(key, TimeIntegral(window)).set(place, levels.get(key, 0))


_WORK: Mapping[type, Callable[..., None]] = {
    Submitted: Ledger._submitted,
    Started: Ledger._started,
    Ended: Ledger._ended,
    Epoch: Ledger._epoch,
    Exited: Ledger._exited,
    Stopping: Ledger._stopping,
    CancelRequested: Ledger._ends,
    Lapsed: Ledger._ends,
    Updated: Ledger._updated,
    ImageBuilt: Ledger._built,
    Held: Ledger._held,
    Released: Ledger._released,
    Forgotten: Ledger._forgotten,
    FileChanged: Ledger._changed,
    CapacityChanged: Ledger._changed,
}
