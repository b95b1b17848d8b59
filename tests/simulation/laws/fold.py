"""Laws about the fold: a small second fold of the events has to agree with it about the facts that laws use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import ENDED, Attempt, AttemptState, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Ended,
    Event,
    Exited,
    Forgotten,
    Gone,
    JobRejected,
    Lapsed,
    Moved,
    Paused,
    Released,
    Resumed,
    Started,
    Stopping,
    Submitted,
    Voided,
)
from bastion.model.stored.events import Held as HeldBack
from bastion.model.stored.journal_object import JournalObject
from tests.simulation.parts.broken import Broken


@dataclass(slots=True)
class Held:
    """The resources of a live attempt, and the facts about its workers. `ChoiceLaws` keeps its shape."""

    runner: str
    tier: int
    workers: int
    stops: bool = False
    causes: dict[int, str] = field(default_factory=dict)
    over: set[int] = field(default_factory=set)

    def __str__(self) -> str:
        ends = " ".join(f"{worker}:{cause}" for worker, cause in sorted(self.causes.items()))
        stops = " stopping" if self.stops else ""
        return f"{self.runner} tier {self.tier}{stops}, ends [{ends}], over {sorted(self.over)} of {self.workers}"


@dataclass(slots=True)
class FoldLaws:
    """Shares no line with the fold under test.

    `tasks`: the number of tasks of each job. `ends`: how tasks ended. `back`: the held jobs.
    `known`: the requests that events name.
    """

    live: dict[AttemptKey, Held] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    ends: dict[str, dict[int, JobState]] = field(default_factory=dict)
    back: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)
    paused: bool = False

    def written(self, record: JournalObject, truth: State) -> None:
        """Apply a journal object, and compare with the fold under test. Raises `Broken`."""
        for event in record.events:
            self._take(event)
            if request := getattr(event, "request", ""):
                self.known.add(request)
        if self.paused != (truth.paused is not None):
            raise Broken(f"the queue is said to be paused: {truth.paused}, its events say {self.paused}")
        if self.known != truth.requests.keys():
            raise Broken(f"the requests that the fold knows are not its events': {self.known ^ truth.requests.keys()}")
        theirs = {key: _held(attempt) for key, _, attempt in truth.live_attempts()}
        for key in self.live.keys() | theirs.keys():
            if (own := self.live.get(key)) != (folded := theirs.get(key)):
                raise Broken(f"the fold of {key} is not what its events say: {folded} in place of {own}")
        concerned = dict.fromkeys(_concerned(record.events))
        self._ends(concerned, truth)
        self._waits(concerned, truth)

    def _waits(self, jobs: Iterable[str], truth: State) -> None:
        """Check that a job is pending while one of its tasks has not ended and holds nothing."""
        for name in jobs:
            over = len(self.ends.get(name, ())) + sum(key.job == name for key in self.live)
            if (name in truth.pending) != (waits := over < self.tasks.get(name, 0)):
                raise Broken(f"{name} is pending for the fold: {name in truth.pending}, its events say {waits}")
            job = truth.jobs.get(name)
            if job and not job.ended and (job.held is not None) != (name in self.back):
                raise Broken(f"{name} is held back for the fold: {job.held}, its events say {name in self.back}")

    def _ends(self, jobs: Iterable[str], truth: State) -> None:
        for name in jobs:
            job, own = truth.jobs.get(name), self.ends.get(name)
            states = {number: job.task_state(number) for number in range(job.count)} if job else {}
            folded = {number: state for number, state in states.items() if state in ENDED} if job else None
            if folded != own:
                raise Broken(
                    f"the ends of {name} are not what its events say: {_words(folded)} in place of {_words(own)}"
                )
            if job is not None and bool(job.ended) != (len(self.ends[name]) == self.tasks[name]):
                raise Broken(f"{name} has an end or none against what its events say: {job.ended}, and {_words(own)}")

    @singledispatchmethod
    def _take(self, event: Event) -> None:
        """Ignore all other events."""

    @_take.register
    def _(self, event: Submitted) -> None:
        self.tasks[event.job], self.ends[event.job] = event.spec.count, {}

    @_take.register
    def _(self, event: JobRejected) -> None:
        self.tasks[event.job], self.ends[event.job] = 1, {0: JobState.REJECTED}

    @_take.register
    def _(self, event: Started) -> None:
        self.live[event.key] = Held(event.runner, event.tier, event.workers)

    @_take.register
    def _(self, event: Exited) -> None:
        self.live[event.key].causes[event.worker] = event.cause

    @_take.register
    def _(self, event: Gone) -> None:
        self.live[event.key].over.add(event.worker)

    @_take.register
    def _(self, event: Voided) -> None:
        self.live[event.key].over.add(event.worker)

    @_take.register
    def _(self, event: Stopping) -> None:
        self.live[event.key].stops = True

    @_take.register
    def _(self, event: Moved) -> None:
        self.live[event.key].tier = event.tier

    @_take.register
    def _(self, event: Ended) -> None:
        del self.live[event.key]
        if event.outcome is not JobState.PENDING:
            self.ends[event.job][event.task] = event.outcome

    @_take.register
    def _(self, event: CancelRequested) -> None:
        self._waiting_end(event.job, JobState.CANCELLED, event.task)

    @_take.register
    def _(self, event: Lapsed) -> None:
        self._waiting_end(event.job, event.outcome)

    @_take.register
    def _(self, event: HeldBack) -> None:
        self.back.add(event.job)

    @_take.register
    def _(self, event: Released) -> None:
        self.back.discard(event.job)

    @_take.register
    def _(self, event: Paused) -> None:
        self.paused = True

    @_take.register
    def _(self, event: Resumed) -> None:
        self.paused = False

    @_take.register
    def _(self, event: Forgotten) -> None:
        self.known.difference_update(event.requests)
        for name in event.jobs:
            del self.tasks[name], self.ends[name]
            self.back.discard(name)

    def _waiting_end(self, job: str, outcome: JobState, task: int | None = None) -> None:
        """End all waiting tasks of a job, or only the one that is named."""
        live = {key.task for key in self.live if key.job == job}
        for number in range(self.tasks.get(job, 0)):
            if number not in live and task in (None, number):
                self.ends[job].setdefault(number, outcome)


def _words(ends: Mapping[int, JobState] | None) -> str:
    return "no job" if ends is None else " ".join(f"{number}:{state}" for number, state in sorted(ends.items()))


def _held(attempt: Attempt) -> Held:
    numbered = list(enumerate(attempt.workers))
    return Held(
        attempt.runner,
        attempt.tier,
        len(numbered),
        attempt.state is AttemptState.STOPPING,
        {number: worker.cause for number, worker in numbered if worker.cause is not None},
        {number for number, worker in numbered if worker.over},
    )


def _concerned(events: Iterable[AnyEvent]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Forgotten):
            yield from event.jobs
        elif name := getattr(event, "job", ""):
            yield name
