"""Describe what should exist outside the bastion: one row for each live attempt. Pure.

The rows are values, so other threads may hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import msgspec

from ..model.interfaces import AttemptKey, Placement
from ..model.job.spec import JobSpec
from ..model.job.spec_changes import Changes, Renewal
from ..model.state.state import Attempt, AttemptState, Cause, Job, State
from ..model.stored.records import Order, Peer, Peers, StopOrder

RESTART_REASONS = {
    Cause.PREEMPTED: "preempted",
    Cause.LOST: "node_lost",
    Cause.VOID: "node_lost",
    Cause.CANCELLED: "user",
    Cause.UPDATED: "user",
}
"""The `restart_reason` of an attempt, by the cause that ended the one before. Other causes give "failure"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredWorker:
    """One worker of an attempt.

    machine: the backend's id of its machine; empty before its claim was read.
    address: the host name or IP address of its process; empty before its claim was read.
    port: the port of its process; 0 before its claim was read.
    over: nothing can run as this worker any more.
    exited: its process has ended.
    """

    machine: str
    address: str
    port: int
    over: bool
    exited: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """One live attempt: what its machines and its objects in the bucket should be.

    placement: the key of the attempt, and what its machines need.
    runner: the name of its runner.
    state: the state of the attempt.
    posts: its workers, in order.
    seq: the number of the journal object that holds the spec.
    index: the position of the spec among the events of that object.
    changes: what updates changed of the spec, without the command; None: nothing.
    renewed: where the newer command that this attempt runs is stored; None: it runs that of the spec.
    digest: the digest of the image that was built for the job; empty if none was.
    restart_reason: one of first, failure, preempted, node_lost, user.
    last_step: the last step that an earlier attempt reported; None if none did.
    stopping: the cause for which it is being stopped; None if it is not.
    deadline: the end of the grace period, once it is being stopped; else None.
    grace_s: seconds between SIGTERM and SIGKILL: those of the job, or those at the time when the stop began.
    reason: why it is being stopped, in words.
    waits_for: what its machines wait for, in the runner's words; empty if nothing.
    """

    placement: Placement
    runner: str
    state: AttemptState
    posts: tuple[DesiredWorker, ...]
    seq: int
    index: int
    changes: Changes | None
    renewed: Renewal | None
    digest: str
    restart_reason: str
    last_step: int | None
    stopping: Cause | None
    deadline: datetime | None
    grace_s: float
    reason: str
    waits_for: str

    @property
    def key(self) -> AttemptKey:
        """Return the key of the attempt."""
        return self.placement.key


def desired(state: State) -> tuple[Desired, ...]:
    """Return one row for each live attempt."""
    return tuple(_row(state, key, job, attempt) for key, job, attempt in state.live_attempts())


def _row(state: State, key: AttemptKey, job: Job, attempt: Attempt) -> Desired:
    before = job.tasks[key.task].attempts[: key.attempt]
    return Desired(
        placement=Placement(
            key=key,
            resources=job.resources,
            replicas=job.replicas,
            workers=len(attempt.workers),
            tier=attempt.tier,
            epoch=state.epoch,
            user=job.user,
        ),
        runner=attempt.runner,
        state=attempt.state,
        posts=tuple(
            DesiredWorker(machine=w.machine, address=w.address, port=w.port, over=w.over, exited=w.cause is not None)
            for w in attempt.workers
        ),
        seq=job.seq,
        index=job.index,
        changes=job.changes,
        renewed=attempt.renewed,
        digest=job.digest,
        restart_reason=RESTART_REASONS.get(before[-1].cause or Cause.CODE, "failure") if before else "first",
        last_step=next((a.step for a in reversed(before) if a.step is not None), None),
        stopping=attempt.stopping,
        deadline=attempt.deadline,
        grace_s=job.grace_s if attempt.grace_s is None else attempt.grace_s,
        reason=attempt.reason,
        waits_for=attempt.waits_for,
    )


def order(row: Desired, spec: JobSpec) -> Order:
    """Return the order for the workers of an attempt."""
    first = first_order(row.key, spec, workers=row.placement.workers, tier=row.placement.tier)
    return msgspec.structs.replace(
        first,
        resources=row.placement.resources,
        replicas=row.placement.replicas,
        restart_reason=row.restart_reason,
        last_step=row.last_step,
    )


def first_order(key: AttemptKey, spec: JobSpec, *, workers: int, tier: int = 0) -> Order:
    """Return the order of the first attempt of a task."""
    return Order(
        **{name: getattr(spec, name) for name in _OF_SPEC}
        | {name: _of_task(getattr(spec, name), key, spec) for name in ("output_dir", "checkpoint_dir")},
        job=key.job,
        task=key.task,
        attempt=key.attempt,
        tier=tier,
        workers=workers,
        restart_reason="first",
    )


_OF_SPEC = frozenset(Order.__struct_fields__) & frozenset(JobSpec.__struct_fields__) - {"schema"}
"""The fields of a spec that its orders repeat."""


def _of_task(folder: str, key: AttemptKey, spec: JobSpec) -> str:
    """Return the folder of one task. Each task of an array has a folder of its own."""
    return f"{folder.rstrip('/')}/{key.task}" if folder and spec.count > 1 else folder


def stop_order(row: Desired) -> StopOrder:
    """Return the order to end the attempt. It has the same bytes, no matter which process writes it first."""
    assert row.stopping is not None
    return StopOrder(cause=row.stopping, grace_s=row.grace_s, reason=row.reason, nonce=str(row.key))


def peers(row: Desired) -> Peers:
    """Return the addresses of all workers of the gang."""
    return Peers(members=[Peer(address=post.address, port=post.port) for post in row.posts])
