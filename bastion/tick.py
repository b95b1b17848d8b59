"""One turn of the bastion: read, decide, append, act. It may fall at any line: memory is only a cache of the journal."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bastion import decide, files, inbox, layout, observe, plan
from bastion.beats import Watch
from bastion.books import standing
from bastion.chores import Chores, Doors, Seen
from bastion.desired import Desired, desired
from bastion.errors import BucketError, Deposed, RunnerError
from bastion.events import AnyEvent, Forgotten, Submitted
from bastion.heartbeat import Ear, Heard
from bastion.journal import Journal
from bastion.own_log import OwnLog
from bastion.ports import AttemptKey, Runner
from bastion.reconcile import Reconciler
from bastion.records import BEAT_S, Status
from bastion.retire import retirable
from bastion.specs import Specs
from bastion.standing import Beacon, Fence, Time
from bastion.state import AttemptState
from bastion.troubles import Troubles

FORGET_S = 60.0
RETIRE_S = 3600.0

log = logging.getLogger("bastion")


@dataclass(slots=True, kw_only=True)
class Bastion:
    """The scheduler between two appends."""

    doors: Doors
    journal: Journal
    time: Time
    fence: Fence
    beacon: Beacon
    own_log: OwnLog
    status: Callable[[Bastion, str], Status]
    poll_s: float | None = None
    specs: Specs = field(init=False)
    inputs: plan.Inputs = field(init=False)
    rows: tuple[Desired, ...] = ()
    ticks: int = 0
    last_tick: datetime = field(init=False)
    backlog: bool = False
    troubles: Troubles = field(default_factory=Troubles)
    chores: Chores = field(init=False)
    _watch: Watch = field(default_factory=Watch)
    _done: dict[str, None] = field(default_factory=dict)
    _waiting: dict[str, inbox.Letter] = field(default_factory=dict)
    _counted: tuple[int, dict[str, int]] = (-1, {})
    _replan: bool = True
    _files_at: float = float("-inf")
    _plan_at: datetime | None = None

    def __post_init__(self) -> None:
        doors, state = self.doors, self.journal.state
        self.specs = Specs(doors.bucket)
        self.inputs = plan.inputs(state)
        self.rows = desired(state)
        self.last_tick = self.time.now()
        self.chores = Chores(
            doors=doors,
            beacon=self.beacon,
            own_log=self.own_log,
            ear=Ear(doors.bucket, doors.clock, lambda: self.rows, doors.tasks.map),
            reconcilers=[self._reconciler(runner) for runner in doors.runners.values()],
        )

    def _reconciler(self, runner: Runner) -> Reconciler:
        return Reconciler(
            runner=runner,
            bucket=self.doors.bucket,
            clock=self.doors.clock,
            ids=self.doors.ids,
            fence=self.fence,
            specs=self.specs,
            epoch=self.journal.epoch,
            desired=lambda: self.rows,
            now=self.time.now,
            at_once=self.doors.tasks.map,
        )

    @property
    def poll(self) -> float:
        """Seconds between two looks into the inbox."""
        return self.poll_s if self.poll_s is not None else self.inputs.config.poll

    def tick(self) -> None:
        """Read, decide, append, act. Raises `Deposed` when another bastion has taken over."""
        now = self.time.now()
        self.journal.begin(now)
        self._collect(now)
        if self.backlog or self.chores.agenda.take("inbox", self.poll):
            self._read_inbox(now)
        self._settle(now)
        self._schedule(now)
        self._commit()
        self.ticks += 1
        self.last_tick = now
        self._act()

    def close(self) -> None:
        """Say that this bastion stopped; what runs goes on."""
        self._commit()
        self._last("log", self.own_log.send)
        stopped = self.status(self, "stopped")
        self._last("status", lambda: self.beacon.swap(stopped))

    def _last(self, name: str, work: Callable[[], object]) -> None:
        """Do this as the task of its name, after one that may be under way. Raises `Deposed`."""
        begun = ended = False
        while not ended:
            begun = begun or self.doors.tasks.start(name, work)
            self.doors.tasks.wait(1.0)
            for other, _, error in self.doors.tasks.finished():
                if isinstance(error, Deposed):
                    raise error
                ended = ended or (begun and other == name)

    # Read

    def _collect(self, now: datetime) -> None:
        """Take in what the tasks brought back."""
        for name, result, error in self.doors.tasks.finished():
            if isinstance(error, Deposed):
                raise error
            if error is not None:
                self.troubles.say(name, error if isinstance(error, (BucketError, RunnerError)) else repr(error))
                continue
            self.troubles.clear_of(name)
            self._take(name, result, now)

    def _take(self, name: str, result: Any, now: datetime) -> None:
        if name.startswith("runner "):
            self.troubles.tell(f"seen by {name}", [seen.what for seen in result if isinstance(seen, observe.Trouble)])
            self._note(result, now)
        elif name == "heartbeat":
            self._hear(result, now)
        elif name == "retire":
            for start in range(0, len(result), decide.FORGET_AT_ONCE):
                self._add(Forgotten(jobs=list(result[start : start + decide.FORGET_AT_ONCE])))
        elif name == "files":
            self.heed(result)

    def heed(self, reading: files.Reading) -> None:
        """Put the admin's files in force, unless a later look was faster."""
        if reading.at < self._files_at:
            return
        self._files_at = reading.at
        for read in reading.files:
            for event in files.note(self.journal.state, read):
                self._add(event)
                self.inputs = plan.inputs(self.journal.state)

    def _hear(self, heard: Heard, now: datetime) -> None:
        live = [
            (key, i)
            for key, _, attempt in self.journal.state.live_attempts()
            for i, worker in enumerate(attempt.workers)
            if worker.seen and not worker.over and worker.cause is None
        ]
        # Only what is known to have ended: what we do not know may be a successor's, and alive.
        self._done |= {key: None for key, named in heard.keys.items() if self._has_ended(named[0])}
        if self.fence.age_s() > BEAT_S:  # a store that takes no word of ours takes no beat either: begin to listen anew
            self._watch = Watch()
        self._note([*heard.facts, *self._watch.judge(live, heard.beats, heard.at)], now)

    def _has_ended(self, key: AttemptKey) -> bool:
        attempt = self.journal.state.attempt(key)
        return attempt is not None and attempt.state is AttemptState.ENDED

    def _note(self, sightings: Iterable[observe.Sighting], now: datetime) -> None:
        for seen in sightings:
            for event in observe.note(self.journal.state, seen, now):
                self._add(event)

    def _read_inbox(self, now: datetime) -> None:
        self.backlog = False  # unless the store answers: nobody hurries a store that is away
        try:
            mail = inbox.sort(self.journal.state, self.doors.bucket.list(layout.INBOX), self._waiting)
        except BucketError as error:
            self.troubles.say("inbox", error)
            return
        found = self.doors.tasks.map(lambda stat: inbox.read(self.doors.bucket, stat), mail.read)
        read = inbox.in_order(mail, found)
        failed = read.failed
        self.troubles.tell("inbox", [f"{len(failed)} requests cannot be read: {error}" for error in failed[:1]])
        if (read.now or read.later) and not self._read_files():
            return
        self._judge(read, all_read=not mail.later and not failed)
        self._done |= dict.fromkeys(mail.known)
        self.backlog = mail.later > 0 and len(failed) < len(found)
        if self.chores.agenda.take("forget", FORGET_S):
            for forgotten in list(decide.forget(self.journal.state, mail.names, now)):
                self._add(forgotten)

    def _read_files(self) -> bool:
        """Requests are judged by files that are no older: who sets a quota and then submits meets the new one."""
        try:
            self.heed(files.read(self.doors.bucket, self.doors.clock))
        except BucketError as error:
            self.troubles.say("files", error)
            return False
        return True

    def _judge(self, read: inbox.Read, *, all_read: bool) -> None:
        """Requests become events; what has to wait is not read again."""
        self._waiting = {letter.key: letter for letter in read.later}
        for letter in read.now:
            event = inbox.judge(self.journal.state, letter, self.inputs, all_read=all_read)
            if event is None:
                self._waiting[letter.key] = letter
            elif self._add(event):
                self._done[letter.key] = None

    # Decide

    def _settle(self, now: datetime) -> None:
        for event in list(decide.settle(self.journal.state, now)):
            self._add(event)

    def _schedule(self, now: datetime) -> None:
        """Ask the policy, if anything changed or time alone may change its answer."""
        if not self._replan and (self._plan_at is None or now < self._plan_at):
            return
        state = self.journal.state
        runner = self.inputs.config.runner
        if runner not in self.doors.runners or f"runner {runner}" in self.troubles:
            self._replan, self._plan_at = True, None
            return  # blind: start nothing, stop nothing, until it has answered
        for dropped in plan.dropped(state, self.inputs):
            self._add(dropped)
        answer = plan.plan(state, self.inputs, now)
        starting = {start.job: state.jobs[start.job] for start in answer.schedule.starts}
        hosts = self.doors.runners[runner]
        workers = {name: hosts.workers(job.resources, job.replicas) for name, job in starting.items()}
        for stop in plan.stops(state, answer.schedule, now):
            self._add(stop)
        for started in plan.starts(state, answer.schedule, workers, runner, now):
            self._add(started)
        self._replan, self._plan_at = False, answer.again

    def _add(self, event: AnyEvent) -> bool:
        self._replan |= not isinstance(event, plan.INDIFFERENT)
        legal = self.journal.add(event)
        if legal and isinstance(event, Submitted):
            self.specs.keep(event.job, event.spec)
        if legal:
            self.own_log.event(event)
        else:
            log.error("refused by the table of moves: %s", event)
        return legal

    # Append and act

    def _commit(self) -> None:
        if self.journal.dirty:
            self.fence.confirm(self.journal.commit())
            before, self.rows = self.rows, desired(self.journal.state)
            if self.rows != before:
                self.chores.hurry()

    def _act(self) -> None:
        """Begin the tasks that are due; what they bring back is collected by a later tick."""
        self.show()
        self.chores.begin(Seen(rows=self.rows, seq=self.journal.state.seq, poll_s=self.poll))
        if self.chores.agenda.take("retire", RETIRE_S):
            self.chores.retire(retirable(self.journal.state, self.last_tick))
        if self._done and self.chores.remove(list(self._done)):
            self._done = {}

    def counts(self) -> dict[str, int]:
        """How many tasks of open jobs stand where; counted anew only if the journal has grown."""
        seq = self.journal.state.seq
        if self._counted[0] != seq:
            self._counted = seq, standing(self.journal.state)
        return self._counted[1]

    def show(self) -> None:
        """Give the sign of life, if it is due."""
        self.chores.show(lambda: self.status(self, "running"))

    def idle_s(self) -> float:
        """Seconds until something is due."""
        if self.backlog:
            return 0.0
        wakes = [self.poll, self.chores.next_s()]
        if self._plan_at is not None:
            wakes.append((self._plan_at - self.time.now()).total_seconds())
        return max(0.0, min(wakes))
