"""Detect what the bucket knows beyond the end of the journal. Such an end is lost, and no bastion may go on from there.

A bastion writes the journal first. So each status, snapshot and order refers to something that the journal holds,
unless journal objects were deleted or replaced by an old copy. What workers write proves nothing here, for a job could
have forged it. Only where the journal is empty is a claim enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from ..model import layout
from ..model.codec import decode, encode
from ..model.errors import BastionError, JournalEndLost, NewerVersion, ObjectNotFound, RecordError, TooLarge
from ..model.interfaces import AttemptKey, Bucket, Clock, Ids, Map
from ..model.state.state import Cause, JobState, State
from ..model.state.transitions import MOVES
from ..model.stored.events import AnyEvent, AttemptLost, Ended, Epoch, Gone, JobRejected, LossAccepted, Voided
from ..model.stored.journal_object import OBJECT_BYTES_MAX, Gaps, digest
from ..model.stored.records import ORDER_BYTES_MAX, Order
from ..model.stored.status import Status
from ..model.version import VERSION
from ..stores.create_once import create_once
from . import journal_reader, leadership, recover, tombstones
from .journal import Journal

LOOKED_AT = 20_000
"""At most this many names of orders are checked before a bastion begins: 20 list requests, a second or two."""

NAMED = 3
"""At most this many lost things are named in a message."""
ADVICE = "put back the lost objects, or see bastion recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownObjects:
    """The bucket as it was before its journal was read.

    status: the content of `status.json`; None if there is none.
    snapshot: the newest number that a snapshot goes up to; 0 if there is none.
    orders: the attempts that have orders.
    claims: the attempts that have claims.
    """

    status: Status | None
    snapshot: int
    orders: tuple[AttemptKey, ...]
    claims: tuple[AttemptKey, ...]


def gather(bucket: Bucket, orders: int = LOOKED_AT, claims: int = NAMED) -> KnownObjects:
    """Read the status and at most so many names of orders and claims. Raises `BucketError`, `NewerVersion`.

    Call this before the journal is read. Then what another bastion writes meanwhile is in the journal when it is read.
    """
    status, _ = leadership.read(bucket)
    named = (layout.worker_of(stat.key) for stat in bucket.list(layout.CLAIMS))
    return KnownObjects(
        status=status,
        snapshot=max(recover.snapshots(bucket), default=0),
        orders=tuple(islice(_orders(bucket), orders)),
        claims=tuple(islice(dict.fromkeys(worker[0] for worker in named if worker), claims)),
    )


def _orders(bucket: Bucket) -> Iterator[AttemptKey]:
    for stat in bucket.list(layout.ATTEMPTS):
        if (key := layout.ordered(stat.key)) is not None:
            yield key


def refuse(bucket: Bucket, state: State, known: KnownObjects, at_once: Map) -> None:
    """Raise `JournalEndLost`, naming a few things that are known but not in the journal, if there are any.

    Raises `BucketError`.
    """
    if found := list(islice(lost(bucket, state, known, at_once), NAMED)):
        ends = f"the journal ends at object {state.seq - 1}" if state.seq else "the journal is empty"
        raise JournalEndLost(f"{ends}, and {'; '.join(found)}: {ADVICE}")


def lost(bucket: Bucket, state: State, known: KnownObjects, at_once: Map) -> Iterator[str]:
    """Yield what is known but not in the journal, one phrase each."""
    yield from _ahead(bucket, state, known)
    for key in unknown(bucket, state, known.orders, at_once):
        yield f"{layout.order(key)} names an attempt that is not in it"


def _ahead(bucket: Bucket, state: State, known: KnownObjects) -> Iterator[str]:
    """Yield what is known but not in the journal, without the orders."""
    yield from _by_status(bucket, state, known)
    if _is_cut(bucket, state, known.snapshot):
        yield f"{layout.snapshot(known.snapshot)} was made of object {known.snapshot - 1}"
    if not state.seq and not state.epoch:
        yield from (f"{layout.CLAIMS}{key} names an attempt" for key in known.claims[:NAMED])


def _by_status(bucket: Bucket, state: State, known: KnownObjects) -> Iterator[str]:
    status = known.status
    if status is None:
        return
    if status.epoch > state.epoch:
        yield f"{layout.STATUS} is of epoch {status.epoch}, the journal's last of {state.epoch}"
    if status.head and status.seq > state.seq:  # older versions wrote no `head`: they counted unwritten objects
        yield f"{layout.STATUS} records it up to object {status.seq - 1}"
    if status.head and known.snapshot < status.seq <= state.seq:  # no reader uses objects below a snapshot
        here = state.head if status.seq == state.seq else _digest(bucket, status.seq - 1)
        if here and here != status.head:
            yield (
                f"{layout.STATUS} records digest {status.head[:12]} for object {status.seq - 1}, which has {here[:12]}: "
                "that object was changed"
            )


def _digest(bucket: Bucket, seq: int) -> str:
    """Return the digest of a journal object; empty if there is none. Raises `BucketError`."""
    try:
        return digest(bucket.read(layout.journal(seq), OBJECT_BYTES_MAX).data)
    except ObjectNotFound:
        return ""
    except TooLarge:
        return "too large"


def _is_cut(bucket: Bucket, state: State, snapshot: int) -> bool:
    """Return True if a snapshot goes further than the journal.

    The snapshot of a purge does so on purpose, and does not count: its state is empty.
    """
    if state.seq > snapshot or not snapshot:
        return False
    is_end_mark = state.seq == snapshot and state.now is None and not state.jobs
    return not is_end_mark and recover.end(bucket, snapshot - 1) < snapshot


def unknown(bucket: Bucket, state: State, keys: tuple[AttemptKey, ...], at_once: Map) -> list[AttemptKey]:
    """Return the attempts that the state does not know. Raises `BucketError`.

    Attempts are left out if their job has left the state, or if the loss of their job was accepted: such a job is
    stored as rejected.
    """
    absent = [key for key in keys if key.job not in state.jobs]
    jobs = list(dict.fromkeys(key.job for key in absent))
    gone = set[str]()
    for job, found in zip(jobs, at_once(lambda job: _has_left(bucket, job), jobs), strict=True):
        if isinstance(found, Exception):
            raise found
        gone |= {job} if found else set()
    gone |= {key.job for key in keys if key.job in state.jobs and state.jobs[key.job].rest is JobState.REJECTED}
    return [key for key in keys if state.attempt(key) is None and key.job not in gone]


def _has_left(bucket: Bucket, job: str) -> bool:
    """Return True if the bucket holds the tombstone of a job. One that cannot be read counts, too."""
    try:
        return tombstones.of(bucket, job) is not None
    except RecordError:
        return True


ALL = 10**9
"""No limit: more names than a bucket holds."""
AHEAD_MAX = 100
"""A task can have had at most this many more attempts than the journal knows. A claim of a later one is not ours."""

GONE = "lost with the end of the journal"
"""The reason of what ends because it was lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """A lost end of a journal.

    state: the state that is left, as far as it can be read.
    problems: what is missing, changed, or known elsewhere, one phrase each.
    jobs: the jobs of which only orders are left, each with one of them; None if none can be read.
    attempts: how many attempts each (job, task) of the other jobs has had, where the state knows fewer.
    seq: a journal number that was never used.
    epoch: an epoch that was never used.
    """

    state: State
    problems: tuple[str, ...]
    jobs: Mapping[str, Order | None]
    attempts: Mapping[tuple[str, int], int]
    seq: int
    epoch: int

    @property
    def is_nothing(self) -> bool:
        """Return True if the journal is whole, as far as the bucket shows."""
        return not (self.problems or self.jobs or self.attempts)


def survey(bucket: Bucket, at_once: Map) -> LostTail:
    """Look at everything and return what is lost. Raises `BucketError`, `NewerVersion`."""
    known, gaps = gather(bucket, ALL, ALL), Gaps()
    try:
        state = journal_reader.load(bucket, at_once, gaps)
    except NewerVersion:
        raise
    except RecordError:  # nothing of it can be read
        state = State()
    problems = (*(hole.problem for hole in gaps.found), *_ahead(bucket, state, known))
    orders = unknown(bucket, state, known.orders, at_once)
    claims = unknown(bucket, state, known.claims, at_once) if problems or orders else []
    status = known.status
    return LostTail(
        state=state,
        problems=problems,
        jobs=_jobs(bucket, [key for key in orders if key.job not in state.jobs]),
        attempts=_attempts(state, [*orders, *claims]),
        seq=max(state.seq, known.snapshot, status.seq if status else 0) + 1,
        epoch=max(state.epoch, _logged(bucket), status.epoch if status else 0) + 1,
    )


def _attempts(state: State, keys: list[AttemptKey]) -> dict[tuple[str, int], int]:
    counts: dict[tuple[str, int], int] = {}
    for key in keys:
        job = state.jobs.get(key.job)
        if job is not None and (key.task in job.tasks or 0 <= key.task < job.count):
            counts[key.job, key.task] = max(counts.get((key.job, key.task), 0), key.attempt + 1)
    return counts


def _jobs(bucket: Bucket, keys: list[AttemptKey]) -> dict[str, Order | None]:
    """Return the jobs of these attempts, each with a readable order if there is one."""
    found: dict[str, Order | None] = {}
    for key in keys:
        found[key.job] = found.get(key.job) or _order(bucket, key)
    return found


def _order(bucket: Bucket, key: AttemptKey) -> Order | None:
    try:
        return decode(bucket.read(layout.order(key), ORDER_BYTES_MAX).data, Order, layout.order(key))
    except (ObjectNotFound, RecordError):
        return None


def _logged(bucket: Bucket) -> int:
    """Return the last epoch whose bastion has left a log. It costs one list request for each epoch."""
    epoch, after = 0, ""
    while (stat := next(iter(bucket.list(layout.BASTION_LOG, after=after)), None)) is not None:
        name = stat.key.removeprefix(layout.BASTION_LOG).partition("/")[0]
        epoch = max(epoch, int(name)) if name.isascii() and name.isdigit() and len(name) <= 9 else epoch
        after = f"{layout.BASTION_LOG}{name}0"  # "0" sorts right after "/", so this skips the folder
    return epoch


def accept(bucket: Bucket, clock: Clock, ids: Ids, loss: LostTail, *, user: str, host: str, pid: int) -> int:
    """Go on without what is lost, behind all numbers that were ever used. Return the number to go on from.

    A snapshot and the journal object behind it replace all that came before. A crash on the way leaves a journal on
    which no bastion begins; then do this once more. Raises `BastionError`.
    """
    check(loss)
    status, _ = leadership.read(bucket)
    if status is not None:  # first, so that a sleeping bastion is deposed
        ended = msgspec.structs.replace(status, state="stopped", epoch=loss.epoch, seq=loss.seq, head="", problems=[])
        bucket.write(layout.STATUS, encode(ended))
    state, first = loss.state, loss.state.seq
    state.seq = loss.seq
    if not create_once(bucket, layout.snapshot(loss.seq), recover.pack_snapshot(state)).mine:
        raise BastionError(f"{layout.snapshot(loss.seq)} was written meanwhile; run bastion recover again")
    journal = Journal(bucket, clock, ids, state)
    journal.epoch = loss.epoch
    journal.begin(max(clock.wall(), state.now or clock.wall()))
    journal.add(Epoch(epoch=loss.epoch, host=host, pid=pid, version=VERSION))
    journal.add(LossAccepted(user=user, first=first, last=loss.seq - 1))
    for event in _amends(loss, journal.state.now or clock.wall()):
        journal.add(event)
    journal.commit()
    return loss.seq


def check(loss: LostTail) -> None:
    """Raise `BastionError` for numbers that no bastion can have used."""
    for (job, task), count in loss.attempts.items():
        if count - len(_known(loss.state, job, task)) > AHEAD_MAX:
            key = AttemptKey(job, task, count - 1)
            raise BastionError(f"{layout.CLAIMS}{key} names an attempt that cannot exist; remove this object")


def _known(state: State, job: str, task: int) -> list[object]:
    found = state.jobs[job].tasks.get(task)
    return list(found.attempts) if found else []


def _amends(loss: LostTail, now: datetime) -> Iterator[AnyEvent]:
    """Yield the events for jobs and attempts that the journal does not know."""
    for job, order in loss.jobs.items():
        user, project = (order.user, order.project) if order else ("", "")
        name = order.name if order else job.rpartition("-")[0]
        yield JobRejected(
            request=f"{user}/lost-{job}",
            job=job,
            name=name,
            user=user,
            project=project,
            reason=f"{GONE}; submit it again",
        )
    for (job, task), count in loss.attempts.items():
        begun = len(_known(loss.state, job, task))
        if count > begun:
            yield from _over(loss.state, job, task, now)
        for number in range(begun, count):
            yield AttemptLost(job=job, task=task, attempt=number, reason=GONE)


def _over(state: State, job: str, task: int, now: datetime) -> Iterator[AnyEvent]:
    """Yield the end of the last known attempt. A later one can only have begun when nothing of it was left."""
    found = state.jobs[job].tasks.get(task)
    attempt = found.live if found else None
    if found is None or attempt is None:
        return
    of: dict[str, Any] = {"job": job, "task": task, "attempt": attempt.number}
    for number, worker in enumerate(attempt.workers):
        if not worker.over:
            yield (Gone if worker.seen else Voided)(**of, worker=number)
    outcome = JobState.PENDING if JobState.PENDING in MOVES[found.state] else JobState.CANCELLED
    yield Ended(**of, cause=Cause.LOST, outcome=outcome, reason=GONE, ready_at=now)
