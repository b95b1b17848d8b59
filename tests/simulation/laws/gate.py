"""Laws about jobs that wait for the ends of other jobs, for a time, or for their own other tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import JobSpec
from bastion.model.job.spec_changes import revised
from bastion.model.state.state import ENDED, AttemptState, Cause, JobState, State
from bastion.model.stored.events import AnyEvent, Decided, Epoch, Exited, Started, Stopping, Submitted, Updated
from bastion.model.stored.journal_object import JournalObject
from tests.simulation.parts.broken import Broken


@dataclass(slots=True)
class GateLaws:
    """Keeps the specs in force, by job, from the events alone.

    `decided`: when the next starts were decided, if the journal object has another time. `finishing`: when the journal
    first held that a worker of an attempt had ended with 0.
    """

    wishes: dict[str, JobSpec] = field(default_factory=dict)
    decided: datetime | None = None
    finishing: dict[AttemptKey, datetime] = field(default_factory=dict)

    def event(self, event: AnyEvent, truth: State, *, replaces: bool) -> None:
        """Check an event of the journal. `replaces`: it starts an attempt in place of one with an old command."""
        match event:
            case Submitted():
                self.wishes[event.job] = event.spec
            case Updated():
                self.wishes[event.job] = revised(self.wishes[event.job], event.changes, digest="")
            case Decided():
                self.decided = event.now
            case Started():
                self._started(event, truth, replaces=replaces)
            case Exited(cause=Cause.OK) if truth.now:
                self.finishing.setdefault(event.key, truth.now)
            case Stopping(cause=Cause.STRAGGLED) if truth.now:
                since = self.finishing.get(event.key, truth.now)
                if (truth.now - since).total_seconds() < self.wishes[event.job].finish_timeout_s:
                    raise Broken(
                        f"{event.key} has not had its time since a rank of it ended with 0: {truth.now - since}"
                    )

    def _started(self, event: Started, truth: State, *, replaces: bool) -> None:
        wish, now = self.wishes[event.job], self.decided or truth.now
        assert now is not None
        for text in wish.after:
            if not _met(text, truth):
                raise Broken(f"{event.key} is started, and {text} is not met")
        if wish.begin and now < wish.begin:
            raise Broken(f"{event.key} is started {wish.begin - now} before it may begin")
        if wish.deadline and now >= wish.deadline:
            raise Broken(f"{event.key} is started {now - wish.deadline} after its deadline")
        live = len(truth.live[event.job])
        if wish.max_parallel and live > wish.max_parallel and not replaces:
            raise Broken(f"{event.key} is started: {live} tasks hold resources, and {wish.max_parallel} may")

    def written(self, record: JournalObject, truth: State) -> None:
        """Check that no job waits for a condition that cannot be met, and that late jobs are being stopped.

        This holds after each tick; the start of a bastion is no tick yet.
        """
        self.decided = None
        if all(isinstance(event, Epoch) for event in record.events):
            return
        self._straggles(record.now, truth)
        for job, wish in self.wishes.items():
            if job in truth.jobs and not truth.jobs[job].ended:
                self._late(job, wish.deadline, record.now, truth)
                if job in truth.pending and any(_met(text, truth) is False for text in wish.after):
                    raise Broken(f"{job} waits for {wish.after}, in vain")

    def _straggles(self, now: datetime, truth: State) -> None:
        """Check that no gang runs on after its time when one of its ranks has ended with 0."""
        for key, job, attempt in truth.live_attempts():
            most, since = self.wishes[job.id].finish_timeout_s, self.finishing.get(key, now)
            runs = attempt.state is not AttemptState.STOPPING and any(w.cause is None for w in attempt.workers)
            if runs and most and (now - since).total_seconds() >= most:
                raise Broken(f"{key} runs on {now - since} after a rank of it had ended with 0")

    def _late(self, job: str, deadline: datetime | None, now: datetime, truth: State) -> None:
        if deadline is None or now < deadline:
            return
        if job in truth.pending:
            raise Broken(f"{job} waits {now - deadline} after its deadline")
        for key, other, attempt in truth.live_attempts():
            if other.id == job and attempt.state is not AttemptState.STOPPING:
                raise Broken(f"{key} is {attempt.state} {now - deadline} after its deadline")


def _met(text: str, truth: State) -> bool | None:
    """Return whether a condition holds, by the states alone; None while it still may."""
    kind, _, word = text.partition(":")
    name, _, number = word.rstrip("]").partition("[")
    job = truth.jobs[name]
    states = {job.task_state(int(number))} if number else set(job.counts)
    if not states <= ENDED:
        return False if kind == "ok" and states & ENDED - {JobState.SUCCEEDED} else None
    return kind == "any" or (kind == "ok") is (states == {JobState.SUCCEEDED})
