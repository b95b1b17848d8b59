"""Jobs that ended long ago leave the bucket in a safe order, and then the state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from bastion.journal import retirement
from bastion.journal.fold import apply
from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import new_jobspec
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Claimed,
    Ended,
    Exited,
    Forgotten,
    Gone,
    Started,
    Submitted,
)
from bastion.stores.memory import MemoryBucket

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SPEC = new_jobspec(name="a", user="ann", project="red", command="true")


def ended_job() -> State:
    state = State(now=NOON)
    of: dict[str, Any] = {"job": "a-1", "task": 0, "attempt": 0}
    events: list[AnyEvent] = [
        Submitted(request="1", job="a-1", spec=SPEC),
        Started(**of, runner="local", tier=0, workers=1),
        Claimed(**of, worker=0, machine="m"),
        Exited(**of, worker=0, cause=Cause.OK, exit_code=0),
        Gone(**of, worker=0),
        Ended(**of, cause=Cause.OK, outcome=JobState.SUCCEEDED, reason="exit code 0", exit_code=0),
        Submitted(request="2", job="a-2", spec=SPEC),
    ]
    for index, event in enumerate(events):
        apply(state, event, 0, index)
    return state


def test_a_job_leaves_thirty_days_after_its_end() -> None:
    state = ended_job()
    assert retirement.retirable(state, NOON + timedelta(days=29, hours=23)).jobs == ()
    assert retirement.retirable(state, NOON + timedelta(days=30, seconds=1)).jobs == (state.jobs["a-1"],)


def test_what_has_not_ended_never_leaves() -> None:
    assert [job.id for job in retirement.retirable(ended_job(), NOON + timedelta(days=3000)).jobs] == ["a-1"]


def test_orders_leave_before_claims() -> None:
    class Recorder(MemoryBucket):
        def delete(self, keys: object) -> None:
            deleted.append(set(keys))  # type: ignore[call-overload]

    deleted: list[set[str]] = []
    key = AttemptKey("a-1", 0, 0)
    jobs = retirement.remove(Recorder("memory://retire"), retirement.retirable(ended_job(), NOON + timedelta(days=31)))
    assert jobs == ("a-1",)
    assert layout.order(key) in deleted[0]
    assert layout.claim(key, 0) in deleted[1]
    assert not deleted[0] & deleted[1]


def test_more_than_enough_ended_jobs_leave_earlier_but_not_within_a_day() -> None:
    state = State(now=NOON)
    for number in range(retirement.KEEP_MAX + 2):
        apply(state, Submitted(request=str(number), job=f"a-{number}", spec=SPEC), 0, number)
        apply(state, CancelRequested(request=f"c{number}", user="ann", job=f"a-{number}"), 0, number)
    assert retirement.retirable(state, NOON + timedelta(hours=23)).jobs == ()
    assert len(retirement.retirable(state, NOON + timedelta(hours=25)).jobs) == 2


def test_a_retired_job_is_forgotten_by_the_state() -> None:
    state = ended_job()
    apply(state, Forgotten(jobs=["a-1"]), 1, 0)
    assert list(state.jobs) == ["a-2"]
