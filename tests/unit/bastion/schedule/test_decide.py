"""What becomes of attempts: who is stopped, why each ended, where its task goes, and what may be forgotten."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Claimed,
    Ended,
    Exited,
    Forgotten,
    Gone,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
    Updated,
    Voided,
)
from bastion.schedule import lifecycle
from bastion.schedule.held_work import finish_by
from bastion.schedule.lifecycle import FORGET_AT_ONCE, FORMING, KEEP_REQUESTS, forget, settle
from tests.support.doors import folded
from tests.support.world import NOON, spec

J0: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
S, C = JobState, Cause
CANCEL = CancelRequested(request="c", user="bob", job="j")
CANCEL_TASK = CancelRequested(request="c", user="bob", job="j", task=0)


def gang(workers: int, **fields: Any) -> list[AnyEvent]:
    return [
        Submitted(request="r", job="j", spec=spec(replicas=workers, **fields)),
        Started(**J0, runner="local", tier=0, workers=workers),
        *(Claimed(**J0, worker=worker, machine=f"m{worker}") for worker in range(workers)),
    ]


def exited(worker: int, cause: Cause, code: int | None = None, message: str = "") -> Exited:
    return Exited(**J0, worker=worker, cause=cause, exit_code=code, message=message)


def gone(*workers: int) -> list[AnyEvent]:
    return [Gone(**J0, worker=worker) for worker in workers]


def stopped(cause: Cause, code: int | None = None) -> Stopping:
    return Stopping(**J0, cause=cause, deadline=NOON, reason="why", exit_code=code)


def settled(*events: AnyEvent, after: timedelta = timedelta(0)) -> list[Stopping | Ended]:
    return list(settle(folded(*events), NOON + after))


def end_of(*events: AnyEvent) -> Ended:
    [event] = settled(*events)
    assert isinstance(event, Ended)
    return event


def stop_of(*events: AnyEvent, after: timedelta = timedelta(0)) -> Stopping:
    [event] = settled(*events, after=after)
    assert isinstance(event, Stopping)
    return event


# Ends

VERDICTS: list[tuple[list[AnyEvent], Cause, int | None, JobState]] = [
    ([exited(0, C.OK, 0)], C.OK, 0, S.SUCCEEDED),
    ([exited(0, C.CODE, 3)], C.CODE, 3, S.FAILED),
    ([exited(0, C.SIGNAL, 139)], C.SIGNAL, 139, S.FAILED),
    ([exited(0, C.OOM, 137)], C.OOM, 137, S.FAILED),
    ([exited(0, C.SETUP)], C.SETUP, None, S.FAILED),
    ([exited(0, C.TIME_LIMIT, 143)], C.TIME_LIMIT, 143, S.TIMEOUT),
    ([], C.LOST, None, S.PENDING),
    ([exited(0, C.LOST, 143)], C.LOST, 143, S.PENDING),
    # exit 0 wins over whatever was asked of it
    ([stopped(C.PREEMPTED), exited(0, C.OK, 0)], C.OK, 0, S.SUCCEEDED),
    ([CANCEL, stopped(C.CANCELLED), exited(0, C.OK, 0)], C.OK, 0, S.SUCCEEDED),
    ([stopped(C.LOST), exited(0, C.OK, 0)], C.OK, 0, S.SUCCEEDED),
    # then its own failure
    ([stopped(C.PREEMPTED), exited(0, C.CODE, 3)], C.CODE, 3, S.FAILED),
    ([stopped(C.LOST), exited(0, C.CODE, 3)], C.CODE, 3, S.FAILED),
    ([CANCEL, stopped(C.CANCELLED), exited(0, C.CODE, 3)], C.CODE, 3, S.CANCELLED),
    # then what was asked
    ([stopped(C.PREEMPTED), exited(0, C.PREEMPTED, 143)], C.PREEMPTED, 143, S.PENDING),
    ([stopped(C.PREEMPTED)], C.PREEMPTED, None, S.PENDING),
    ([CANCEL, stopped(C.CANCELLED), exited(0, C.CANCELLED, 143)], C.CANCELLED, 143, S.CANCELLED),
    ([CANCEL_TASK, stopped(C.CANCELLED), exited(0, C.CANCELLED, 143)], C.CANCELLED, 143, S.CANCELLED),
    ([CANCEL, exited(0, C.LOST)], C.CANCELLED, None, S.CANCELLED),
    ([stopped(C.PREEMPTED), CANCEL], C.CANCELLED, None, S.CANCELLED),
    ([stopped(C.LOST)], C.LOST, None, S.PENDING),
]


@pytest.mark.parametrize(("events", "cause", "code", "outcome"), VERDICTS, ids=[str(n) for n in range(len(VERDICTS))])
def test_why_a_worker_ended_and_what_follows(
    events: list[AnyEvent], cause: Cause, code: int | None, outcome: JobState
) -> None:
    end = end_of(*gang(1), *events, *gone(0))
    assert (end.cause, end.exit_code, end.outcome) == (cause, code, outcome)
    assert end.reason


GANGS: list[tuple[list[AnyEvent], Cause, int | None]] = [
    ([exited(0, C.OK, 0), exited(1, C.OK, 0)], C.OK, 0),
    ([exited(0, C.OK, 0)], C.LOST, None),
    # the first failing code is the attempt's, whatever the number of its worker
    ([exited(1, C.CODE, 3), stopped(C.CODE, 3), exited(0, C.CODE, 143)], C.CODE, 3),
    ([exited(0, C.CODE, 3), stopped(C.CODE, 3), exited(1, C.CODE, 143)], C.CODE, 3),
    ([exited(0, C.OK, 0), exited(1, C.CODE, 3)], C.CODE, 3),
    ([exited(1, C.TIME_LIMIT, 143), stopped(C.TIME_LIMIT, 143), exited(0, C.CODE, 1)], C.TIME_LIMIT, 143),
    ([exited(1, C.SETUP), stopped(C.SETUP), exited(0, C.SETUP)], C.SETUP, None),
    # what breaks because another's machine is lost is not the user's failure
    ([*gone(1), stopped(C.LOST), exited(0, C.CODE, 1)], C.LOST, 1),
    ([exited(1, C.LOST, 143), stopped(C.LOST), exited(0, C.CODE, 1)], C.LOST, 1),
    ([stopped(C.PREEMPTED), exited(0, C.PREEMPTED, 143), exited(1, C.OK, 0)], C.PREEMPTED, 143),
]


@pytest.mark.parametrize(("events", "cause", "code"), GANGS, ids=[str(n) for n in range(len(GANGS))])
def test_why_a_gang_ended(events: list[AnyEvent], cause: Cause, code: int | None) -> None:
    gone_before = {event.worker for event in events if isinstance(event, Gone)}
    end = end_of(*gang(2), *events, *gone(*({0, 1} - gone_before)))
    assert (end.cause, end.exit_code) == (cause, code)


def test_one_that_fails_stops_the_others_with_its_own_code_and_words() -> None:
    state = folded(*gang(2), exited(1, C.CODE, 3, "ValueError: no"))
    [stop] = settle(state, NOON)
    folded(stop, exited(0, C.CODE, 143, "worker 1: ..."), *gone(0, 1), state=state)
    [end] = settle(state, NOON)
    assert isinstance(end, Ended)
    assert (end.cause, end.exit_code, end.reason) == (C.CODE, 3, "worker 1: exit code 3: ValueError: no")


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (C.TIME_LIMIT, "time limit reached"),
        (C.OOM, "out of memory"),
        (C.SETUP, "set-up failed"),
        (C.SIGNAL, "exit code 9"),
    ],
)
def test_the_reason_says_what_happened(cause: Cause, told: str) -> None:
    assert end_of(*gang(1), exited(0, cause, 9), *gone(0)).reason == told


def test_nobody_who_never_came_up_has_run() -> None:
    events = [*gang(1)[:2], stopped(C.VOID), Voided(**J0, worker=0)]
    end = end_of(*events)
    assert (end.cause, end.outcome) == (C.VOID, S.PENDING)


def test_a_cancelled_attempt_that_was_voided_is_cancelled() -> None:
    end = end_of(*gang(1)[:2], CANCEL, stopped(C.CANCELLED), Voided(**J0, worker=0))
    assert (end.cause, end.outcome) == (C.CANCELLED, S.CANCELLED)


def test_an_attempt_with_a_worker_that_may_run_does_not_end() -> None:
    assert settled(*gang(2), exited(0, C.OK, 0), exited(1, C.OK, 0), *gone(0)) == []


# Tries


def again(state: State, cause: Cause) -> Ended:
    """One more attempt that ends so, folded."""
    number = len(state.jobs["j"].tasks[0].attempts) if state.jobs["j"].tasks else 0
    at: dict[str, Any] = {**J0, "attempt": number}
    own = [] if cause in (C.LOST, C.VOID) else [Exited(**at, worker=0, cause=cause, exit_code=1)]
    folded(Started(**at, runner="local", tier=0, workers=1), Claimed(**at, worker=0, machine="m"), state=state)
    folded(*own, Gone(**at, worker=0), state=state)
    [end] = settle(state, NOON)
    assert isinstance(end, Ended)
    folded(end, state=state)
    return end


def test_tries_are_used_up_by_failures_only() -> None:
    state = folded(Submitted(request="r", job="j", spec=spec(max_tries=2, retry_interval_s=7)))
    assert [again(state, C.LOST).outcome for _ in range(5)] == [S.PENDING] * 5
    first = again(state, C.CODE)
    assert (first.outcome, first.ready_at) == (S.PENDING, NOON + timedelta(seconds=7))
    assert again(state, C.LOST).outcome is S.PENDING
    assert again(state, C.SIGNAL).outcome is S.FAILED


def test_a_retry_without_interval_is_ready_at_once() -> None:
    state = folded(Submitted(request="r", job="j", spec=spec(max_tries=2, retry_interval_s=0)))
    assert again(state, C.CODE).ready_at is None


def test_losses_in_a_row_back_off_and_a_failure_resets_them() -> None:
    state = folded(Submitted(request="r", job="j", spec=spec(max_tries=9, retry_interval_s=0)))
    waits = [again(state, C.LOST).ready_at for _ in range(7)]
    assert [wait and (wait - NOON).total_seconds() for wait in waits] == [None, 30, 90, 270, 810, 900, 900]
    again(state, C.CODE)
    assert again(state, C.LOST).ready_at is None


def test_a_loss_after_thousands_still_has_a_wait() -> None:
    assert lifecycle._backoff(100_000) == timedelta(minutes=15)


# Crash loops


def crashes(
    state: State,
    cause: Cause,
    code: int,
    message: str,
    *,
    saved: bool = False,
    lasts_s: float = 1,
    stop: Cause | None = None,
) -> Ended:
    """One more attempt of the job's only task that ends so, after so long."""
    number = len(state.jobs["j"].tasks[0].attempts) if state.jobs["j"].tasks else 0
    at: dict[str, Any] = {**J0, "attempt": number}
    end = NOON + timedelta(seconds=lasts_s)
    exited = Exited(**at, worker=0, cause=cause, exit_code=code, message=message, saved=saved, started=NOON, ended=end)
    stops = [Stopping(**at, cause=stop, deadline=NOON, reason="why")] if stop else []
    folded(Started(**at, runner="local", tier=0, workers=1), Claimed(**at, worker=0, machine="m"), state=state)
    folded(*stops, exited, Gone(**at, worker=0), state=state)
    [ended] = settle(state, NOON + timedelta(seconds=lasts_s))
    assert isinstance(ended, Ended)
    folded(ended, state=state)
    return ended


def tries(**fields: Any) -> State:
    return folded(Submitted(request="r", job="j", spec=spec(max_tries=1000, retry_interval_s=0, **fields)))


BUG = "RuntimeError: no shard 3 in /data/a.bin at 0x7f00"
SAME = (C.CODE, 1, "RuntimeError: no shard 17 in /tmp/b/c.bin at 0xdeadbeef")
LOOPS: list[tuple[dict[str, Any], dict[str, Any], tuple[Cause, int, str], JobState]] = [
    ({}, {}, (C.CODE, 1, BUG), S.FAILED),
    ({}, {}, SAME, S.FAILED),
    ({}, {}, (C.CODE, 1, "RuntimeError: another"), S.PENDING),
    ({}, {}, (C.CODE, 2, BUG), S.PENDING),
    ({}, {}, (C.SIGNAL, 1, BUG), S.PENDING),
    ({"saved": True}, {}, SAME, S.PENDING),
    ({}, {"saved": True}, SAME, S.PENDING),
    ({"lasts_s": 120}, {}, SAME, S.PENDING),
    ({}, {"lasts_s": 120}, SAME, S.PENDING),
    ({"lasts_s": 119}, {"lasts_s": 119}, SAME, S.FAILED),
    ({"stop": C.PREEMPTED}, {}, SAME, S.PENDING),
]


@pytest.mark.parametrize(("first", "second", "end", "outcome"), LOOPS, ids=[str(n) for n in range(len(LOOPS))])
def test_the_same_error_twice_without_progress_is_enough(
    first: dict[str, Any], second: dict[str, Any], end: tuple[Cause, int, str], outcome: JobState
) -> None:
    state = tries()
    assert crashes(state, C.CODE, 1, BUG, **first).outcome is S.PENDING
    assert crashes(state, *end, **second).outcome is outcome


def test_it_is_told_which_error_and_how_to_try_on() -> None:
    state = tries()
    crashes(state, C.CODE, 1, "RuntimeError: same bug")
    told = "the same error twice without progress: RuntimeError: same bug; --no_crash_guard retries anyway"
    assert crashes(state, C.CODE, 1, "RuntimeError: same bug").reason == told


def test_without_the_guard_all_tries_are_used() -> None:
    state = tries(crash_guard=False)
    assert {crashes(state, C.CODE, 1, BUG).outcome for _ in range(5)} == {S.PENDING}


def test_an_update_lets_it_try_on_or_not() -> None:
    state = tries()
    crashes(state, C.CODE, 1, BUG)
    folded(Updated(request="u", user="bob", job="j", changes=Changes(crash_guard=False)), state=state)
    assert crashes(state, C.CODE, 1, BUG).outcome is S.PENDING
    folded(Updated(request="v", user="bob", job="j", changes=Changes(crash_guard=True)), state=state)
    assert crashes(state, C.CODE, 1, BUG).outcome is S.FAILED


def test_the_error_of_another_command_is_another() -> None:
    state = tries()
    crashes(state, C.CODE, 1, BUG)
    folded(Updated(request="u", user="bob", job="j", changes=Changes(command="new", bundle=BundleRef())), state=state)
    assert crashes(state, C.CODE, 1, BUG).outcome is S.PENDING
    assert crashes(state, C.CODE, 1, BUG).outcome is S.FAILED


def test_a_checkpoint_gives_the_tries_before_it_back_but_not_its_own() -> None:
    state = folded(Submitted(request="r", job="j", spec=spec(max_tries=2, retry_interval_s=0)))
    assert [crashes(state, C.CODE, 1, BUG, saved=True).outcome for _ in range(9)] == [S.PENDING] * 9
    assert crashes(state, C.CODE, 1, "ValueError: no").outcome is S.FAILED
    assert state.jobs["j"].tasks[0].failures == 2
    single = folded(Submitted(request="r", job="j", spec=spec(max_tries=1)))
    assert crashes(single, C.CODE, 1, BUG, saved=True).outcome is S.FAILED


# Stops


@pytest.mark.parametrize("cancel", [CANCEL, CANCEL_TASK])
def test_a_cancelled_attempt_is_stopped_with_its_grace(cancel: CancelRequested) -> None:
    stop = stop_of(*gang(1, grace_s=40), cancel)
    assert (stop.cause, stop.deadline) == (C.CANCELLED, NOON + timedelta(seconds=40))
    assert "cancelled by" in stop.reason


@pytest.mark.parametrize("cause", [C.CODE, C.SIGNAL, C.OOM, C.SETUP, C.TIME_LIMIT, C.LOST])
def test_one_that_fails_stops_the_others(cause: Cause) -> None:
    stop = stop_of(*gang(3), exited(2, cause, 3, "boom"))
    assert stop.cause is cause
    assert stop.reason.startswith("worker 2: ")


def test_one_whose_machine_vanished_stops_the_others() -> None:
    stop = stop_of(*gang(3), *gone(1))
    assert (stop.cause, stop.reason) == (C.LOST, "the machine of worker 1 is gone")


@pytest.mark.parametrize("events", [[exited(0, C.OK, 0)], [exited(0, C.OK, 0), *gone(0)]])
def test_one_that_succeeds_stops_nobody(events: list[AnyEvent]) -> None:
    assert settled(*gang(2), *events) == []


RUNS_ON = [*gang(3, finish_timeout_s=60), exited(0, C.OK, 0), exited(2, C.OK, 0)]


def test_who_runs_on_after_the_first_has_succeeded_is_stopped_in_time() -> None:
    assert settled(*RUNS_ON, after=timedelta(seconds=59)) == []
    stop = stop_of(*RUNS_ON, after=timedelta(seconds=60))
    told = "rank 1 still ran 1m after rank 0 had ended with 0; --finish_timeout=0 waits for ever"
    assert (stop.cause, stop.reason, stop.exit_code) == (C.STRAGGLED, told, None)


@pytest.mark.parametrize(("cause", "outcome"), [(C.STRAGGLED, S.FAILED), (C.OK, S.SUCCEEDED)])
def test_a_straggler_fails_its_gang_unless_it_ends_well_after_all(cause: Cause, outcome: JobState) -> None:
    state = folded(*RUNS_ON)
    [stop] = settle(state, NOON + timedelta(seconds=60))
    folded(stop, exited(1, cause, 0 if cause is C.OK else 143), *gone(0, 1, 2), state=state)
    [end] = settle(state, NOON + timedelta(seconds=61))
    assert isinstance(end, Ended)
    assert (end.cause, end.outcome) == (cause, outcome)


@pytest.mark.parametrize(
    "events",
    [
        [*gang(2, finish_timeout_s=0), exited(0, C.OK, 0)],
        [*gang(2, finish_timeout_s=60)],
        [*gang(2, finish_timeout_s=60), exited(0, C.OK, 0), exited(1, C.OK, 0)],
        [
            *gang(2, finish_timeout_s=60),
            Updated(request="u", user="bob", job="j", changes=Changes(finish_timeout_s=0.0)),
            exited(0, C.OK, 0),
        ],
    ],
    ids=["for ever", "none has ended", "all have ended", "an update says for ever"],
)
def test_nobody_straggles(events: list[AnyEvent]) -> None:
    assert settled(*events, after=timedelta(days=9)) == []


def test_readers_know_until_when_the_rest_of_a_gang_may_run() -> None:
    job = folded(*RUNS_ON).jobs["j"]
    assert finish_by(job, job.tasks[0].attempts[0]) == NOON + timedelta(seconds=60)


def test_one_that_fails_alone_stops_nobody() -> None:
    assert settled(*gang(1), exited(0, C.CODE, 3)) == []


def test_what_stops_is_not_stopped_again() -> None:
    assert settled(*gang(2), stopped(C.PREEMPTED), exited(0, C.CODE, 3), after=FORMING) == []


def test_a_gang_that_does_not_come_up_in_time_is_given_up() -> None:
    events = [*gang(3)[:-1]]
    assert settled(*events, after=FORMING - timedelta(seconds=1)) == []
    stop = stop_of(*events, after=FORMING)
    assert (stop.cause, stop.reason) == (C.VOID, "1 of 3 workers did not come up in 10 min")


def test_a_gang_that_has_formed_is_left_alone() -> None:
    assert settled(*gang(3), after=10 * FORMING) == []


# Forgetting

DAY = KEEP_REQUESTS + timedelta(seconds=1)
ENDED: list[AnyEvent] = [
    *gang(1),
    exited(0, C.OK, 0),
    *gone(0),
    Ended(**J0, cause=C.OK, outcome=S.SUCCEEDED, reason="", exit_code=0),
]
NOISE = RequestRejected(request="x", user="u", reason="why")


def forgotten(*events: AnyEvent, after: timedelta, listed: frozenset[str] = frozenset()) -> list[str]:
    return [request for event in forget(folded(*events), listed, NOON + after) for request in event.requests]


def test_a_request_is_known_for_a_day() -> None:
    assert forgotten(NOISE, after=KEEP_REQUESTS) == []
    assert forgotten(NOISE, after=DAY) == ["x"]


def test_a_request_that_the_inbox_still_shows_is_known() -> None:
    assert forgotten(NOISE, after=DAY, listed=frozenset({"x"})) == []


@pytest.mark.parametrize("events", [gang(1), ENDED])
def test_a_job_keeps_its_request(events: list[AnyEvent]) -> None:
    assert forgotten(*events, NOISE, after=1000 * DAY) == ["x"]


def test_a_cancelled_job_outlives_the_request_that_cancelled_it() -> None:
    assert forgotten(gang(1)[0], CANCEL, after=DAY) == ["c"]


def test_much_is_forgotten_in_events_that_fit_into_the_journal() -> None:
    state = State(now=NOON)
    for number in range(2 * FORGET_AT_ONCE + 1):
        state.requests[f"{number:032}"] = NOON
    found = list(forget(state, frozenset(), NOON + DAY))
    assert len(found) == 3
    assert all(len(event.requests) <= FORGET_AT_ONCE for event in found)
    folded(*found, state=state)
    assert not state.requests
    assert all(isinstance(event, Forgotten) for event in found)
