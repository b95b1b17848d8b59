"""A bastion with computed clock, fleet and users. Its events, decisions and state are real. Pure but for itself.

Its turns work as `bastion.service.tick` does: what happened becomes events, ends are settled, the policy is asked, and
all of it is one journal object. There is a turn only when something happens. Machines come and go at once: only work
takes time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from bastion.quota.demand import Start

from ..journal.fold import apply
from ..model.errors import BastionError
from ..model.job.start_conditions import conditions
from ..model.state.state import Cause, Job, State
from ..model.stored.events import AnyEvent, Claimed, Exited, Forgotten, Gone, Saved, Stopping, Submitted
from ..model.stored.journal_object import JournalObject
from ..schedule import plan
from ..schedule.decision_record import Seat, decided
from ..schedule.lifecycle import settle_one
from ..schedule.pending import PendingJobs
from ..schedule.plan import DecisionInputs
from .virtual_fleet import VirtualFleet
from .workload import Arrival, WorkPace

RUNNER = "local"
TURNS_MAX = 1_000
"""More turns than this at one moment never end.

If as many turns find only pending jobs, these jobs wait for ever, and the run ends.
"""


class Simulation:
    """A simulation of one bastion, from its first job to its last."""

    def __init__(
        self, opening: Iterable[AnyEvent], inputs: DecisionInputs, arrivals: Sequence[Arrival], pace: WorkPace
    ) -> None:
        """Set up a run.

        `opening` are the events of files and capacity that `inputs` were made from. `arrivals` are in the order of
        their time.
        """
        self._began = arrivals[0].at
        self.state = State(now=self._began)
        self.decisions = 0
        self._inputs, self._arrivals, self._fleet = inputs, arrivals, VirtualFleet(pace)
        self._every_s, self._tick = pace.checkpoint.total_seconds(), pace.tick
        self._come = 0
        self._named = {wanted.job for arrival in arrivals for wanted in conditions(arrival.spec.after)}
        self._pending = PendingJobs()
        self._replan = False
        self._again: datetime | None = None
        self._events: list[AnyEvent] = []
        for event in opening:
            self._add(event)

    def run(self) -> Iterator[JournalObject]:
        """Yield the journal object of every turn, after the state has taken it.

        Raises `BastionError` if the policy comes to no end.
        """
        before, turns = None, 0
        while (now := self._next()) is not None and (turns < TURNS_MAX or now == before):
            turns = turns + 1 if now == before or self._is_over() else 0
            if turns > TURNS_MAX:
                raise BastionError(
                    f"the policy {self._inputs.config.policy} does not come to an end at {now}; report this"
                )
            before = now
            yield self._turn(now)

    def _is_over(self) -> bool:
        """Return True if nothing runs and no more jobs arrive. Then only the policy may still want to be asked."""
        return self._come == len(self._arrivals) and not self.state.live

    def _next(self) -> datetime | None:
        """Return the next moment at which something happens."""
        now = self.state.now
        assert now is not None
        arrival = self._arrivals[self._come].at if self._come < len(self._arrivals) else None
        return min((at for at in (self._fleet.next(now), arrival, self._decides()) if at), default=None)

    def _decides(self) -> datetime | None:
        """Return when the policy is asked next: at the first tick after a change, or when it asked for it."""
        at = self.state.now if self._replan else self._again
        if at is None or not self._tick:
            return at
        late = (at - self._began) % self._tick
        return at + self._tick - late if late else at

    def _turn(self, now: datetime) -> JournalObject:
        self.state.now = now
        self._collect(now)
        self._hear(now)
        self._admit(now)
        decides = self._decides()
        if decides is not None and decides <= now:
            self._schedule(now)
        record = JournalObject(seq=self.state.seq, epoch=0, nonce="", now=now, events=self._events)
        self._events = []
        self.state.seq += 1
        return record

    def _collect(self, now: datetime) -> None:
        """Take in attempts that are over, and forget jobs that have ended, unless other jobs may depend on them."""
        ended = []
        for key, done in self._fleet.over(now):
            if done:
                self._add(
                    Exited(job=key.job, task=key.task, attempt=key.attempt, worker=0, cause=Cause.OK, exit_code=0)
                )
            self._add(Gone(job=key.job, task=key.task, attempt=key.attempt, worker=0))
            job = self.state.jobs[key.job]
            for event in settle_one(self.state, key, job, job.tasks[key.task].attempts[-1], now):
                self._add(event)
            if job.ended and job.id not in self._named:
                ended.append(job)
        if ended:
            self._add(Forgotten(jobs=[job.id for job in ended], requests=[job.request for job in ended]))

    def _hear(self, now: datetime) -> None:
        """Record the first checkpoint of each attempt; the later ones are then expected.

        A checkpoint alone causes no turn.
        """
        for key, at in self._fleet.saved(now):
            self._add(Saved(job=key.job, task=key.task, attempt=key.attempt, at=at, every_s=self._every_s))

    def _admit(self, now: datetime) -> None:
        while self._come < len(self._arrivals) and self._arrivals[self._come].at <= now:
            arrival = self._arrivals[self._come]
            self._come += 1
            self._fleet.expect(arrival)
            self._add(Submitted(request=arrival.job, job=arrival.job, spec=arrival.spec))

    def _schedule(self, now: datetime) -> None:
        for dropped in plan.dropped(self.state, self._inputs):
            self._add(dropped)
        answer = decided(self.state, self._inputs, now, _seat, self._pending)
        self.decisions += 1
        self._add(answer.marker)
        for event in answer.events:
            self._add(event)
            if isinstance(event, Stopping):
                self._fleet.stop(event.key, now)
            else:
                self._add(Claimed(job=event.job, task=event.task, attempt=event.attempt, worker=0, machine="virtual"))
                self._fleet.begin(event.key, now)
        self._replan, self._again = False, answer.again

    def _add(self, event: AnyEvent) -> None:
        apply(self.state, event, self.state.seq, len(self._events))
        self._pending.note(self.state, event)
        self._events.append(event)
        self._replan |= not isinstance(event, plan.INDIFFERENT)


def _seat(_job: Job, _start: Start) -> Seat:
    """Return the runner and one host for every start.

    Attempts start and stop whole and at once, so the number of hosts makes no difference.
    """
    return RUNNER, 1
