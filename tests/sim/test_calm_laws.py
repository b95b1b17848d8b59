"""What may wait beside free room: who was stopped for others again and again, until it has rested."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.journal.fold import fold
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Ended,
    FileChanged,
    Started,
    Stopping,
    Submitted,
    Voided,
)
from bastion.model.stored.journal_object import JournalObject
from tests.simulation.calm_laws import LOOK_S, SETTLE_S, SLOW, START_S, CalmLaws
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import START
from tests.simulation.parts.pace import CAPACITY
from tests.simulation.parts.plan import Plan
from tests.simulation.scene import QUOTA, Scene
from tests.support.world import spec

STOPPED_AT = 100.0


@pytest.mark.parametrize(
    ("stops", "v4", "rests_s"),
    [(2, 4, 0.0), (3, 4, 360.0), (4, 4, 720.0), (4, 3, 0.0)],
    ids=["twice", "three times", "four times", "within its share"],
)
def test_who_was_stopped_again_and_again_is_lent_nothing_for_a_while(stops: int, v4: int, rests_s: float) -> None:
    scene, due = _stopped(stops, v4), STOPPED_AT + max(rests_s / SLOW, SETTLE_S)
    laws = CalmLaws(scene)
    _look_until(laws, due)
    with pytest.raises(Broken, match=r"j waits at .* while .* is free"):
        _look_until(laws, due + START_S + 2 * LOOK_S)


def _stopped(stops: int, v4: int) -> Scene:
    """A fleet that is empty but for a job that was stopped so often, the last time at `STOPPED_AT`."""
    scene = Scene(Plan(seed=1, begins=0, steps=0, rates={}, acts=(), users=()))
    events: list[AnyEvent] = [
        CapacityChanged(runner="local", resources=CAPACITY),
        FileChanged(file="quota", version="1", text=QUOTA.decode()),
        Submitted(request="ann/r", job="j", spec=spec(user="ann", project="red", resources={"v4": v4})),
    ]
    for attempt in range(stops):
        events += _stop(attempt)
    now = START + timedelta(seconds=STOPPED_AT)
    fold(scene.laws.truth, JournalObject(epoch=0, seq=0, nonce="n", now=now, events=events))
    scene.kernel.now = scene.laws.told_at = scene.storm_over_at = STOPPED_AT
    return scene


def _stop(attempt: int) -> list[AnyEvent]:
    at = {"job": "j", "task": 0, "attempt": attempt}
    why = {"cause": Cause.PREEMPTED, "reason": "for others"}
    return [
        Started(**at, runner="local", tier=0, workers=1),
        Stopping(**at, **why, deadline=START),
        Voided(**at, worker=0),
        Ended(**at, **why, outcome=JobState.PENDING),
    ]


def _look_until(laws: CalmLaws, end: float) -> None:
    while laws.scene.kernel.now < end:
        laws.scene.kernel.now += LOOK_S
        laws.check()
