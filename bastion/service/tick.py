"""One turn of the bastion: read, decide, append, act. It may crash anywhere: memory is only a cache of the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, assert_never

from bastion.quota.demand import RULES

from ..journal.attempts import standing
from ..journal.journal import Journal
from ..journal.leadership import LeaderTime, LeaderWindow, StatusBeat
from ..journal.own_log import OwnLog
from ..journal.retirement import retirable
from ..model.clocks import ClockReading, words
from ..model.errors import BucketError, JournalEndLost, LeadershipLost
from ..model.interfaces import AttemptKey, Runner
from ..model.state.state import AttemptState
from ..model.stored.events import AnyEvent, Forgotten, Submitted
from ..model.stored.records import BEAT_S
from ..model.stored.status import Status
from ..schedule import decision_record, lifecycle, plan
from ..schedule.desired import Desired, desired
from ..schedule.pending import PendingJobs
from ..schedule.placement import AttemptPlacer
from ..schedule.runner_choice import places
from . import admin_files, observations
from .background_tasks import BackgroundTasks
from .checkpoints import Checkpoints
from .heartbeat import BeatReader
from .liveness import Liveness, at_work
from .maintenance import Maintenance, ServiceContext, TickSummary
from .problems import Problems
from .reconcile import Reconciler
from .request_queue import RequestQueue
from .spec_cache import SpecCache
from .task_results import (
    AdminFilesRead,
    BackgroundTask,
    BeatsRead,
    BuildsSeen,
    Failed,
    FoldersSwept,
    JobsRetired,
    JournalSound,
    LogSent,
    ObjectsRemoved,
    RunnerSeen,
    SnapshotMade,
    StatusWritten,
    StopAsked,
    TaskResult,
)
from .watchdog import LAG_S, TickMeasurements, Watchdog

FORGET_S, OVERLOOKED_S = 60.0, 300.0

log = logging.getLogger("bastion")


@dataclass(slots=True, kw_only=True)
class Bastion:
    """The scheduler and all that it keeps in memory between two appends.

    context: the service context.
    journal: the journal of this epoch, with the state.
    time: the time that decisions use.
    window: the time window in which runners may be called.
    beacon: the writer of `status.json`.
    own_log: the bastion's own log, which is sent to the bucket.
    status: builds the content of `status.json` for a bastion and "running" or "stopped".
    poll_s: seconds between two reads of the inbox; None: as the settings say.
    specs: cache of the specs of jobs that start soon.
    inputs: quota and settings in force, parsed.
    rows: the desired attempts as of the last commit, one row for each live attempt.
    ticks: number of ticks that are complete.
    last_tick: time of the last complete tick; before the first, of the start.
    problems: what is wrong now.
    chores: the tasks beside the tick.
    requests: the request queue.
    tasks: the tasks of `context`, by their types, with the time at which each was begun.
    watchdog: finds what does not move any more.
    measurements: measurements of the last ticks.
    """

    context: ServiceContext
    journal: Journal
    time: LeaderTime
    window: LeaderWindow
    beacon: StatusBeat
    own_log: OwnLog
    status: Callable[[Bastion, str], Status]
    poll_s: float | None = None
    specs: SpecCache = field(init=False)
    inputs: plan.DecisionInputs = field(init=False)
    rows: tuple[Desired, ...] = ()
    ticks: int = 0
    last_tick: datetime = field(init=False)
    problems: Problems = field(default_factory=Problems)
    chores: Maintenance = field(init=False)
    requests: RequestQueue = field(init=False)
    tasks: BackgroundTasks = field(init=False)
    watchdog: Watchdog = field(default_factory=Watchdog)
    measurements: TickMeasurements = field(init=False)
    _pending: PendingJobs = field(default_factory=PendingJobs)
    _watch: Liveness = field(default_factory=Liveness)
    _checkpoints: Checkpoints = field(default_factory=Checkpoints)
    _counted: tuple[int, dict[str, int]] = (-1, {})
    _replan: bool = True
    _files_at: float = float("-inf")
    _plan_at: datetime | None = None

    def __post_init__(self) -> None:
        context, state = self.context, self.journal.state
        self.tasks = BackgroundTasks(context.tasks, context.clock)
        self.measurements = TickMeasurements(decided=context.clock.monotonic())
        self.specs = SpecCache(context.bucket)
        self.inputs = plan.inputs(state)
        self.rows = desired(state)
        self.last_tick = self.time.now()
        self.requests = RequestQueue(context, self.problems, state)
        self.chores = Maintenance(
            context=context,
            tasks=self.tasks,
            beacon=self.beacon,
            own_log=self.own_log,
            look=self._look,
            ear=BeatReader(context.bucket, context.clock, lambda: self.rows, context.tasks.map),
            reconcilers=[self._reconciler(runner) for runner in context.runners.values()],
        )

    def _look(self) -> None:
        """Raise `JournalEndLost` if the journal lost its end.

        Raise `LeadershipLost` instead if the cause is that another bastion, or a purge, took over.
        """
        try:
            self.journal.look()
        except JournalEndLost:
            self.beacon.look(self.journal.epoch)
            raise

    def _reconciler(self, runner: Runner) -> Reconciler:
        return Reconciler(
            runner=runner,
            bucket=self.context.bucket,
            clock=self.context.clock,
            ids=self.context.ids,
            window=self.window,
            specs=self.specs,
            epoch=self.journal.epoch,
            desired=lambda: self.rows,
            now=self.time.now,
            at_once=self.context.tasks.map,
            verify=lambda: self.beacon.look(self.journal.epoch),
        )

    @property
    def poll(self) -> float:
        """Seconds between two reads of the inbox."""
        return self.poll_s if self.poll_s is not None else self.inputs.config.poll

    def tick(self) -> None:
        """Read, decide, append, act. Raises `LeadershipLost` if another bastion has taken over, `JournalEndLost`."""
        began, now = self.context.clock.monotonic(), self.time.now()
        self.journal.begin(now)
        self._collect(now)
        if self.requests.backlog or self.chores.due.take("inbox", self.poll):
            self._read_inbox(now)
        self._add_all(list(lifecycle.settle(self.journal.state, now)))
        lifecycle.lapse(self.journal.state, self._add, now)
        self._schedule(now)
        self._commit()
        if (took := self.context.clock.monotonic() - began) > LAG_S:
            self.measurements.lag = began + took, took
        self.ticks += 1
        self.last_tick = now
        self._act()

    def close(self) -> None:
        """Write that this bastion stopped. Running jobs go on."""
        self._commit()
        self.chores.end_log()
        self.chores.end_status(self.status(self, "stopped"))

    def give_up(self, error: Exception) -> None:
        """Write that this bastion ended, and why: the journal is not what it wrote. Append nothing more."""
        self.problems.say("journal", error)
        ended = self.status(self, "stopped")
        self.chores.end_log()
        self.chores.end_status(ended)

    # Read

    def _collect(self, now: datetime) -> None:
        """Take in the results of finished tasks."""
        for end in self.tasks.finished():
            if isinstance(end, Failed) and isinstance(end.error, LeadershipLost | JournalEndLost):
                raise end.error
            self.problems.ended(end)
            if isinstance(end, Failed):
                self._fail(end, now)
            else:
                self._take(end.task, end.result, now)

    def _fail(self, end: Failed, now: datetime) -> None:
        if end.task.result is RunnerSeen:
            self._add_all(observations.runner_news(self.journal.state, end.task.runner, end.error, now))
        self.chores.note_failure(end.task)

    def _take(self, task: BackgroundTask[Any], result: TaskResult, now: datetime) -> None:
        """Act on what a task found. A kind of result without a case is a type error."""
        match result:
            case RunnerSeen(runner, sightings):
                self._add_all(observations.runner_news(self.journal.state, runner, None, now))
                self._see(task, sightings, now)
            case BuildsSeen(sightings):
                self._see(task, sightings, now)
            case BeatsRead():
                self._hear(result, now)
            case AdminFilesRead():
                self.use_files(result)
            case ClockReading():
                self._correct(result)
            case JobsRetired(jobs):
                for start in range(0, len(jobs), lifecycle.FORGET_AT_ONCE):
                    self._add(Forgotten(jobs=list(jobs[start : start + lifecycle.FORGET_AT_ONCE])))
            case SnapshotMade():
                self.chores.note_snapshot(result)
            case StatusWritten() | LogSent() | JournalSound() | FoldersSwept() | ObjectsRemoved() | StopAsked():
                pass  # nothing to do
            case _:
                assert_never(result)

    def _see(self, task: BackgroundTask[Any], seen: Sequence[observations.Sighting], now: datetime) -> None:
        self.problems.tell(
            f"seen by {task}", [one.what for one in seen if isinstance(one, observations.UnreadableObject)]
        )
        self.problems.tell_each(f"stray of {task}", [one.what for one in seen if isinstance(one, observations.Stray)])
        self._note(seen, now)

    def _correct(self, asked: ClockReading) -> None:
        off = self.time.correct(asked)
        what = (
            f"the bastion's time is {words(off)} the store's, and it keeps its own: if the store's is right, restart it"
        )
        self.problems.tell("clock", [what] if off else [])

    def use_files(self, reading: AdminFilesRead) -> None:
        """Put the admin's files in force, unless a later reading of them was faster."""
        if reading.at < self._files_at:
            return
        self._files_at = reading.at
        for read in reading.files:
            for event in admin_files.note(self.journal.state, read, self.context.vet):
                self._add(event)
                self.inputs = plan.inputs(self.journal.state)

    def _hear(self, heard: BeatsRead, now: datetime) -> None:
        state = self.journal.state
        # Remove only objects of attempts that are known to have ended: an unknown one may be a successor's, and alive.
        self.requests.done |= {key: None for key, named in heard.keys.items() if self._has_ended(named[0])}
        if (age := self.window.age_s()) > BEAT_S:  # a store that refuses our writes refuses workers' beats, too
            self._watch.doubt(age)
        self.problems.tell("facts", heard.refused)
        self._note([*heard.facts, *self._watch.judge(at_work(state), heard.beats, heard.at)], now)
        self._add_all(self._checkpoints.news(state, heard.facts, now))

    def _has_ended(self, key: AttemptKey) -> bool:
        attempt = self.journal.state.attempt(key)
        return attempt is not None and attempt.state is AttemptState.ENDED

    def _note(self, sightings: Iterable[observations.Sighting], now: datetime) -> None:
        for seen in sightings:
            self._add_all(observations.note(self.journal.state, seen, now))

    def _read_inbox(self, now: datetime) -> None:
        inbox = self.requests.fetch(self.journal.state)
        if inbox is None or (inbox.has_work and not self._read_files()):
            return
        self.requests.judge(inbox, self.journal.state, self.inputs, now, self._add)
        self.problems.tell("limits", list(self.requests.limited(self.journal.state, now, self.inputs).values()))
        if inbox.sorted.fresh and self.chores.due.take("forget", FORGET_S):
            self._add_all(list(lifecycle.forget(self.journal.state, inbox.sorted.names, now, inbox.sorted.cut)))

    def _read_files(self) -> bool:
        """Read the admin's files. Return False if the store does not answer.

        Requests are handled only with files that are no older than they are: a user who sets a quota and then submits
        meets the new quota.
        """
        try:
            self.use_files(admin_files.read(self.context.bucket, self.context.clock))
        except BucketError as error:
            self.problems.say("files", error)
            return False
        return True

    # Decide

    @property
    def undecided(self) -> bool:
        """Return True if the schedule must be computed again."""
        return self._replan and self.journal.state.paused is None

    def _schedule(self, now: datetime) -> None:
        """Ask the policy, if anything changed or if time alone may change its answer."""
        if not self._replan and (self._plan_at is None or now < self._plan_at):
            self.measurements.decided = self.context.clock.monotonic()
            return
        state = self.journal.state
        seats = AttemptPlacer(self.context.runners, places(state, self.inputs.config), state.blind)
        if seats.are_all_unreachable:
            self._replan, self._plan_at = True, None
            if not state.pending:
                self.measurements.decided = self.context.clock.monotonic()
            return  # all runners are unreachable: start nothing and stop nothing until one answers
        self._add_all(plan.dropped(state, self.inputs))
        answer = decision_record.decided(
            state, replace(self.inputs, blind=seats.passed_over, rules=RULES), now, seats.of, self._pending
        )
        if answer.events or self.journal.dirty:  # an idle tick writes nothing
            self.journal.add(answer.marker)
        self._add_all(answer.events)
        self.problems.tell("seats", answer.complaints)
        self._replan, self._plan_at = plan.unsettled(state, answer.events), answer.again
        self.measurements.decided = self.context.clock.monotonic()
        if self.chores.due.take("overlooked", OVERLOOKED_S):
            self.measurements.overlooked = self._pending.overlooked(state, now)

    def _add_all(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            self._add(event)

    def _add(self, event: AnyEvent) -> bool:
        self._replan |= not isinstance(event, plan.INDIFFERENT)
        legal = self.journal.add(event)
        self._pending.note(self.journal.state, event)
        if legal and isinstance(event, Submitted):
            self.specs.keep(event.job, event.spec)
        if legal:
            self.own_log.event(event)
        else:
            log.error("this event is not allowed now and was dropped: %s", event)
        return legal

    # Append and act

    def _commit(self) -> None:
        if self.journal.dirty:
            first = self.journal.commit()
            before, self.rows = self.rows, desired(self.journal.state)
            if self.rows != before:
                self.chores.hurry()
            # After a sleep, a successful append alone proves nothing: somebody may have removed the journal meanwhile.
            if self.window.may_act() or self.beacon.look(self.journal.epoch):
                self.window.confirm(first)

    def _act(self) -> None:
        """Begin the tasks that are due. A later tick collects their results."""
        self.show()
        self.chores.begin(TickSummary(rows=self.rows, state=self.journal.state, poll_s=self.poll))
        self.chores.retire(lambda: retirable(self.journal.state, self.last_tick))
        if self.requests.done and self.chores.remove(list(self.requests.done)):
            self.requests.done = {}

    def counts(self) -> dict[str, int]:
        """Count the tasks of open jobs by their state. It is counted again only if the journal has grown."""
        seq = self.journal.state.seq
        if self._counted[0] != seq:
            self._counted = seq, standing(self.journal.state)
        return self._counted[1]

    def show(self) -> None:
        """Write the heartbeat, if it is due."""
        self.chores.show(lambda: self.status(self, "running"))

    def idle_s(self) -> float:
        """Return the seconds until something is due."""
        if self.requests.backlog:
            return 0.0
        wakes = [self.poll, self.chores.next_s()]
        if self._plan_at is not None:
            wakes.append((self._plan_at - self.time.now()).total_seconds())
        return max(0.0, min(wakes))
