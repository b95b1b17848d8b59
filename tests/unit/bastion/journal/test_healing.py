"""A journal that ran ahead is brought back: no time that it gave lies ahead, what users chose stays, the early acts are told."""

from __future__ import annotations

from datetime import timedelta

from bastion.cli.bastion.parts.heal_time import did
from bastion.journal.fold import apply
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import Epoch, Lapsed, Started, Stopping, Submitted
from bastion.model.stored.journal_object import JournalObject
from bastion.schedule.ledger import BY, Ledger
from bastion.schedule.time_integral import Window
from tests.support.world import NOON, World, spec

AHEAD = timedelta(days=3)
BEGIN, DEADLINE = NOON + timedelta(days=1), NOON + timedelta(days=2)


HEALED = Epoch(epoch=7, host="h", pid=1, version="0.1.0", healed_by="root")


def poisoned() -> tuple[World, str]:
    """A world three days ahead, in which a job of tomorrow was started."""
    world = World()
    world.clock.now += AHEAD.total_seconds()
    job = "j-11111111"
    wanted = spec(name="j", resources={"v4": 1}, begin=BEGIN, deadline=DEADLINE + AHEAD)
    world.happens(Submitted(request="alice/1", job=job, spec=wanted))
    world.happens(Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1))
    return world, job


def test_no_time_that_the_journal_gave_lies_ahead_any_more() -> None:
    world, job = poisoned()
    state = world.journal.state
    assert state.now == NOON + AHEAD
    state.now = NOON
    apply(state, HEALED, 9, 0)
    known = state.jobs[job]
    assert (known.submitted, known.since, known.tasks[0].attempts[0].started) == (NOON, NOON, NOON)
    assert set(state.requests.values()) == {NOON}
    assert (known.begin, known.deadline) == (BEGIN, DEADLINE + AHEAD), "these are the user's"
    assert state.deadlines == [(DEADLINE + AHEAD, job)]


def test_what_the_wrong_time_did_is_told() -> None:
    world, job = poisoned()
    state, at = world.journal.state, {"job": job, "task": 0, "attempt": 0}
    events = [
        Started(**at, runner="local", tier=0, workers=1),
        Stopping(**at, cause=Cause.DEADLINE, deadline=NOON, reason=""),
        Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason=""),
        Lapsed(job=job, outcome=JobState.TIMEOUT, reason=""),
    ]
    assert list(did(state, events, NOON)) == [
        f"{job}/0/0 was started 1d before its --begin",
        f"{job} was ended 5d before its --deadline",
        f"{job} was ended 5d before its --deadline",
    ]
    assert list(did(state, events, NOON + 2 * AHEAD)) == []


def test_usage_goes_on_behind_a_time_that_ran_ahead() -> None:
    ledger = Ledger(Window(NOON, NOON + timedelta(hours=2)), BY["user"], State())
    ledger.closes = False
    wanted = spec(name="j", resources={"v4": 1})
    at = {"job": "j-1", "task": 0, "attempt": 0}
    records = [
        (0.0, Submitted(request="alice/1", job="j-1", spec=wanted)),
        (72.0, HEALED),
        (1.0, Started(**at, runner="local", tier=0, workers=1)),  # type: ignore[arg-type]
    ]
    for seq, (hours, event) in enumerate(records):
        now = NOON + timedelta(hours=hours)
        assert ledger.take(JournalObject(seq=seq, epoch=1, nonce="n", now=now, events=[event]))
    ledger.close()
    assert sum(ledger.entries["alice"].held["v4"].sums) == 3_600_000_000
