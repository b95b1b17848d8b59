"""Desired against observed: what is missing is created, what should not be is deleted, what cannot be known is left alone.

Runs beside the tick, one turn at a time for each runner. Restart after a crash is just another turn. A runner is told
only what the bucket already says: orders and stops are written first.
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
from ..model.errors import BucketError, Deposed, Later, Missing, Newer, RecordError, RunnerError, TooLarge
from ..model.interfaces import AttemptKey, Bucket, Clock, Ids, Machine, Runner, Sight
from ..model.state.state import AttemptState
from ..model.stored.records import PAPER_BYTES_MAX, AnyClaim, Claim, Facts
from ..schedule.desired import Desired, order, stop_order, world
from ..stores.create_once import create_once
from .observations import CapacityRead, ClaimRead, FactsRead, MachinesAwaited, Sighting, Stray, Trouble
from .spec_cache import SpecCache

ASK_S = 60.0
"""How long a creation is given before it is asked for again, and the longest between two looks for a claim."""

STRAY_S = 30.0
"""How long a machine of no known attempt is left alone: as long as a bastion may act that has just lost its place."""

WorkerKey = tuple[AttemptKey, int]
Listed = dict[WorkerKey, list[str]]
"""The machines of each worker."""

OVERTIME = timedelta(seconds=10)
"""How long after the deadline of a stop the machine is deleted, answered or not."""


T = TypeVar("T")

log = logging.getLogger("bastion")


@dataclass(slots=True)
class Reconciler:
    """One runner's turns. What is kept only saves requests: all of it is idempotent, and a restart begins with nothing."""

    runner: Runner
    bucket: Bucket
    clock: Clock
    ids: Ids
    fence: LeaderWindow
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
        """One pass. Raises `RunnerError` if the runner is blind, `Deposed` if what a listing claims of an epoch is true."""
        shown = self.runner.list()
        # Read after the listing has answered: every listed machine was promised by what is read here.
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
        return seen + [Trouble(what) for what in refused] + list(self._strays(shown, machines))

    def _verify(self, shown: Iterable[Machine]) -> None:
        """A listing deposes nobody: whether its larger epochs are true, `status.json` says. Raises `Deposed` if they are.

        It is looked at once for all that are new, and not more often than a bastion may act without a word of its own.
        """
        larger = {machine.id for machine in shown if machine.epoch > self.epoch}
        self.refuted &= larger
        now = self.clock.monotonic()
        if larger - self.refuted and now - self.verified >= STRAY_S:
            self.verified = now
            self.refuted |= larger if self.verify() else set()

    def _strays(self, shown: Sequence[Machine], machines: Sequence[Machine]) -> Iterator[Stray]:
        """What was listed and is not believed."""
        ours = {machine.id for machine in machines}
        for machine in shown:
            said = (
                f"{machine.origin or f'machine {machine.id}'} has the name of worker {machine.worker} of {machine.key}"
            )
            if machine.id not in ours:
                yield Stray(f"{said}, and this bastion did not make it: it is left alone; end it where it was made")
            elif machine.id in self.refuted:
                told = f"{said} and of epoch {machine.epoch}, of which neither {layout.STATUS} nor the journal knows"
                yield Stray(f"{told}: it is ended, unless the job wants it")

    def _remember_only(self, rows: dict[AttemptKey, Desired]) -> None:
        self.asked = {key: at for key, at in self.asked.items() if key in rows}
        self.images = {key: image for key, image in self.images.items() if key in rows}
        self.looked = {named: at for named, at in self.looked.items() if named[0] in rows}
        self.written &= {paper(key) for key in rows for paper in (layout.order, layout.stop, layout.world)}
        self.poked &= {post.machine for row in rows.values() for post in row.posts}

    def _paper(self, row: Desired, listed: Listed, waiting: Container[AttemptKey]) -> list[Sighting]:
        """What the bucket has to say before anybody is called, and what the workers have said."""
        if row.state is AttemptState.STARTING:
            self._write(layout.order(row.key), lambda: self._order(row))
        elif row.state is AttemptState.RUNNING and len(row.posts) > 1:
            self._write(layout.world(row.key), lambda: encode(world(row)))
        elif row.state is AttemptState.STOPPING:
            self._write(layout.stop(row.key), lambda: encode(stop_order(row)))
        unseen = [i for i, post in enumerate(row.posts) if not post.machine and not post.over]
        if row.state is AttemptState.STOPPING:
            return [sighting for i in unseen for sighting in self._void(row, i)]
        there = {} if row.key in waiting else listed
        return [sighting for i in unseen if self._may_have_come(row.key, i, there) for sighting in self._claim(row, i)]

    def _may_have_come(self, key: AttemptKey, worker: int, listed: Listed) -> bool:
        """A worker is looked for where its machine is listed; else ever less often, for it may be listed late or be gone."""
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
            data = self.bucket.read(layout.claim(row.key, worker), PAPER_BYTES_MAX).data
        except Missing:
            return []
        except TooLarge:
            data = b""  # as good as one that is damaged
        return [self._claimed(data, row, worker)]

    def _void(self, row: Desired, worker: int) -> list[Sighting]:
        """Take the claim of a worker that was not seen. Whoever holds it then, the answer is final."""
        void = encode(Claim(void=True, nonce=self.ids.new()))
        data = create_once(self.bucket, layout.claim(row.key, worker), void).stored
        return [self._claimed(data, row, worker)]

    def _claimed(self, data: bytes, row: Desired, worker: int) -> ClaimRead:
        """Whose the claim is. Where it is damaged its worker's facts say it, but not its address. Neither is believed that
        names a machine of another worker's: such a machine is not ours to end.

        Raises `RecordError`: somebody may run there, and nobody knows on which machine.
        """
        try:
            claim = _claim_of(data, row.key, worker)
            if not claim.void and not self.runner.is_of(claim.machine, row.key, worker):
                name = layout.claim(row.key, worker)
                raise RecordError(
                    f"{name} cannot be believed: it names {claim.machine[:200]!r}, which is not of this worker"
                )
            return ClaimRead(row.key, worker, claim)
        except RecordError as damage:
            facts = read_facts(self.bucket, row.key, worker)
            known = facts is not None and facts.machine and self.runner.is_of(facts.machine, row.key, worker)
            if facts and known and (len(row.posts) == 1 or row.state is AttemptState.STOPPING):
                return ClaimRead(row.key, worker, Claim(machine=facts.machine, nonce=""))
            self.looked.pop((row.key, worker), None)  # so that it is said in each turn
            by_hand = encode(Claim(void=True, nonce="by hand")).decode()
            raise RecordError(f"{damage}; once no machine of this worker is left, replace it by {by_hand}") from damage

    def _machines(self, row: Desired, listed: Listed) -> None:
        """Create what is missing, stop and delete what is listed."""
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
        if missing and ready and due:  # nothing is read here, which may take long, between the fence and the call
            placement = replace(row.placement, image=self.images[row.key])
            if self._call(self.runner.create, placement):
                self.asked[row.key] = self.clock.monotonic()

    def _look(self, place: tuple[Desired, int, Listed]) -> list[Sighting]:
        """The direct question about a claimed machine that is not listed."""
        row, worker, listed = place
        machine = row.posts[worker].machine
        if not self.runner.is_of(machine, row.key, worker):  # taken in by an older version, which believed every claim
            return [] if listed.get((row.key, worker)) else [FactsRead(row.key, worker, None, gone=True)]
        sight = self.runner.look(machine)
        if sight is Sight.THERE and (row.posts[worker].exited or self._overdue(row)):
            self._call(self.runner.delete, machine)
        if sight is not Sight.GONE:
            return []
        # Begun after the machine was gone: these are the last facts there can be.
        facts = read_facts(self.bucket, row.key, worker)
        return [FactsRead(row.key, worker, facts if facts and facts.machine == machine else None, gone=True)]

    def _sweep(self, machines: Iterable[Machine], rows: dict[AttemptKey, Desired]) -> None:
        """Delete what nobody desires, what is doomed, twins of claimed machines: only what was listed, by the backend's own id.

        Of an attempt that is not known a machine is deleted once it has been so for a while. Machines are promised before
        they are created, so this guards against what we do not know of.
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
        """Call the runner, if we still may. False if that came to nothing: a later turn tries again."""
        try:
            if self.fence.may_act():
                verb(what)
                return True
        except Later:
            return False
        except Exception as error:  # whatever it is: what a runner cannot do for one attempt is in no other's way
            self.refused.append(str(error) if isinstance(error, RunnerError) else repr(error))
        return False


def ask_capacity(runner: Runner) -> CapacityRead:
    """What a runner says that it has. Raises what it raises."""
    capacity, offers = runner.capacity(), runner.offers
    return CapacityRead(
        runner.name, dict(capacity) if capacity is not None else None, sorted(offers) if offers is not None else None
    )


def read_facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    """A worker's facts; None if there are none, or none that make sense, which is logged. Raises `BucketError`, and `Newer`."""
    try:
        name = layout.facts(key, worker)
        return decode(bucket.read(name, PAPER_BYTES_MAX).data, Facts, name)
    except Newer:
        raise
    except Missing:
        return None
    except RecordError as damage:
        log.warning("%s; what it told is lost, unless its worker tells it again", damage)
        return None


def _claim_of(data: bytes, key: AttemptKey, worker: int) -> Claim:
    """The claim. One that cannot be read is no void: whoever wrote it may live. Raises `RecordError`."""
    try:
        claim = decode(data, Claim, layout.claim(key, worker))
    except Newer:
        any_version = decode(data, AnyClaim, layout.claim(key, worker))
        claim = Claim(**msgspec.structs.asdict(any_version))
    if not claim.void and not claim.machine:
        raise RecordError(f"{layout.claim(key, worker)} names no machine")
    return claim


def _is_claimed(machine: Machine, rows: Mapping[AttemptKey, Desired]) -> bool:
    """The journal knows this very machine: its worker has claimed."""
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
    """What attempts wait for now, where that is not what is known."""
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
    """Not knowing is a fact: what could not be asked is asked again in the next turn, and no other attempt waits for it."""
    if isinstance(told, (BucketError, RunnerError)):
        return []
    if isinstance(told, Deposed):
        raise told
    if isinstance(told, Exception):
        return [Trouble(str(told) if isinstance(told, RecordError) else repr(told))]
    sightings: list[Sighting] = told
    return sightings
