"""Compare desired with observed machines, create those that are missing, and delete those that should not be.

What cannot be known is left alone. The reconciler runs beside the tick, one turn at a time for each runner. A restart
after a crash is just another turn. A runner gets only what the bucket already holds: orders and stop orders are written
first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec

from ..journal.leadership import LeaderWindow
from ..model import layout
from ..model.codec import decode, encode
from ..model.errors import (
    BucketError,
    LeadershipLost,
    NewerVersion,
    NotReady,
    ObjectNotFound,
    RecordError,
    RunnerError,
    TooLarge,
)
from ..model.interfaces import AttemptKey, Bucket, Clock, Ids, Machine, MachineExistence, Runner
from ..model.state.state import AttemptState
from ..model.stored.records import RECORD_BYTES_MAX, AnyClaim, Claim, Facts
from ..schedule.desired import Desired, order, peers, stop_order
from ..stores.create_once import create_once
from .observations import CapacityRead, ClaimRead, FactsRead, MachinesAwaited, Sighting, Stray, UnreadableObject
from .spec_cache import SpecCache

ASK_S = 60.0
"""Seconds until a creation is requested again, and the longest time between two looks for a claim."""

STRAY_S = 30.0
"""Seconds for which a machine of an unknown attempt is left alone.

A bastion that has just lost leadership may act for as long.
"""

WorkerKey = tuple[AttemptKey, int]
Listed = dict[WorkerKey, list[str]]
"""The machines of each worker, by the backend's own ids."""

OVERTIME = timedelta(seconds=10)
"""Time from the deadline of a stop until the machine is deleted, answered or not."""


T = TypeVar("T")

log = logging.getLogger("bastion")


@dataclass(slots=True)
class Reconciler:
    """The turns of one runner, and what they remember.

    It remembers things only to save requests: all calls are idempotent, and after a restart it begins with nothing.

    runner: the runner of these turns.
    bucket: the bucket of the bastion.
    clock: the monotonic clock.
    ids: source of nonces for void claims.
    window: says whether runners may be called now.
    specs: cache of the specs that orders are made of.
    epoch: the epoch of this bastion.
    desired: returns the desired attempts of all runners.
    now: the time that decisions use.
    at_once: maps a function over items concurrently; an exception takes the place of its result.
    verify: checks `status.json`; True if no later epoch is there, False if unknown. Raises `LeadershipLost`.
    asked: monotonic time at which the machines of each attempt were last requested.
    images: the pinned image of each attempt's order.
    written: keys of objects that are known to be in the bucket.
    poked: machines that were asked to stop.
    looked: monotonic times of the first and the last look for a worker's claim.
    refused: errors of runner calls since the last turn.
    strays: monotonic time since when each machine of an unknown attempt has been listed.
    refuted: machines that claim a later epoch that does not exist.
    verified: monotonic time of the last call of `verify`.
    """

    runner: Runner
    bucket: Bucket
    clock: Clock
    ids: Ids
    window: LeaderWindow
    specs: SpecCache
    epoch: int
    desired: Callable[[], tuple[Desired, ...]]
    now: Callable[[], datetime]
    at_once: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
    verify: Callable[[], bool]
    asked: dict[AttemptKey, float] = field(default_factory=dict)
    images: dict[AttemptKey, str] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)
    poked: set[str] = field(default_factory=set)
    looked: dict[WorkerKey, tuple[float, float]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    strays: dict[str, float] = field(default_factory=dict)
    refuted: set[str] = field(default_factory=set)
    verified: float = float("-inf")

    def turn(self) -> list[Sighting]:
        """Make one pass and return what was observed.

        Raises `RunnerError` if the runner is unreachable, `LeadershipLost` if a machine is of a later epoch that really
        exists.
        """
        shown = self.runner.list()
        # Read after the listing has answered: each machine in it was requested by one of the rows that are read here.
        rows = {row.key: row for row in self.desired() if row.runner == self.runner.name}
        self._verify(shown)
        machines = [machine for machine in shown if machine.ours or _is_claimed(machine, rows)]
        self._remember_only(rows)
        seen: list[Sighting] = [ask_capacity(self.runner)]
        listed, waiting = _by_worker(machines), self.runner.waiting()
        for told in self.at_once(lambda row: self._paper(row, listed, waiting), list(rows.values())):
            seen += _unless_blind(told)
        for row in rows.values():
            self._machines(row, listed)
        for told in self.at_once(
            self._look, [(row, i, listed) for row in rows.values() for i in _unlisted(row, listed)]
        ):
            seen += _unless_blind(told)
        self._sweep(machines, rows)
        seen += _awaited(rows, self.runner.waiting())
        refused, self.refused = self.refused, []
        return seen + [UnreadableObject(what) for what in refused] + list(self._strays(shown, machines))

    def _verify(self, shown: Iterable[Machine]) -> None:
        """Check later epochs in a listing against `status.json`. Raises `LeadershipLost` if one of them is true.

        A listing alone deposes no bastion. One check serves all new claims, and there is at most one in `STRAY_S`: a
        bastion may act for as long without a write of its own.
        """
        larger = {machine.id for machine in shown if machine.epoch > self.epoch}
        self.refuted &= larger
        now = self.clock.monotonic()
        if larger - self.refuted and now - self.verified >= STRAY_S:
            self.verified = now
            self.refuted |= larger if self.verify() else set()

    def _strays(self, shown: Sequence[Machine], machines: Sequence[Machine]) -> Iterator[Stray]:
        """List the machines that are not believed."""
        ours = {machine.id for machine in machines}
        for machine in shown:
            said = (
                f"{machine.origin or f'machine {machine.id}'} has the name of worker {machine.worker} of {machine.key}"
            )
            if machine.id not in ours:
                yield Stray(
                    f"{said}, but this bastion did not create it: it is left alone; end it where it was created"
                )
            elif machine.id in self.refuted:
                told = f"{said} and epoch {machine.epoch}, which neither {layout.STATUS} nor the journal has"
                yield Stray(f"{told}: it is ended unless the job needs it")

    def _remember_only(self, rows: dict[AttemptKey, Desired]) -> None:
        self.asked = {key: at for key, at in self.asked.items() if key in rows}
        self.images = {key: image for key, image in self.images.items() if key in rows}
        self.looked = {named: at for named, at in self.looked.items() if named[0] in rows}
        self.written &= {paper(key) for key in rows for paper in (layout.order, layout.stop, layout.peers)}
        self.poked &= {post.machine for row in rows.values() for post in row.posts}

    def _paper(self, row: Desired, listed: Listed, waiting: Container[AttemptKey]) -> list[Sighting]:
        """Write the objects that an attempt needs before the runner is called, and read the claims of its workers."""
        if row.state is AttemptState.STARTING:
            self._write(layout.order(row.key), lambda: self._order(row))
        elif row.state is AttemptState.RUNNING and len(row.posts) > 1:
            self._write(layout.peers(row.key), lambda: encode(peers(row)))
        elif row.state is AttemptState.STOPPING:
            self._write(layout.stop(row.key), lambda: encode(stop_order(row)))
        unseen = [i for i, post in enumerate(row.posts) if not post.machine and not post.over]
        if row.state is AttemptState.STOPPING:
            return [sighting for i in unseen for sighting in self._void(row, i)]
        there = {} if row.key in waiting else listed
        return [sighting for i in unseen if self._may_have_come(row.key, i, there) for sighting in self._claim(row, i)]

    def _may_have_come(self, key: AttemptKey, worker: int, listed: Listed) -> bool:
        """Return True if a worker's claim should be looked for now: its machine is listed, or enough time has passed.

        Where the machine is not listed the pauses grow, up to `ASK_S`: it may be listed late, or be gone.
        """
        now = self.clock.monotonic()
        first, last = self.looked.get((key, worker), (now, float("-inf")))
        if (key, worker) not in listed and now - last < min(ASK_S, (now - first) / 4):
            return False
        self.looked[key, worker] = first, now
        return True

    def _write(self, key: str, data: Callable[[], bytes]) -> None:
        if key not in self.written:
            create_once(self.bucket, key, data())
            self.written.add(key)

    def _order(self, row: Desired) -> bytes:
        told = order(row, self.specs.revised(row))
        self.images[row.key] = told.bundle.pinned
        return encode(told)

    def _claim(self, row: Desired, worker: int) -> list[Sighting]:
        try:
            data = self.bucket.read(layout.claim(row.key, worker), RECORD_BYTES_MAX).data
        except ObjectNotFound:
            return []
        except TooLarge:
            data = b""  # handle it like a damaged one
        return [self._claimed(data, row, worker)]

    def _void(self, row: Desired, worker: int) -> list[Sighting]:
        """Take the claim in place of a worker that was not seen, and read it back.

        The object that is there afterwards is final: the void, or the worker's own claim if that came first.
        """
        void = encode(Claim(void=True, nonce=self.ids.new()))
        data = create_once(self.bucket, layout.claim(row.key, worker), void).stored
        return [self._claimed(data, row, worker)]

    def _claimed(self, data: bytes, row: Desired, worker: int) -> ClaimRead:
        """Return the claim of a worker. In place of a damaged claim, its facts name the machine, but not its address.

        So facts are enough only for an attempt of one worker, or one that stops. A claim or facts that name a machine
        of another worker are not believed: this attempt must not end such a machine.

        Raises `RecordError`: a worker may run there, and its machine is unknown.
        """
        try:
            claim = _claim_of(data, row.key, worker)
            if not claim.void and not self.runner.is_of(claim.machine, row.key, worker):
                name = layout.claim(row.key, worker)
                raise RecordError(
                    f"{name} cannot be used: it names {claim.machine[:200]!r}, which is not a machine of this worker"
                )
            return ClaimRead(row.key, worker, claim)
        except RecordError as damage:
            facts = read_facts(self.bucket, row.key, worker)
            known = facts is not None and facts.machine and self.runner.is_of(facts.machine, row.key, worker)
            if facts and known and (len(row.posts) == 1 or row.state is AttemptState.STOPPING):
                return ClaimRead(row.key, worker, Claim(machine=facts.machine, nonce=""))
            self.looked.pop((row.key, worker), None)  # look again in the next turn, so that each turn reports it
            by_hand = encode(Claim(void=True, nonce="by hand")).decode()
            raise RecordError(f"{damage}; once no machine of this worker is left, replace it by {by_hand}") from damage

    def _machines(self, row: Desired, listed: Listed) -> None:
        """Create the machines that are missing; stop and delete those that are listed and should end."""
        if row.state is AttemptState.STARTING:
            self._create(row, listed)
        for i, post in enumerate(row.posts):
            if not post.machine or post.over or post.machine not in listed.get((row.key, i), ()):
                continue
            if post.exited or self._overdue(row):
                self._call(self.runner.delete, post.machine)
            elif layout.stop(row.key) in self.written and post.machine not in self.poked:
                self.poked |= {post.machine} if self._call(self.runner.stop, post.machine) else set()

    def _create(self, row: Desired, listed: Listed) -> None:
        missing = any(not post.machine and not listed.get((row.key, i)) for i, post in enumerate(row.posts))
        ready = layout.order(row.key) in self.written
        due = self.clock.monotonic() - self.asked.get(row.key, float("-inf")) > ASK_S
        if missing and ready and due:  # no slow read here: it would come between the check of the window and the call
            placement = replace(row.placement, image=self.images[row.key])
            if self._call(self.runner.create, placement):
                self.asked[row.key] = self.clock.monotonic()

    def _look(self, place: tuple[Desired, int, Listed]) -> list[Sighting]:
        """Ask the runner directly about a claimed machine that is not listed."""
        row, worker, listed = place
        machine = row.posts[worker].machine
        if not self.runner.is_of(machine, row.key, worker):  # an older version accepted this claim without this check
            return [] if listed.get((row.key, worker)) else [FactsRead(row.key, worker, None, gone=True)]
        sight = self.runner.look(machine)
        if sight is MachineExistence.THERE and (row.posts[worker].exited or self._overdue(row)):
            self._call(self.runner.delete, machine)
        if sight is not MachineExistence.GONE:
            return []
        # This read begins after the machine was gone: no later facts can follow.
        facts = read_facts(self.bucket, row.key, worker)
        return [FactsRead(row.key, worker, facts if facts and facts.machine == machine else None, gone=True)]

    def _sweep(self, machines: Iterable[Machine], rows: dict[AttemptKey, Desired]) -> None:
        """Delete undesired machines, doomed ones, and second machines of a claimed worker.

        Only listed machines are deleted, each by the backend's own id. One of an unknown attempt is deleted only after
        a while (`STRAY_S`): orders are written before machines are created, so this guards against attempts that this
        bastion does not know.
        """
        at, known = self.clock.monotonic(), self.strays
        self.strays = {machine.id: known.get(machine.id, at) for machine in machines if machine.key not in rows}
        for machine in machines:
            row = rows.get(machine.key)
            post = row.posts[machine.worker] if row and machine.worker < len(row.posts) else None
            if at - self.strays.get(machine.id, float("-inf")) < STRAY_S and not machine.doomed:
                continue
            if machine.doomed or post is None or post.over or (post.machine and post.machine != machine.id):
                self._call(self.runner.delete, machine.id)

    def _overdue(self, row: Desired) -> bool:
        return row.deadline is not None and self.now() > row.deadline + OVERTIME

    def _call(self, verb: Callable[[Any], None], what: Any) -> bool:
        """Call the runner, if this bastion may still act. Return False if that failed: a later turn tries again."""
        try:
            if self.window.may_act():
                verb(what)
                return True
        except NotReady:
            return False
        except Exception as error:  # any error at all: a failure for one attempt must not block the others
            self.refused.append(str(error) if isinstance(error, RunnerError) else repr(error))
        return False


def ask_capacity(runner: Runner) -> CapacityRead:
    """Return the runner's capacity and the resource kinds that it names. Raises what the runner raises."""
    capacity, offers = runner.capacity(), runner.offers
    return CapacityRead(
        runner.name, dict(capacity) if capacity is not None else None, sorted(offers) if offers is not None else None
    )


def read_facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    """Return a worker's facts; None if there are none, or if they are damaged, which is logged.

    Raises `BucketError`, and `NewerVersion`.
    """
    try:
        name = layout.facts(key, worker)
        return decode(bucket.read(name, RECORD_BYTES_MAX).data, Facts, name)
    except NewerVersion:
        raise
    except ObjectNotFound:
        return None
    except RecordError as damage:
        log.warning("%s; its facts are lost unless its worker reports them again", damage)
        return None


def _claim_of(data: bytes, key: AttemptKey, worker: int) -> Claim:
    """Decode a claim. An unreadable one does not count as void: its writer may be alive. Raises `RecordError`."""
    try:
        claim = decode(data, Claim, layout.claim(key, worker))
    except NewerVersion:
        any_version = decode(data, AnyClaim, layout.claim(key, worker))
        claim = Claim(**msgspec.structs.asdict(any_version))
    if not claim.void and not claim.machine:
        raise RecordError(f"{layout.claim(key, worker)} names no machine")
    return claim


def _is_claimed(machine: Machine, rows: Mapping[AttemptKey, Desired]) -> bool:
    """Return True if the journal has a claim of this worker for this very machine."""
    row = rows.get(machine.key)
    return row is not None and machine.worker < len(row.posts) and row.posts[machine.worker].machine == machine.id


def _by_worker(machines: Iterable[Machine]) -> Listed:
    listed: Listed = {}
    for machine in machines:
        if not machine.seen:
            continue
        listed.setdefault((machine.key, machine.worker), []).append(machine.id)
    return listed


def _awaited(rows: Mapping[AttemptKey, Desired], waiting: Mapping[AttemptKey, str]) -> Iterator[MachinesAwaited]:
    """List what attempts wait for now, where it differs from what the state says."""
    for key, row in rows.items():
        said = waiting.get(key, "")
        if row.state is AttemptState.STARTING and said != row.waits_for:
            yield MachinesAwaited(key, said)


def _unlisted(row: Desired, listed: Listed) -> list[int]:
    return [
        i
        for i, post in enumerate(row.posts)
        if post.machine and not post.over and post.machine not in listed.get((row.key, i), ())
    ]


def _unless_blind(told: Any) -> list[Sighting]:
    """Return the observations of one row. None if the store or the runner did not answer: the next turn asks again.

    No other attempt waits for this one. Raises `LeadershipLost`; any other error becomes a `UnreadableObject`.
    """
    if isinstance(told, (BucketError, RunnerError)):
        return []
    if isinstance(told, LeadershipLost):
        raise told
    if isinstance(told, Exception):
        return [UnreadableObject(str(told) if isinstance(told, RecordError) else repr(told))]
    sightings: list[Sighting] = told
    return sightings
