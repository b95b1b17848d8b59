"""The journal of a simulated bastion: the events of a real one, and a state that holds only what is going on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest

from bastion.journal.fold import fold
from bastion.model.errors import BastionError
from bastion.model.settings.config import Config
from bastion.model.state.state import State
from bastion.model.stored.events import CapacityChanged, Decided, Saved, Started, Stopping
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.demand import Schedule
from bastion.quota.policy.scheduler import POLICIES
from bastion.schedule.plan import DecisionInputs
from bastion.simulate import trace
from bastion.simulate.simulation import Simulation
from bastion.simulate.workload import WorkPace
from tests.unit.bastion.simulate.test_run import BORROWER, HEADS, OWNER, halves

MINUTE = timedelta(minutes=1)


def world(*rows: str, policy: str = "axlearn", **pace: timedelta) -> Simulation:
    inputs = DecisionInputs(quota=halves(), config=Config(policy=policy))
    how = WorkPace(**{"checkpoint": 10 * MINUTE, **pace})
    return Simulation([CapacityChanged(runner="local")], inputs, trace.read([HEADS, *rows], "gpu"), how)


def events(records: Iterable[JournalObject]) -> list[tuple[float, str]]:
    """When what happened, by the names of the events."""
    return [
        ((record.now - trace.EPOCH).total_seconds(), " ".join(type(event).__name__ for event in record.events))
        for record in records
    ]


def test_it_is_the_journal_of_a_bastion() -> None:
    assert events(world("60,600,8,nlp,,").run()) == [
        (60, "CapacityChanged Submitted Decided Started Claimed"),
        (660, "Exited Gone Ended Forgotten Decided"),
    ]


def test_who_makes_way_is_gone_in_the_next_turn_of_the_same_moment() -> None:
    assert events(world(BORROWER, OWNER).run())[1:4] == [
        (1000, "Saved Submitted Decided Stopping"),
        (1000, "Gone Ended Decided Started Claimed"),
        (4600, "Exited Gone Ended Forgotten Decided Started Claimed"),
    ]


def test_the_journal_folds_to_the_state_that_was_decided_on() -> None:
    there, again = world(BORROWER, OWNER, "1500,60,2,nlp,,"), State()
    for record in there.run():
        fold(again, record)
        assert (again.live, again.pending, again.seq) == (there.state.live, there.state.pending, there.state.seq)


def test_jobs_that_ended_leave_the_state() -> None:
    there = world(*(f"{at},{at % 7},1,nlp,," for at in range(100)))
    most = max(len(there.state.jobs) for _ in there.run())

    assert most < 10
    assert (there.state.jobs, there.state.requests, there.state.live) == ({}, {}, {})


def test_a_first_checkpoint_is_told_once_and_how_often_more_follow() -> None:
    rows = (BORROWER, OWNER, "1700,60,1,nlp,,", "1800,60,1,nlp,,", "6000,60,1,nlp,,")
    records = list(world(*rows, restart=2 * MINUTE).run())
    saved = [(event.key.job, event.key.attempt, event.at, event.every_s) for record in records
             for event in record.events if isinstance(event, Saved)]  # fmt: skip

    assert saved == [
        ("line-2", 0, trace.EPOCH + 10 * MINUTE, 600),
        ("line-3", 0, trace.EPOCH + timedelta(seconds=1600), 600),
        ("line-2", 1, trace.EPOCH + timedelta(seconds=4600) + 12 * MINUTE, 600),  # after a restart
    ]


def test_every_decision_has_its_marker() -> None:
    there = world(BORROWER, OWNER)
    markers = [event for record in there.run() for event in record.events if isinstance(event, Decided)]

    assert len(markers) == there.decisions
    assert [marker.events for marker in markers] == [1, 1, 1, 1, 0]


def test_ticks_are_counted_from_the_first_job_on() -> None:
    starts = [
        record.now - trace.EPOCH
        for record in world("7,60,1,nlp,,", "8,60,1,nlp,,", "77,60,1,nlp,,", tick=10 * MINUTE).run()
        for event in record.events
        if isinstance(event, Started)
    ]
    assert starts == [timedelta(seconds=7), timedelta(seconds=607), timedelta(seconds=607)]


def test_a_policy_that_never_rests_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bastion.schedule.plan.POLICIES", {**POLICIES, "axlearn": lambda now, **_: Schedule(again=now)})

    with pytest.raises(BastionError, match="the policy axlearn does not come to an end at 2000-01-01"):
        list(world("0,60,1,nlp,,").run())


def test_a_policy_that_asks_in_vain_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "bastion.schedule.plan.POLICIES", {**POLICIES, "axlearn": lambda now, **_: Schedule(again=now + MINUTE)}
    )
    there = world("0,60,1,nlp,,")

    assert len(list(there.run())) <= 1_001
    assert list(there.state.pending) == ["line-2"]


def test_a_policy_that_starts_nobody_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bastion.schedule.plan.POLICIES", {**POLICIES, "axlearn": lambda **_: Schedule()})
    there = world("0,60,1,nlp,,", "5,60,1,nlp,,")

    assert not any(isinstance(event, (Started, Stopping)) for record in there.run() for event in record.events)
    assert list(there.state.pending) == ["line-2", "line-3"]
