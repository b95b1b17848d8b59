"""What the bucket knows beyond the end of the journal: then that end is lost, and nobody may go on from there.

A bastion writes the journal first. So each status, snapshot and order tells of something that the journal holds, unless
objects of it were deleted, or an old copy was put in its place. What workers write proves nothing here, for a job could have
made it; only where the journal is empty a claim is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from bastion import layout, recover, standing, traces
from bastion.at_once import Map
from bastion.errors import LostEnd, RecordError
from bastion.ports import AttemptKey, Bucket
from bastion.records import Status
from bastion.state import State

LOOKED_AT = 20_000
"""So many names of orders are looked at before a bastion begins: 20 list requests, a second or two, and no more."""

NAMED = 3
ADVICE = "put back the objects that were there, or see bastion recover"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the bucket knew before its journal was read: the newest number that a snapshot goes up to, and the attempts of
    which there are orders, and claims.
    """

    status: Status | None
    snapshot: int
    orders: tuple[AttemptKey, ...]
    claims: tuple[AttemptKey, ...]


def gather(bucket: Bucket, orders: int = LOOKED_AT, claims: int = NAMED) -> Known:
    """Look at the status and at so many names. Raises `BucketError`, `Newer`.

    This comes before the journal is read: what another bastion writes meanwhile is in the journal by then.
    """
    status, _ = standing.read(bucket)
    named = (layout.worker_of(stat.key) for stat in bucket.list(layout.CLAIMS))
    return Known(
        status=status,
        snapshot=max(recover.snapshots(bucket), default=0),
        orders=tuple(islice(_orders(bucket), orders)),
        claims=tuple(islice(dict.fromkeys(worker[0] for worker in named if worker), claims)),
    )


def _orders(bucket: Bucket) -> Iterator[AttemptKey]:
    for stat in bucket.list(layout.ATTEMPTS):
        if (key := layout.ordered(stat.key)) is not None:
            yield key


def refuse(bucket: Bucket, state: State, known: Known, at_once: Map) -> None:
    """Raise `LostEnd`, which names a few things that are known and not in the journal. Raises `BucketError`."""
    if found := list(islice(lost(bucket, state, known, at_once), NAMED)):
        ends = f"the journal ends at object {state.seq - 1}" if state.seq else "the journal is empty"
        raise LostEnd(f"{ends}, and {'; '.join(found)}: {ADVICE}")


def lost(bucket: Bucket, state: State, known: Known, at_once: Map) -> Iterator[str]:
    """What is known and not in the journal, one phrase each."""
    yield from _by_status(state, known.status)
    if _is_cut(bucket, state, known.snapshot):
        yield f"{layout.snapshot(known.snapshot)} was made of object {known.snapshot - 1}"
    for key in unknown(bucket, state, known.orders, at_once):
        yield f"{layout.order(key)} tells of an attempt that is not in it"
    if not state.seq and not state.epoch:
        yield from (f"{layout.CLAIMS}{key} tells of an attempt" for key in known.claims)


def _by_status(state: State, status: Status | None) -> Iterator[str]:
    if status is None:
        return
    if status.epoch > state.epoch:
        yield f"{layout.STATUS} is of epoch {status.epoch}, the journal's last of {state.epoch}"
    if status.head and status.seq > state.seq:  # older versions counted what was not written yet
        yield f"{layout.STATUS} knows it up to object {status.seq - 1}"
    if status.seq == state.seq and status.head and state.head and status.head != state.head:
        yield (
            f"{layout.STATUS} knows that object with the digest {status.head[:12]}, and it has {state.head[:12]}: it was changed"
        )


def _is_cut(bucket: Bucket, state: State, snapshot: int) -> bool:
    """True if a snapshot goes further than the journal. That of a purge does so on purpose: it knows nothing."""
    if state.seq > snapshot or not snapshot:
        return False
    is_fence = state.seq == snapshot and state.now is None and not state.jobs
    return not is_fence and recover.end(bucket, snapshot - 1) < snapshot


def unknown(bucket: Bucket, state: State, keys: tuple[AttemptKey, ...], at_once: Map) -> list[AttemptKey]:
    """Those of these attempts that the state does not know, and that no job had which has left it. Raises `BucketError`."""
    absent = [key for key in keys if key.job not in state.jobs]
    jobs = list(dict.fromkeys(key.job for key in absent))
    gone = set[str]()
    for job, found in zip(jobs, at_once(lambda job: _has_left(bucket, job), jobs), strict=True):
        if isinstance(found, Exception):
            raise found
        gone |= {job} if found else set()
    return [key for key in keys if state.attempt(key) is None and key.job not in gone]


def _has_left(bucket: Bucket, job: str) -> bool:
    """True if the bucket keeps the trace of a job; one that cannot be read is one, too."""
    try:
        return traces.of(bucket, job) is not None
    except RecordError:
        return True
