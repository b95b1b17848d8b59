"""What must hold whatever happens, checked against the simulated world and not against the bastion's own word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from bastion import layout
from bastion.codec import decode, encode
from bastion.errors import BastionError
from bastion.events import AnyEvent, Ended, Illegal, JournalObject, RequestRejected, Started, unpack
from bastion.fold import fold
from bastion.ports import AttemptKey
from bastion.records import Claim, Facts, Status
from bastion.state import AttemptState, Cause, JobState, State
from quota.resources import Resources, fits, total
from tests.sim.broken import Broken
from tests.sim.control_laws import ControlLaws


@dataclass(slots=True)
class Laws:
    """Watches the store and the fleet. `truth` is the fold of what the journal really holds.

    `asked`: somebody asked to cancel the job; `cancelled`: after its submission had been acknowledged, by the `cancels`.
    """

    pool: Resources
    truth: State = field(default_factory=State)
    digests: list[bytes] = field(default_factory=list)
    claims: dict[tuple[AttemptKey, int], Claim] = field(default_factory=dict)
    begun: set[tuple[AttemptKey, int]] = field(default_factory=set)
    codes: dict[tuple[AttemptKey, int], int] = field(default_factory=dict)
    succeeded: set[tuple[str, int]] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    cancels: set[str] = field(default_factory=set)
    control: ControlLaws = field(default_factory=ControlLaws)
    deposed_at: dict[int, float] = field(default_factory=dict)
    ends: dict[tuple[str, int], JobState] = field(default_factory=dict)
    listener: Callable[[AnyEvent], None] = lambda _: None

    def written(self, verb: str, key: str, data: bytes, now: float) -> None:
        """A write took effect."""
        if key.startswith(layout.JOURNAL):
            self._journal(unpack(data, layout.seq_of(key)))
        elif key == layout.STATUS:
            self._status(decode(data, Status, key), now)
        elif key.startswith(layout.CLAIMS):
            self._claim(key, decode(data, Claim, key))
        elif key.startswith(layout.FACTS):
            self._facts(key, decode(data, Facts, key))

    def _journal(self, record: JournalObject) -> None:
        if record.seq != self.truth.seq:
            raise Broken(f"journal object {record.seq} after {self.truth.seq - 1}: a gap")
        if record.epoch < self.truth.epoch:
            raise Broken(f"journal object {record.seq} of epoch {record.epoch} after epoch {self.truth.epoch}")
        try:
            fold(self.truth, record)
        except BastionError as error:
            raise Broken(f"journal object {record.seq} cannot be folded: {error}") from error
        self.digests.append(digest(self.truth))
        for event in record.events:
            self._event(event)
        self.control.places(record, self.truth)
        self._promises()

    def _status(self, status: Status, now: float) -> None:
        """A bastion is deposed once its successor has said so; before that nobody acts against it."""
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
        if isinstance(event, Ended):
            self._end(event)
        self.control.event(event, self.truth, self.codes)

    def _end(self, event: Ended) -> None:
        """An outcome is true: a kill of ours is never the user's failure, a success was one."""
        task = event.job, event.task
        codes = [code for (key, _), code in self.codes.items() if key == event.key]
        if event.outcome is JobState.FAILED and not any(codes):
            raise Broken(f"{event.key} is said to have failed; its own codes are {codes}")
        if event.outcome is JobState.SUCCEEDED and (not codes or any(codes)):
            raise Broken(f"{event.key} is said to have succeeded; its own codes are {codes}")
        if event.outcome is JobState.CANCELLED and event.job not in self.asked:
            raise Broken(f"{event.key} is said to be cancelled; nobody asked for it")
        if event.outcome is not JobState.PENDING and self.ends.setdefault(task, event.outcome) != event.outcome:
            raise Broken(f"{task} ended as {self.ends[task]} and then as {event.outcome}")

    def _promises(self) -> None:
        held = total(job.demand for _, job, _ in self.truth.live_attempts())
        if not fits(held, self.pool):
            raise Broken(f"the journal promises {held} of {self.pool}")

    def _claim(self, key: str, claim: Claim) -> None:
        named = layout.worker_of(key)
        assert named is not None
        self.claims[named] = claim
        attempt = self.truth.attempt(named[0])
        if claim.void and attempt is not None and attempt.state in (AttemptState.STARTING, AttemptState.RUNNING):
            raise Broken(f"{key} is voided while the journal wants it to run")

    def _facts(self, key: str, facts: Facts) -> None:
        named = layout.worker_of(key)
        assert named is not None
        attempt, (of, _) = self.truth.attempt(named[0]), named
        if facts.cause is Cause.OK and attempt is not None:
            self.codes[named] = 0
            if all(self.codes.get((of, i)) == 0 for i in range(len(attempt.workers))):
                self.succeeded.add((of.job, of.task))

    def exited(self, key: AttemptKey, worker: int, code: int, *, killed: bool) -> None:
        """A process ended; `killed`: not by itself."""
        if code != 0 and not killed:
            self.codes[key, worker] = code

    def starts(self, key: AttemptKey, worker: int, live: Iterable[tuple[AttemptKey, int]]) -> None:
        """A process starts, while those of `live` run."""
        for other, index in live:
            if (other.job, other.task) == (key.job, key.task) and (other != key or index == worker):
                raise Broken(f"{key} worker {worker} starts while {other} worker {index} runs")
        if (key, worker) in self.begun:
            raise Broken(f"{key} worker {worker} runs a second time")
        self.begun.add((key, worker))
        attempt = self.truth.attempt(key)
        claims = [self.claims.get((key, i)) for i in range(len(attempt.workers))] if attempt is not None else []
        if any(claim is None or claim.void for claim in claims):
            raise Broken(f"{key} worker {worker} starts before all of its gang have claimed")
        if (key.job, key.task) in self.succeeded:
            raise Broken(f"{key} runs again after it succeeded")

    def uses(self, live: Mapping[tuple[AttemptKey, int], Resources]) -> None:
        """These processes run, each with what its replica holds."""
        used = total(live.values())
        if not fits(used, self.pool):
            raise Broken(f"running processes use {used} of {self.pool}")

    def calls(self, epoch: int, now: float, what: str) -> None:
        """A bastion of this epoch calls a runner."""
        since = self.deposed_at.get(epoch)
        if since is not None and now - since > 30.5:
            raise Broken(f"{what} by epoch {epoch}, deposed {now - since:.0f} s ago")

    def deletes(self, machine: str, key: AttemptKey, worker: int) -> None:
        """A machine is deleted: never the one that the journal wants to run."""
        attempt, claim = self.truth.attempt(key), self.claims.get((key, worker))
        if attempt is None or attempt.state not in (AttemptState.STARTING, AttemptState.RUNNING):
            return
        if attempt.workers[worker].cause is None and (claim is None or claim.machine == machine):
            raise Broken(f"machine {machine} is deleted while {key} is {attempt.state}")

    def remembers(self, state: State) -> None:
        """What a bastion has in memory, with nothing unwritten, is the fold of the journal up to there."""
        if state.seq > len(self.digests):
            raise Broken(f"memory is at {state.seq}, the journal at {len(self.digests)}")
        if state.seq and digest(state) != self.digests[state.seq - 1]:
            raise Broken(f"memory differs from the fold of the journal below {state.seq}")


def digest(state: State) -> bytes:
    """The state without its clock, which runs on between appends."""
    now, state.now = state.now, None
    data = encode(state)
    state.now = now
    return data
