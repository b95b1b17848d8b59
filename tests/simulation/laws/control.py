"""Laws about jobs that people hold, move, update and cancel, and about a bastion that they pause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    Ended,
    Held,
    Paused,
    Released,
    Resumed,
    Started,
    Submitted,
    Topped,
    Updated,
)
from bastion.model.stored.journal_object import JournalObject
from bastion.schedule.lifecycle import CRASH
from tests.simulation.parts.broken import Broken


@dataclass(slots=True)
class ControlLaws:
    """Keeps its own record of what people asked for, from the events alone, in their order.

    `commands`: the command in force of each job. `runs`: the command with which each attempt was started.
    `owed`: the task that was stopped for a new command; the next event has to start it again.
    """

    held: set[str] = field(default_factory=set)
    paused: bool = False
    commands: dict[str, str] = field(default_factory=dict)
    runs: dict[AttemptKey, str] = field(default_factory=dict)
    orders: dict[str, int] = field(default_factory=dict)
    owed: tuple[str, int] | None = None
    straggled: set[AttemptKey] = field(default_factory=set)

    def event(self, event: AnyEvent, truth: State, codes: Mapping[tuple[AttemptKey, int], int]) -> None:
        """Check an event of the journal. `codes`: exit codes of processes that ended by themselves, 0 for a success."""
        if self.owed and not (isinstance(event, Started) and (event.job, event.task) == self.owed):
            raise Broken(
                f"{self.owed} was stopped for a new command, and {type(event).__name__} comes before it begins"
            )
        self.owed = None
        match event:
            case Submitted():
                self.commands[event.job] = str(event.spec.command)
            case Updated() if event.changes.renew:
                self.commands[event.job] = str(event.changes.command)
            case Held():
                self.held.add(event.job)
            case Released():
                self.held.discard(event.job)
            case Paused():
                self.paused = True
            case Resumed():
                self.paused = False
            case Started():
                self._started(event)
            case Ended():
                self._ended(event, truth, codes)

    def _started(self, event: Started) -> None:
        if self.paused or event.job in self.held:
            raise Broken(f"{event.key} is started while {'all is paused' if self.paused else 'its job is held'}")
        self.runs[event.key] = self.commands[event.job]

    def _ended(self, event: Ended, truth: State, codes: Mapping[tuple[AttemptKey, int], int]) -> None:
        attempt, job = truth.attempt(event.key), truth.jobs.get(event.job)
        if attempt is None or job is None:
            return
        own = {key for (key, _), code in codes.items() if (key.job, key.task) == (event.job, event.task) and code}
        if event.cause is Cause.STRAGGLED:  # whether it may is another law
            self.straggled.add(event.key)
        own |= {key for key in self.straggled if (key.job, key.task) == (event.job, event.task)}
        counted = job.tasks[event.task].failures
        if counted > len(own) or (
            event.outcome is JobState.FAILED and len(own) < job.max_tries and not _alike(event, truth)
        ):
            told = f"{counted} of {job.max_tries} tries are used up"
            raise Broken(f"{event.key} ended, {told}, and its task failed {len(own)} times by itself")
        if event.outcome is JobState.PENDING and _alike(event, truth) and _soon(event, truth):
            raise Broken(f"{event.key} had the same error as the attempt before it, and is tried again")
        goes_on = event.outcome is JobState.PENDING and not (self.paused or event.job in self.held)
        if attempt.stopping is Cause.UPDATED and goes_on:
            self.owed = event.job, event.task

    def process(self, key: AttemptKey, command: str) -> None:
        """Check the command of a process that starts."""
        if self.runs.get(key) != command:
            raise Broken(f"{key} runs {command!r}; the journal began it with {self.runs.get(key)!r}")

    def places(self, record: JournalObject, truth: State) -> None:
        """Check that places in the queue change only among the jobs of a user who moves a job to the top."""
        movers = {truth.jobs[event.job].user for event in record.events if isinstance(event, Topped)}
        before = {job.id: self.orders.get(job.id, job.seq * 1_000_000 + job.index) for job in truth.jobs.values()}
        self.orders = {job.id: job.order for job in truth.jobs.values()}
        for job in truth.jobs.values():
            if before[job.id] != job.order and job.user not in movers:
                raise Broken(f"the place of {job.id} changed from {before[job.id]} to {job.order}")
        for user in movers:
            own = [job.id for job in truth.jobs.values() if job.user == user]
            if sorted(before[job] for job in own) != sorted(self.orders[job] for job in own):
                raise Broken(f"the places of {user} are not those that they were")


def _alike(event: Ended, truth: State) -> bool:
    """Return True if the last two attempts of a task ended alike, by themselves.

    No program of a simulation runs long or writes checkpoints.
    """
    job = truth.jobs[event.job]
    last = job.tasks[event.task].attempts[-2:]
    ends = {(each.cause, each.exit_code, each.renewed) for each in last}
    by_themselves = all(each.cause is Cause.CODE and each.stopping in (None, Cause.CODE) for each in last)
    return job.crash_guard and len(last) == 2 and by_themselves and len(ends) == 1 and last[-1].renewed == job.renewed


def _soon(event: Ended, truth: State) -> bool:
    """Return True if both ended within the time of a crash, by the times in the journal."""
    last = truth.jobs[event.job].tasks[event.task].attempts[-2:]
    return all(each.ended and each.ended - each.started < CRASH for each in last)
