"""The fold takes legal events, refuses all others without a trace, and its books always agree with a recount."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.journal.fold import apply, fold
from bastion.model.codec import encode, readable
from bastion.model.errors import BastionError, IllegalMove
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import AttemptState, Cause, JobState, State, Worker
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Ended,
    Epoch,
    Exited,
    FileBroken,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    Illegal,
    JobRejected,
    Paused,
    ReclaimDropped,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
)
from bastion.model.stored.journal_object import JournalObject
from tests.support.doors import folded
from tests.support.world import NOON, spec

J0: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
S, C = JobState, Cause


readable(State)


def submitted(job: str = "j", **fields: Any) -> Submitted:
    return Submitted(request=f"r-{job}", job=job, spec=spec(**fields))


def started(workers: int = 1, **at: Any) -> Started:
    return Started(**{**J0, **at}, runner="local", tier=0, workers=workers)


def claimed(worker: int = 0, **at: Any) -> Claimed:
    return Claimed(**{**J0, **at}, worker=worker, machine=f"m{worker}")


def stopping(cause: Cause = C.PREEMPTED, **more: Any) -> Stopping:
    return Stopping(**J0, cause=cause, deadline=NOON, reason="why", **more)


def ended(outcome: JobState = S.SUCCEEDED, cause: Cause = C.OK, **at: Any) -> Ended:
    return Ended(**{**J0, **at}, cause=cause, outcome=outcome, reason="why")


GONE, VOIDED = Gone(**J0, worker=0), Voided(**J0, worker=0)
RUNNING: list[AnyEvent] = [submitted(), started(), claimed()]
OVER: list[AnyEvent] = [*RUNNING, GONE]


def test_a_job_goes_its_way() -> None:
    state = folded(submitted())
    job = state.jobs["j"]
    assert job.state is S.PENDING
    way: list[tuple[AnyEvent, JobState]] = [
        (started(), S.PROVISIONING),
        (claimed(), S.RUNNING),
        (Exited(**J0, worker=0, cause=C.CODE, exit_code=3, step=7), S.RUNNING),
        (GONE, S.RUNNING),
        (ended(S.PENDING, C.CODE), S.PENDING),
        (started(attempt=1), S.PROVISIONING),
        (claimed(attempt=1), S.RUNNING),
        (Gone(**{**J0, "attempt": 1}, worker=0), S.RUNNING),
        (ended(attempt=1), S.SUCCEEDED),
    ]
    for event, then in way:
        folded(event, state=state)
        assert job.state is then, event
    first, second = job.tasks[0].attempts
    assert (first.cause, first.step) == (C.CODE, 7)
    assert second.state is AttemptState.ENDED
    assert job.tasks[0].failures == 1
    assert job.ended == NOON


def test_a_gang_runs_when_all_its_workers_have_claimed() -> None:
    state = folded(submitted(replicas=2), started(workers=2), claimed(1))
    assert state.jobs["j"].counts == {S.PROVISIONING: 1}
    folded(claimed(0), state=state)
    assert state.jobs["j"].counts == {S.RUNNING: 1}


@pytest.mark.parametrize(
    ("cause", "cancelled", "shown"),
    [
        (C.PREEMPTED, False, S.PREEMPTING),
        (C.CANCELLED, True, S.CANCELLING),
        (C.PREEMPTED, True, S.CANCELLING),
        (C.LOST, False, S.RUNNING),
        (C.CODE, False, S.RUNNING),
    ],
)
def test_what_a_stopping_job_is_shown_as(cause: Cause, cancelled: bool, shown: JobState) -> None:
    cancel = [CancelRequested(request="c", user="alice", job="j")] if cancelled else []
    assert folded(*RUNNING, *cancel, stopping(cause)).jobs["j"].state is shown


def test_a_cancel_while_it_is_preempted_shows() -> None:
    cancel = CancelRequested(request="c", user="alice", job="j")
    assert folded(*RUNNING, stopping(), cancel).jobs["j"].state is S.CANCELLING


def test_a_cancel_ends_what_waits_and_marks_what_runs() -> None:
    state = folded(submitted(count=5), started(task=0), CancelRequested(request="c", user="bob", job="j"))
    job = state.jobs["j"]
    assert job.counts == {S.PROVISIONING: 1, S.CANCELLED: 4}
    assert job.cancelled_by == "bob"
    assert job.ended is None
    assert "j" not in state.pending


@pytest.mark.parametrize("task", [0, 3])
def test_one_task_of_an_array_is_cancelled(task: int) -> None:
    state = folded(submitted(count=5), CancelRequested(request="c", user="alice", job="j", task=task))
    job = state.jobs["j"]
    assert job.counts == {S.PENDING: 4, S.CANCELLED: 1}
    assert job.tasks[task].state is S.CANCELLED
    assert job.cancelled_by == ""


@pytest.mark.parametrize("before", [[], [*OVER, ended()]])
def test_a_cancel_of_what_is_unknown_or_ended_only_consumes_its_request(before: list[AnyEvent]) -> None:
    state = folded(*before)
    jobs = encode(state.jobs)
    folded(CancelRequested(request="c", user="alice", job="j"), state=state)
    for job in state.jobs.values():
        assert job.later == (1,), "its history knows of it"
        job.later = ()
    assert encode(state.jobs) == jobs
    assert "c" in state.requests


def test_a_requeued_job_waits_anew_and_counts_its_losses() -> None:
    state = folded(*OVER)
    state.now = NOON + timedelta(minutes=5)
    folded(ended(S.PENDING, C.LOST), state=state)
    job = state.jobs["j"]
    assert (job.since, job.submitted) == (state.now, NOON)
    assert (job.tasks[0].losses, job.tasks[0].failures) == (1, 0)
    folded(started(attempt=1), Voided(**{**J0, "attempt": 1}, worker=0), state=state)
    folded(ended(S.PENDING, C.PREEMPTED, attempt=1), state=state)
    assert job.tasks[0].losses == 0


def test_a_reclaim_lasts_until_its_job_starts_ends_or_may_not() -> None:
    other = submitted("other")
    base = [*RUNNING, other, stopping(for_job="other")]
    assert "other" in folded(*base).reclaims
    for event in (
        started(job="other"),
        ReclaimDropped(job="other"),
        CancelRequested(request="c", user="alice", job="other"),
    ):
        assert not folded(*base, event).reclaims, event


def test_nothing_is_kept_for_a_job_that_does_not_wait() -> None:
    cancelled = CancelRequested(request="c", user="alice", job="other")
    assert not folded(*RUNNING, submitted("other"), cancelled, stopping(for_job="other")).reclaims


def test_a_rejected_job_is_known_and_has_ended() -> None:
    state = folded(JobRejected(request="r", job="j", name="n", user="u", project="p", reason="why"))
    job = state.jobs["j"]
    assert (job.state, job.ended, job.reason) == (S.REJECTED, NOON, "why")
    assert not state.pending


def test_files_and_capacity() -> None:
    state = folded(
        FileChanged(file="quota", version="1", text="good"),
        FileBroken(file="quota", version="2", problem="bad"),
        FileBroken(file="config", version="1", problem="bad"),
        CapacityChanged(runner="a", resources={"v4": 1}),
        CapacityChanged(runner="b", resources={"v4": 1}),
        CapacityChanged(runner="b"),
        Epoch(epoch=4, host="h", pid=1, version="0"),
    )
    assert (state.files["quota"].text, state.files["quota"].problem) == ("good", "bad")
    assert state.files["config"].text is None
    assert state.capacity == {"a": {"v4": 1}, "b": None}
    assert state.epoch == 4
    folded(FileChanged(file="quota", version="3", text="new"), state=state)
    assert state.files["quota"].problem == ""


def test_what_is_forgotten_is_gone() -> None:
    state = folded(*OVER, ended(), RequestRejected(request="x", user="u", reason="why"))
    folded(Forgotten(jobs=["j"], requests=["r-j", "x", "never heard of"]), state=state)
    assert (state.jobs, state.requests, state.live, state.pending) == ({}, {}, {}, {})


HELD = Held(request="h", user="ann", job="j")

ILLEGAL: list[tuple[list[AnyEvent], AnyEvent, str]] = [
    ([], started(), "no job j"),
    ([submitted()], submitted(), "there already"),
    ([submitted()], JobRejected(request="x", job="j", name="j", user="u", project="p", reason=""), "there already"),
    ([submitted()], started(task=1), "no task 1"),
    ([submitted()], started(task=-1), "no task -1"),
    ([submitted()], started(attempt=1), "does not follow"),
    ([submitted()], started(workers=0), "has no worker"),
    ([submitted(), started()], started(), "does not follow"),
    ([submitted(), started()], started(attempt=1), "cannot go from PROVISIONING"),
    ([*OVER, ended()], started(attempt=1), "cannot go from SUCCEEDED"),
    ([submitted(count=2), CancelRequested(request="c", user="u", job="j")], started(), "no task 0"),
    ([submitted(), HELD], started(), "is held by ann since 2026"),
    ([submitted(), Paused(request="p", user="root")], started(), "the bastion is paused by root since 2026"),
    ([submitted("i"), submitted(after=["ok:i"])], started(), "j waits for ok:i"),
    (
        [submitted("i"), CancelRequested(request="c", user="u", job="i"), submitted(after=["ok:i"])],
        started(),
        "j waits for ok:i",
    ),
    (
        [submitted("i"), *RUNNING],
        Updated(request="t", user="ann", job="j", changes=Changes(after=["any:i"])),
        "j runs; it cannot wait for another job any more",
    ),
    (RUNNING, Topped(request="t", user="ann", job="j"), "does not wait"),
    ([*OVER, ended()], Updated(request="t", user="ann", job="j", changes=Changes(priority=1)), "has ended"),
    ([*OVER, ended()], HELD, "has ended"),
    ([], HELD, "no job j"),
    ([submitted()], claimed(), "is not live"),
    ([submitted(), started()], claimed(1), "no worker 1"),
    ([submitted(), started()], claimed(-1), "no worker -1"),
    ([submitted(), started()], claimed(attempt=-1), "is not live"),
    (RUNNING, claimed(), "seen or voided"),
    ([submitted(), started(), VOIDED], claimed(), "seen or voided"),
    ([submitted(), started(), VOIDED], VOIDED, "seen or voided"),
    (RUNNING, VOIDED, "seen or voided"),
    ([submitted(), started()], GONE, "never seen"),
    ([submitted(), started(), VOIDED], GONE, "never seen"),
    (OVER, GONE, "gone before"),
    ([*RUNNING, Exited(**J0, worker=0, cause=C.OK)], Exited(**J0, worker=0, cause=C.CODE), "has ended before"),
    ([*RUNNING, stopping()], stopping(), "cannot go from STOPPING"),
    (RUNNING, ended(), "may still run"),
    (OVER, ended(S.RUNNING), "cannot go from RUNNING"),
    (OVER, ended(S.REJECTED), "cannot go from RUNNING"),
    (
        [*RUNNING, CancelRequested(request="c", user="u", job="j"), stopping(C.CANCELLED), GONE],
        ended(S.PENDING),
        "CANC",
    ),
    ([*OVER, ended()], ended(), "is not live"),
    ([*OVER, ended()], stopping(), "is not live"),
    (RUNNING, Forgotten(jobs=["j"]), "has not ended"),
    ([*OVER, ended()], Forgotten(jobs=["j", "unknown"]), "no job unknown"),
]


@pytest.mark.parametrize(("before", "event", "told"), ILLEGAL, ids=[f"{n}-{row[2]}" for n, row in enumerate(ILLEGAL)])
def test_an_illegal_move_is_refused_and_changes_nothing(before: list[AnyEvent], event: AnyEvent, told: str) -> None:
    state = folded(*before)
    as_it_was = encode(state)
    with pytest.raises(IllegalMove, match=told):
        apply(state, event, 9, 9)
    assert encode(state) == as_it_was


def test_an_object_that_does_not_follow_is_refused() -> None:
    state = State()
    with pytest.raises(BastionError, match="expected 0"):
        fold(state, JournalObject(seq=1, epoch=1, nonce="n", now=NOON, events=[Illegal(what="x")]))
    assert state.seq == 0


def test_a_worker_is_unseen_seen_or_over() -> None:
    assert not Worker().seen
    assert not Worker().over
    assert Worker(machine="m").seen
    assert Worker(voided=True).over
    assert Worker(machine="m", gone=True).over
