"""The laws, checked against the simulated world and not against what the bastion reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bastion.journal.fold import fold
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import BastionError
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.state.state import AttemptState, Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    Ended,
    Epoch,
    Illegal,
    RequestRejected,
    RequestsDropped,
    Started,
    Stopping,
)
from bastion.model.stored.journal_object import JournalObject, unpack
from bastion.model.stored.journal_object import digest as link
from bastion.model.stored.records import Claim, ClockNote, Facts
from bastion.model.stored.status import Status
from bastion.quota.resources import Resources, fits, total
from tests.simulation.laws import clock as clock_laws
from tests.simulation.laws import share as share_laws
from tests.simulation.laws.bloat import BloatLaws
from tests.simulation.laws.choice import ChoiceLaws
from tests.simulation.laws.clock import ClockLaws
from tests.simulation.laws.control import ControlLaws
from tests.simulation.laws.fold import FoldLaws
from tests.simulation.laws.gate import GateLaws
from tests.simulation.laws.input import InputLaws
from tests.simulation.laws.kept import KeptLaws
from tests.simulation.laws.rollback import RollbackLaws
from tests.simulation.laws.trust import TrustLaws
from tests.simulation.laws.waiting import WaitingLaws
from tests.simulation.parts.broken import Broken

STOPS_MAX = 10
"""How often a task may be preempted in a world, which lasts less than a day."""

FENCED_S = 31.5
"""How many seconds after a takeover the former leader may still call runners, by a clock that may be slow."""


@dataclass(slots=True)
class Laws:
    """Watches the store and the calls. `truth`: the fold of what the journal really holds. `own`: a small second fold.

    `states`: the states of the tasks of open jobs. `gentle`: no single call fails. `harmed`: machines that a fault met.
    `told_at`: when the journal was last written. `asked`: the jobs that a user asked to cancel. `cancelled`: those of
    them that were asked for after their submission was acknowledged. `cancels`: the requests for these.
    """

    capacity: Resources
    fleet: Mapping[str, Resources] = field(default_factory=dict)
    gentle: bool = False
    harmed: set[str] = field(default_factory=set)
    inputs: InputLaws = field(default_factory=InputLaws)
    stops: Counter[tuple[str, int]] = field(default_factory=Counter)
    lost: set[tuple[str, int]] = field(default_factory=set)
    dropped: Counter[str] = field(default_factory=Counter)
    starts_of: Counter[str] = field(default_factory=Counter)
    grown: bool = True
    states: set[JobState] = field(default_factory=set)
    told_at: float = 0.0
    truth: State = field(default_factory=State)
    digests: list[bytes] = field(default_factory=list)
    claims: dict[tuple[AttemptKey, int], Claim] = field(default_factory=dict)
    begun: set[tuple[AttemptKey, int]] = field(default_factory=set)
    codes: dict[tuple[AttemptKey, int], int] = field(default_factory=dict)
    exits: dict[tuple[AttemptKey, int], int] = field(default_factory=dict)
    succeeded: set[tuple[str, int]] = field(default_factory=set)
    unread: set[tuple[AttemptKey, int]] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    cancels: set[str] = field(default_factory=set)
    own: FoldLaws = field(default_factory=FoldLaws)
    control: ControlLaws = field(default_factory=ControlLaws)
    gates: GateLaws = field(default_factory=GateLaws)
    trust: TrustLaws = field(default_factory=TrustLaws)
    bloat: BloatLaws | None = None
    rollback: RollbackLaws = field(default_factory=RollbackLaws)
    choices: ChoiceLaws = field(init=False)
    kept: KeptLaws = field(init=False)
    waiting: WaitingLaws = field(init=False)
    deposed_at: dict[int, float] = field(default_factory=dict)
    shown: int = 0
    said: set[int] = field(default_factory=set)
    heard_at: dict[int, float] = field(default_factory=dict)
    clocks: ClockLaws = field(default_factory=ClockLaws)
    epochs: set[int] = field(default_factory=set)
    ends: dict[tuple[str, int], JobState] = field(default_factory=dict)
    alive: Callable[[str], bool] | None = None
    listener: Callable[[AnyEvent], None] = lambda _: None

    def __post_init__(self) -> None:
        self.choices = ChoiceLaws(self.gates.wishes)
        self.kept = KeptLaws(self.fleet, lambda key: self.choices.shape(key).demand)
        self.waiting = WaitingLaws(self.fleet, lambda key: self.choices.shape(key).demand)

    def written(self, verb: str, key: str, data: bytes, now: float) -> None:
        """Check a write that took effect."""
        if verb != "delete" and key.startswith(layout.JOURNAL):
            self.rollback.written(key, data, unpack(data, layout.seq_of(key)).events, now)
        if verb == "create" and key.startswith(layout.ATTEMPTS):
            self.rollback.orders(key)
        if verb == "tear" or self.rollback.lost:
            return
        if verb == "delete":
            self._deleted(key)
            self.grown = True
        elif key.startswith(layout.JOURNAL):
            self._journal(unpack(data, layout.seq_of(key)), link(data), now)
        elif key == layout.STATUS:
            self._status(decode(data, Status, key), now)
        elif key == layout.CLOCK:
            self.clocks.asks(decode(data, ClockNote, key), now)
        elif key.startswith(layout.ATTEMPTS):
            self._paper(key)
        elif key.startswith(layout.CLAIMS):
            self._claim(key, decode(data, Claim, key), by_hand=verb == "write")
        elif key.startswith(layout.FACTS):
            facts = decode(data, Facts, key)
            clock_laws.told(key, facts, now)
            self._facts(key, facts)

    def torn(self, key: str) -> None:
        """Note that a fault damaged an object: what only this object held is lost."""
        if key == layout.STATUS:
            self.shown = 0
        named = layout.worker_of(key) if key.startswith(layout.FACTS) else None
        attempt = self.truth.attempt(named[0]) if named else None
        if named and (attempt is None or attempt.workers[named[1]].cause is None):
            self.succeeded.discard((named[0].job, named[0].task))
            self.unread.add(named)

    def _deleted(self, key: str) -> None:
        """Check a delete.

        No journal object is deleted, and a request only when the journal holds its effect, or that it has none.
        """
        if key.startswith(layout.JOURNAL):
            raise Broken(f"{key} was deleted")
        if key.startswith(layout.INBOX) and (name := layout.request_name(key)) not in self.truth.requests:
            user = next(filter(self.dropped.__getitem__, (name.partition("/")[0], *self.inputs.authors(key))), None)
            if user is None:
                raise Broken(f"{key} was deleted, and the journal does not know it")
            self.dropped[user] -= 1

    def _journal(self, record: JournalObject, head: str, now: float) -> None:
        if record.seq != self.truth.seq:
            raise Broken(f"journal object {record.seq} after {self.truth.seq - 1}: a gap")
        if record.epoch < self.truth.epoch:
            raise Broken(f"journal object {record.seq} of epoch {record.epoch} after epoch {self.truth.epoch}")
        if self.truth.now is not None and record.now < self.truth.now:
            raise Broken(f"the journal's time goes back, from {self.truth.now} to {record.now}")
        try:
            fold(self.truth, record, head)
        except BastionError as error:
            raise Broken(f"journal object {record.seq} cannot be folded: {error}") from error
        self.digests.append(digest(self.truth))
        self.states = {state for job in self.truth.jobs.values() if not job.ended for state in job.counts}
        self.heard_at[record.epoch] = self.told_at = now
        self.grown = True
        for event in record.events:
            self._event(event)
        self.own.written(record, self.truth)
        self.control.places(record, self.truth)
        if self.bloat is not None:
            self.bloat.written(record)
        self.gates.written(record, self.truth)
        self.clocks.written(record, self.gates.wishes, now)
        self.choices.written(self.truth, self.capacity)
        self.kept.written(record, self.truth)
        self.waiting.written(record, self.truth)
        share_laws.written(record, self.truth)

    def _status(self, status: Status, now: float) -> None:
        """Note a heartbeat: from the first one of a larger epoch on, all smaller epochs are former leaders."""
        if status.epoch < self.shown:
            raise Broken(f"the status is of epoch {status.epoch}, after one of epoch {self.shown}")
        self.shown = status.epoch
        if self.bloat is not None:
            self.bloat.texts(layout.STATUS, status.problems)
        self.said.add(status.epoch)
        self.heard_at[status.epoch] = now
        for epoch in range(status.epoch):
            self.deposed_at.setdefault(epoch, now)

    def _event(self, event: AnyEvent) -> None:
        self.listener(event)
        if isinstance(event, Illegal):
            raise Broken(f"an illegal move was tried: {event.what}")
        if isinstance(event, Started) and (event.job, event.task) in self.succeeded:
            raise Broken(f"{event.key} is started after a success")
        if isinstance(event, RequestRejected) and event.request in self.cancels:
            raise Broken(f"the request to cancel {event.job} was rejected: {event.reason}")
        if isinstance(event, Epoch):
            if event.epoch in self.epochs:
                raise Broken(f"epoch {event.epoch} begins a second time")
            self.epochs.add(event.epoch)
        if isinstance(event, Started):
            self.starts_of[self.truth.jobs[event.job].project] += 1
        if isinstance(event, RequestsDropped):
            self.dropped[event.user] += event.count
        if isinstance(event, Stopping):
            self._stopping(event)
        if isinstance(event, Ended):
            self._end(event)
        self.inputs.event(event, self.truth)
        share_laws.event(event, self.truth)
        self.trust.event(event)
        self.gates.event(event, self.truth, replaces=self.control.owed is not None)
        self.control.event(event, self.truth, self.codes)
        self.choices.event(event)

    def _stopping(self, event: Stopping) -> None:
        """Check that no task is preempted again and again, and that none counts as lost because of a silent store."""
        task = event.job, event.task
        if event.cause is Cause.PREEMPTED:
            self.stops[task] += 1
            if self.stops[task] > STOPS_MAX:
                raise Broken(f"{event.key} is stopped for others, as its task was {STOPS_MAX} times before")
        attempt = self.truth.attempt(event.key)
        if event.cause is Cause.LOST and attempt is not None and self.gentle and self.alive is not None:
            machines = [worker.machine for worker in attempt.workers]
            if all(name not in self.harmed and self.alive(name) for name in machines):
                raise Broken(f"{event.key} counts as lost ({event.reason}), and nothing befell its machines")

    def _end(self, event: Ended) -> None:
        """Check that an outcome is true: a kill by Bastion is never the user's failure, and a success was one."""
        task = event.job, event.task
        if event.cause in (Cause.LOST, Cause.VOID):
            self.lost.add(task)
        codes = [code for (key, _), code in self.codes.items() if key == event.key]
        if event.outcome is JobState.FAILED and event.cause is not Cause.STRAGGLED and not any(codes):
            raise Broken(f"{event.key} is said to have failed; its own codes are {codes}")
        if event.outcome is JobState.SUCCEEDED and (not codes or any(codes)):
            raise Broken(f"{event.key} is said to have succeeded; its own codes are {codes}")
        if event.outcome is JobState.CANCELLED and event.job not in self.asked:
            raise Broken(f"{event.key} is said to be cancelled; nobody asked for it")
        if event.outcome is not JobState.PENDING and self.ends.setdefault(task, event.outcome) != event.outcome:
            raise Broken(f"{task} ended as {self.ends[task]} and then as {event.outcome}")

    def _paper(self, key: str) -> None:
        """Check that an order belongs to an attempt that the journal started, and a stop to one that it stops."""
        job, task, number, what = key.removeprefix(layout.ATTEMPTS).split("/")
        attempt = self.truth.attempt(AttemptKey(job, int(task), int(number)))
        stopped = attempt is not None and attempt.state in (AttemptState.STOPPING, AttemptState.ENDED)
        if attempt is None or (key.endswith("/stop.json") and not stopped):
            raise Broken(f"the {what} of {job}/{task}/{number} is written before the journal says so")

    def _claim(self, key: str, claim: Claim, *, by_hand: bool) -> None:
        """Check that only an operator voids a claim of an attempt that is to run, and ends its process first."""
        named = layout.worker_of(key)
        assert named is not None
        if not by_hand:
            self.claims[named] = claim
        attempt = self.truth.attempt(named[0])
        if (
            claim.void
            and not by_hand
            and attempt is not None
            and attempt.state in (AttemptState.STARTING, AttemptState.RUNNING)
        ):
            raise Broken(f"{key} is voided while the journal wants it to run")

    def _facts(self, key: str, facts: Facts) -> None:
        named = layout.worker_of(key)
        assert named is not None
        attempt, (of, _) = self.truth.attempt(named[0]), named
        if facts.cause is Cause.OK and self.exits.get(named) != 0:
            raise Broken(f"{key} tells of a success; its process ended with {self.exits.get(named)}")
        if facts.cause is not Cause.OK or attempt is None or attempt.state is AttemptState.ENDED:
            return  # no success, or one that comes too late
        self.codes[named] = 0
        self.unread.discard(named)
        late = self.alive is not None and not self.alive(facts.machine)
        # Sent before its machine fell, this may be read in time or not: the last reading may have begun before.
        gang = [(of, i) for i in range(len(attempt.workers))]
        if not late and all(self.codes.get(each) == 0 and each not in self.unread for each in gang):
            self.succeeded.add((of.job, of.task))

    def exited(self, key: AttemptKey, worker: int, code: int, *, killed: bool) -> None:
        """Note that a process ended. `killed`: not by itself."""
        self.exits[key, worker] = code
        if code != 0 and not killed:
            self.codes[key, worker] = code

    def starts(self, key: AttemptKey, worker: int, live: Iterable[tuple[AttemptKey, int]]) -> None:
        """Check the start of a process while those of `live` run."""
        if (key, worker) in self.begun:
            raise Broken(f"{key} worker {worker} runs a second time")
        self.begun.add((key, worker))
        if self.rollback.lost:
            return
        for other, index in live:
            if (other.job, other.task) == (key.job, key.task) and (other != key or index == worker):
                raise Broken(f"{key} worker {worker} starts while {other} worker {index} runs")
        attempt = self.truth.attempt(key)
        claims = [self.claims.get((key, i)) for i in range(len(attempt.workers))] if attempt is not None else []
        if any(claim is None or claim.void for claim in claims):
            raise Broken(f"{key} worker {worker} starts before all of its gang have claimed")
        if (key.job, key.task) in self.succeeded:
            raise Broken(f"{key} runs again after it succeeded")

    def uses(self, live: Mapping[tuple[AttemptKey, int], Resources]) -> None:
        """Check the resources of the running processes, each with what its replica holds."""
        used = total(live.values())
        if not self.rollback.lost and not fits(used, self.capacity):
            raise Broken(f"running processes use {used} of {self.capacity}")

    def calls(self, epoch: int, now: float, what: str) -> None:
        """Check that a bastion of this epoch may call a runner."""
        self.rollback.acts(what, epoch, now)
        if self.rollback.lost:
            return
        since = self.deposed_at.get(epoch)
        if since is not None and now - since > FENCED_S:
            raise Broken(f"{what} by epoch {epoch}, deposed {now - since:.0f} s ago")
        if epoch not in self.said:
            raise Broken(f"{what} by epoch {epoch}, which has not said that it took over")
        if now - self.heard_at[epoch] > FENCED_S:
            raise Broken(f"{what} by epoch {epoch}, which could write nothing for {now - self.heard_at[epoch]:.0f} s")

    def creates(self, placement: Placement, epoch: int, *, ordered: bool) -> None:
        """Check that machines are created only for an attempt that the journal started, with the caller's epoch."""
        if self.rollback.lost:
            return
        if self.truth.attempt(placement.key) is None or not ordered:
            raise Broken(f"{placement.key} is created before the {'journal' if ordered else 'order'} says so")
        if placement.epoch != epoch:
            raise Broken(f"{placement.key} is created by epoch {epoch} in the name of epoch {placement.epoch}")
        self.choices.creates(placement)

    def deletes(self, machine: str, key: AttemptKey, worker: int) -> None:
        """Check that the deleted machine is not one that the journal wants to run."""
        attempt, claim = self.truth.attempt(key), self.claims.get((key, worker))
        if self.rollback.lost or attempt is None or attempt.state not in (AttemptState.STARTING, AttemptState.RUNNING):
            return
        if attempt.workers[worker].cause is None and (claim is None or claim.machine == machine):
            raise Broken(f"machine {machine} is deleted while {key} is {attempt.state}")

    def remembers(self, state: State) -> None:
        """Check that a bastion's memory, without unwritten events, is the fold of the journal up to its number."""
        if self.rollback.lost:
            return
        if state.seq > len(self.digests):
            raise Broken(f"memory is at {state.seq}, the journal at {len(self.digests)}")
        if state.seq and digest(state) != self.digests[state.seq - 1]:
            raise Broken(f"memory differs from the fold of the journal below {state.seq}")


def digest(state: State) -> bytes:
    """Encode the state without its clock, which goes on between appends."""
    now, state.now = state.now, None
    data = encode(state)
    state.now = now
    return data
