"""What decisions are told of those who hold and wait: how safe their work is, how often they were stopped, until when."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bastion.journal.fold import apply
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Attempt, Cause, Job, JobState, State
from bastion.model.stored.events import AnyEvent, Claimed, Ended, Gone, Saved, Started, Stopping, Submitted, Updated
from bastion.quota.demand import LEFT, Holding, Schedule, Stop
from bastion.quota.quota import Quota
from bastion.schedule.held_work import saved, until
from bastion.schedule.pending import PendingJobs
from bastion.schedule.plan import stops, unsettled
from tests.support.doors import folded
from tests.support.world import NOON, spec

AT: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
QUOTA = Quota.open()


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def running(**fields: Any) -> State:
    return folded(
        Submitted(request="r", job="j", spec=spec(**fields)),
        Started(**AT, runner="local", tier=0, workers=1),
        Claimed(**AT, worker=0, machine="m"),
    )


def live(state: State) -> tuple[Job, Attempt]:
    attempt = state.attempt(AttemptKey("j", 0, 0))
    assert attempt
    return state.jobs["j"], attempt


def board_hold(state: State, pending: PendingJobs, now: datetime = NOON) -> Holding:
    return pending.bring_up(state, QUOTA, now).holds["j", 0]


def test_what_is_held_by_who_left_is_in_the_name_of_nobody_that_has_a_share() -> None:
    state, quota = running(), Quota(tiers=({"v4": 8},), members={"nlp": ("eve",)})
    project = state.jobs["j"].project
    pending = PendingJobs()
    assert pending.bring_up(state, quota, NOON).holds["j", 0].project == f"{project} (members who left)"
    assert (
        pending.bring_up(state, quota, NOON, LEFT - 1).holds["j", 0].project == project
    )  # as of before, and for axlearn
    assert pending.bring_up(state, QUOTA, NOON).holds["j", 0].project == project


def stop(**fields: Any) -> Stopping:
    return Stopping(**AT, cause=Cause.PREEMPTED, deadline=after(600), reason="", **fields)


def ended(cause: Cause) -> tuple[AnyEvent, ...]:
    return Gone(**AT, worker=0), Ended(**AT, cause=cause, outcome=JobState.PENDING, reason="")


def test_an_attempt_ends_by_its_time_limit_or_by_the_deadline_of_its_stop() -> None:
    assert until(*live(running())) is None
    assert until(*live(running(deadline=after(900), grace_s=5.0))) == after(905)
    assert until(*live(running(deadline=after(900), time_limit_s=60.0))) == after(60)
    state = running(time_limit_s=3600.0)
    assert until(*live(state)) == after(3600)
    folded(stop(), state=state)
    assert until(*live(state)) == after(600)


def test_after_the_start_of_one_that_was_stopped_the_rest_of_its_array_is_asked_for_again() -> None:
    state = running(count=2)
    again = {**AT, "attempt": 1}
    assert not unsettled(state, [Started(**AT, runner="local", tier=0, workers=1)])
    assert unsettled(state, [Started(**again, runner="local", tier=0, workers=1)])
    assert not unsettled(running(), [Started(**again, runner="local", tier=0, workers=1)]), "nothing of it waits"


def test_before_it_runs_its_time_limit_counts_from_its_start() -> None:
    state = folded(
        Submitted(request="r", job="j", spec=spec(time_limit_s=60.0)),
        Started(**AT, runner="local", tier=0, workers=1),
    )
    assert until(*live(state)) == after(60)


@example(0, 60.0, 100)
@given(st.none() | st.integers(0, 10_000), st.none() | st.floats(1, 5_000), st.integers(0, 20_000))
def test_what_is_not_saved_is_counted_alike_by_readers_and_by_the_policy(
    at_s: int | None, every_s: float | None, now_s: int
) -> None:
    state = running()
    if at_s is not None:
        folded(Saved(**AT, at=after(at_s), every_s=every_s), state=state)
    _, attempt = live(state)
    known, now = saved(attempt, after(now_s)), after(now_s)
    hold = Holding(
        job="j", project="p", user="u", demand={}, priority=5, order=0, since=attempt.started, saved=attempt.saved,
        every_s=attempt.every_s,
    )  # fmt: skip
    assert hold.unsaved_s(now) == (now - (known or NOON)).total_seconds()
    assert known is None or NOON <= known <= now
    if known and every_s and at_s is not None and now_s >= at_s:
        assert now_s - every_s - 1e-3 <= (known - NOON).total_seconds() <= now_s


def test_a_checkpoint_of_before_the_attempt_saves_nothing_of_it() -> None:
    state = running()
    folded(Saved(**AT, at=after(-500)), state=state)
    assert saved(live(state)[1], after(60)) == NOON
    assert board_hold(state, PendingJobs()).unsaved_s(after(60)) == 60


def test_the_policy_is_told_of_checkpoints_limits_and_past_stops() -> None:
    state, pending = running(time_limit_s=3600.0), PendingJobs()
    assert (board_hold(state, pending).saved, board_hold(state, pending).stops) == (None, 0)

    def happens(*events: AnyEvent) -> None:
        for event in events:
            apply(state, event, 1, 0)
            pending.note(state, event)

    happens(Saved(**AT, at=after(60), every_s=30.0))
    told = board_hold(state, pending)
    assert (told.saved, told.every_s, told.until, told.stops) == (after(60), 30.0, after(3600), 0)
    happens(Updated(request="q", user="u", job="j", changes=Changes(time_limit_s=7200.0)))
    assert board_hold(state, pending).until == after(7200)
    happens(stop(), *ended(Cause.PREEMPTED))
    want = pending.bring_up(state, QUOTA, NOON).wants["j"]
    assert (want.stops, want.stopped, want.time_limit_s) == (1, NOON, 7200.0)
    happens(Started(**{**AT, "attempt": 1}, runner="local", tier=0, workers=1))
    told = board_hold(state, pending)
    assert (told.saved, told.every_s, told.stops) == (None, None, 1), "a new attempt has to save by itself"
    assert told == board_hold(state, PendingJobs())


@pytest.mark.parametrize(("cause", "count"), [(Cause.PREEMPTED, 1), (Cause.OK, 0), (Cause.LOST, 0)])
def test_only_who_was_really_stopped_for_others_is_counted_as_stopped(cause: Cause, count: int) -> None:
    state = folded(stop(), *ended(cause), state=running())
    assert state.jobs["j"].tasks[0].stops == count
    want = PendingJobs().bring_up(state, QUOTA, NOON).wants["j"]
    assert (want.stops, want.stopped) == ((count, NOON) if count else (0, None))


def test_what_a_stop_costs_is_in_the_journal() -> None:
    state = running()
    (event,) = stops(state, Schedule(stops=(Stop("j", 0, None, "why", 90.0),)), NOON)
    assert event.lost_s == 90.0
    assert live(folded(event, state=state))[1].lost_s == 90.0
