"""What the bucket knows beyond the end of the journal: then that end is lost, and nobody may go on from there.

A bastion writes the journal first. So each status, snapshot and order tells of something that the journal holds, unless
objects of it were deleted, or an old copy was put in its place. What workers write proves nothing here, for a job could have
made it; only where the journal is empty a claim is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from ..model import layout
from ..model.at_once import Map
from ..model.codec import decode, encode
from ..model.errors import BastionError, LostEnd, Missing, Newer, RecordError, TooLarge
from ..model.interfaces import AttemptKey, Bucket, Clock, Ids
from ..model.state.state import Cause, JobState, State
from ..model.state.transitions import MOVES
from ..model.stored.events import AnyEvent, AttemptLost, Ended, Epoch, Gone, JobRejected, LossAccepted, Voided
from ..model.stored.gaps import Holes
from ..model.stored.journal_object import OBJECT_BYTES_MAX, digest
from ..model.stored.records import ORDER_BYTES_MAX, Order, Status
from ..model.version import VERSION
from ..stores.create_once import create_once
from . import journal_reader, leadership, recover, tombstones
from .journal import Journal

LOOKED_AT = 20_000
"""So many names of orders are looked at before a bastion begins: 20 list requests, a second or two, and no more."""

NAMED = 3
ADVICE = "put back the objects that were there, or see bastion recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEnd:
    """What the bucket knew before its journal was read: the newest number that a snapshot goes up to, and the attempts of
    which there are orders, and claims.
    """

    status: Status | None
    snapshot: int
    orders: tuple[AttemptKey, ...]
    claims: tuple[AttemptKey, ...]


def gather(bucket: Bucket, orders: int = LOOKED_AT, claims: int = NAMED) -> KnownEnd:
    """Look at the status and at so many names. Raises `BucketError`, `Newer`.

    This comes before the journal is read: what another bastion writes meanwhile is in the journal by then.
    """
    status, _ = leadership.read(bucket)
    named = (layout.worker_of(stat.key) for stat in bucket.list(layout.CLAIMS))
    return KnownEnd(
        status=status,
        snapshot=max(recover.snapshots(bucket), default=0),
        orders=tuple(islice(_orders(bucket), orders)),
        claims=tuple(islice(dict.fromkeys(worker[0] for worker in named if worker), claims)),
    )


def _orders(bucket: Bucket) -> Iterator[AttemptKey]:
    for stat in bucket.list(layout.ATTEMPTS):
        if (key := layout.ordered(stat.key)) is not None:
            yield key


def refuse(bucket: Bucket, state: State, known: KnownEnd, at_once: Map) -> None:
    """Raise `LostEnd`, which names a few things that are known and not in the journal. Raises `BucketError`."""
    if found := list(islice(lost(bucket, state, known, at_once), NAMED)):
        ends = f"the journal ends at object {state.seq - 1}" if state.seq else "the journal is empty"
        raise LostEnd(f"{ends}, and {'; '.join(found)}: {ADVICE}")


def lost(bucket: Bucket, state: State, known: KnownEnd, at_once: Map) -> Iterator[str]:
    """What is known and not in the journal, one phrase each."""
    yield from _ahead(bucket, state, known)
    for key in unknown(bucket, state, known.orders, at_once):
        yield f"{layout.order(key)} tells of an attempt that is not in it"


def _ahead(bucket: Bucket, state: State, known: KnownEnd) -> Iterator[str]:
    """The same, but for orders."""
    yield from _by_status(bucket, state, known)
    if _is_cut(bucket, state, known.snapshot):
        yield f"{layout.snapshot(known.snapshot)} was made of object {known.snapshot - 1}"
    if not state.seq and not state.epoch:
        yield from (f"{layout.CLAIMS}{key} tells of an attempt" for key in known.claims[:NAMED])


def _by_status(bucket: Bucket, state: State, known: KnownEnd) -> Iterator[str]:
    status = known.status
    if status is None:
        return
    if status.epoch > state.epoch:
        yield f"{layout.STATUS} is of epoch {status.epoch}, the journal's last of {state.epoch}"
    if status.head and status.seq > state.seq:  # older versions counted what was not written yet
        yield f"{layout.STATUS} knows it up to object {status.seq - 1}"
    if status.head and known.snapshot < status.seq <= state.seq:  # what a snapshot stands for, nobody goes by any more
        here = state.head if status.seq == state.seq else _digest(bucket, status.seq - 1)
        if here and here != status.head:
            yield (
                f"{layout.STATUS} knows object {status.seq - 1} with the digest {status.head[:12]}, and it has {here[:12]}: "
                "it was changed"
            )


def _digest(bucket: Bucket, seq: int) -> str:
    """The digest of a journal object; empty if there is none. Raises `BucketError`."""
    try:
        return digest(bucket.read(layout.journal(seq), OBJECT_BYTES_MAX).data)
    except Missing:
        return ""
    except TooLarge:
        return "too large"


def _is_cut(bucket: Bucket, state: State, snapshot: int) -> bool:
    """True if a snapshot goes further than the journal. That of a purge does so on purpose: it knows nothing."""
    if state.seq > snapshot or not snapshot:
        return False
    is_fence = state.seq == snapshot and state.now is None and not state.jobs
    return not is_fence and recover.end(bucket, snapshot - 1) < snapshot


def unknown(bucket: Bucket, state: State, keys: tuple[AttemptKey, ...], at_once: Map) -> list[AttemptKey]:
    """Those of these attempts that the state does not know. Raises `BucketError`.

    Left out are those of jobs that have left the state, and of jobs whose loss was accepted: they stand there as rejected.
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
    """True if the bucket keeps the trace of a job; one that cannot be read is one, too."""
    try:
        return tombstones.of(bucket, job) is not None
    except RecordError:
        return True


ALL = 10**9
AHEAD_MAX = 100
"""So many attempts more than the journal knows a task may have had; a claim that tells of a later one is a stranger's."""

GONE = "it was lost with the end of the journal"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostTail:
    """What is lost. `state` is what is left, as far as it can be known; `problems` say what is missing, changed, or known
    elsewhere. `jobs` are those of which only orders are left, each with one, None if none can be read; `attempts` how many
    attempts each task of the other jobs has had, where that is more than the state knows. `seq` and `epoch` are numbers that
    were never given.
    """

    state: State
    problems: tuple[str, ...]
    jobs: Mapping[str, Order | None]
    attempts: Mapping[tuple[str, int], int]
    seq: int
    epoch: int

    @property
    def is_nothing(self) -> bool:
        """The journal is whole, as far as anybody can tell."""
        return not (self.problems or self.jobs or self.attempts)


def survey(bucket: Bucket, at_once: Map) -> LostTail:
    """Look at everything. Raises `BucketError`, `Newer`."""
    known, holes = gather(bucket, ALL, ALL), Holes()
    try:
        state = journal_reader.load(bucket, at_once, holes)
    except Newer:
        raise
    except RecordError:  # nothing of it can be read
        state = State()
    problems = (*(hole.problem for hole in holes.found), *_ahead(bucket, state, known))
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
    """The jobs of these attempts, each with an order that can be read, if there is one."""
    found: dict[str, Order | None] = {}
    for key in keys:
        found[key.job] = found.get(key.job) or _order(bucket, key)
    return found


def _order(bucket: Bucket, key: AttemptKey) -> Order | None:
    try:
        return decode(bucket.read(layout.order(key), ORDER_BYTES_MAX).data, Order, layout.order(key))
    except (Missing, RecordError):
        return None


def _logged(bucket: Bucket) -> int:
    """The last epoch whose bastion has left a log: one list request for each."""
    epoch, after = 0, ""
    while (stat := next(iter(bucket.list(layout.BASTION_LOG, after=after)), None)) is not None:
        name = stat.key.removeprefix(layout.BASTION_LOG).partition("/")[0]
        epoch = max(epoch, int(name)) if name.isascii() and name.isdigit() and len(name) <= 9 else epoch
        after = f"{layout.BASTION_LOG}{name}0"  # "0" follows "/": behind all of that folder
    return epoch


def accept(bucket: Bucket, clock: Clock, ids: Ids, loss: LostTail, *, user: str, host: str, pid: int) -> int:
    """Go on without what is lost, behind all numbers that were ever given. The number that the journal goes on from.

    The snapshot and the object behind it stand for all before them. A fall on the way leaves a journal on which nobody begins;
    then this is done once more. Raises `BastionError`.
    """
    check(loss)
    status, _ = leadership.read(bucket)
    if status is not None:  # first of all: so is deposed whoever sleeps
        ended = msgspec.structs.replace(status, state="stopped", epoch=loss.epoch, seq=loss.seq, head="", problems=[])
        bucket.write(layout.STATUS, encode(ended))
    state, first = loss.state, loss.state.seq
    state.seq = loss.seq
    if not create_once(bucket, layout.snapshot(loss.seq), recover.pack_snapshot(state)).mine:
        raise BastionError(f"{layout.snapshot(loss.seq)} was written meanwhile; see bastion recover again")
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
    """Raise `BastionError` for numbers that no bastion can have given."""
    for (job, task), count in loss.attempts.items():
        if count - len(_known(loss.state, job, task)) > AHEAD_MAX:
            key = AttemptKey(job, task, count - 1)
            raise BastionError(f"{layout.CLAIMS}{key} tells of an attempt that cannot have been; remove it")


def _known(state: State, job: str, task: int) -> list[object]:
    found = state.jobs[job].tasks.get(task)
    return list(found.attempts) if found else []


def _amends(loss: LostTail, now: datetime) -> Iterator[AnyEvent]:
    """What the journal has to say of jobs and attempts that it does not know."""
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
    """End the last attempt that is known: one that came after it began only when nothing of it was left."""
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
