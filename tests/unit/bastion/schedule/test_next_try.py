"""A job with tries left keeps what it held over the pause before its next try, and not longer, and not if it is not to run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from bastion.journal.recover import objects
from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.requests import Hold, Pause, Resume, Update
from bastion.quota.demand import KEPT, RULES
from bastion.quota.quota import Quota
from bastion.schedule.held_work import KEEP
from bastion.schedule.plan import current_capacity
from bastion.schedule.replay import DecisionDifference, replayed
from bastion.schedule.usage import ProjectUsage, usage
from tests.support.town import HALVES, Town

CONFIG = 'admins = ["root"]\nreclaim_delay = 5\n'
GANG, PAUSE = 2, 20.0


def crowded(pause_s: float = PAUSE, *files: tuple[str, str], **fields: object) -> tuple[Town, str, str]:
    """A gang of the whole pool has failed with tries left, and a job of eve's waits for one unit."""
    town = Town(*(files or ((layout.CONFIG, CONFIG),)))
    town.runner.holds = {"v4": 4}
    gang = town.submits(
        **{"name": "gang", "project": "nlp", "resources": {"v4": 4 // GANG}, "replicas": GANG, "max_tries": 3,
           "retry_interval_s": pause_s, **fields}
    )  # fmt: skip
    town.ticks(2)
    key = town.runs(gang, workers=GANG)
    waits = town.submits(name="small", user="eve", project="nlp", resources={"v4": 1}, replicas=1)
    town.ticks(2)
    fail(town, key)
    return town, gang, waits


def fail(town: Town, key: AttemptKey) -> None:
    for worker in range(GANG):
        town.says(key, Cause.CODE, 1, worker)
    town.ticks(20, every=0.1)
    for worker in range(GANG):
        town.runner.loses(f"machine-{key}-{worker}")
    town.ticks(5, every=0.1)
    assert town.job(key.job).tasks[0].attempts[key.attempt].cause is Cause.CODE


def shown(town: Town) -> list[ProjectUsage]:
    return usage(town.bastion.journal.state, town.bastion.inputs.quota or Quota.open())


def test_nobody_slips_in_between_two_tries_of_a_gang() -> None:
    town, gang, waits = crowded()
    assert [town.job(job).state for job in (gang, waits)] == [JobState.PENDING, JobState.PENDING]
    assert town.reasons()[gang].startswith("tries again in ")
    assert f"0 of 4 free; 4 held for the next try of alice/{gang} until " in town.reasons()[waits]
    assert [(use.project, use.used) for use in shown(town)] == [("nlp", 4)]
    town.ticks(25)
    assert town.job(gang).tasks[0].live is not None
    assert town.job(waits).state is JobState.PENDING


@pytest.mark.parametrize("pause_s", [0.0, 2.0, KEEP.total_seconds()])
def test_it_keeps_it_whether_the_pause_is_none_or_the_longest(pause_s: float) -> None:
    town, gang, waits = crowded(pause_s)
    town.ticks(int(pause_s) + 3)
    assert (town.job(gang).tasks[0].live is not None, town.job(waits).state) == (True, JobState.PENDING)


def test_over_a_longer_pause_it_keeps_nothing() -> None:
    town, gang, waits = crowded(KEEP.total_seconds() + 5)
    town.ticks(2)
    assert (town.job(gang).state, town.job(waits).state) == (JobState.PENDING, JobState.PROVISIONING)
    assert [(use.project, use.used) for use in shown(town)] == [("nlp", 1)]


def cancelled(town: Town, gang: str) -> None:
    town.cancels(gang)


def held(town: Town, gang: str) -> None:
    town.asks(Hold(job=gang))


def waiting_for_another(town: Town, gang: str) -> None:
    town.asks(Update(job=gang, changes=Changes(after=["ok:" + town.submits(name="prep", resources={"v4": 4})])))


@pytest.mark.parametrize("happens", [cancelled, held, waiting_for_another])
def test_who_is_not_to_be_tried_again_gives_it_up_at_once(happens: Callable[[Town, str], None]) -> None:
    town, gang, waits = crowded()
    happens(town, gang)
    town.ticks(3)
    assert town.job(waits).state is JobState.PROVISIONING


def test_who_is_no_member_any_more_keeps_nothing() -> None:
    town, _, waits = crowded(PAUSE, (layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    town.bucket.inner.write(layout.QUOTA, HALVES.replace('"alice", ', "").encode())
    town.ticks(12)
    assert town.job(waits).state is JobState.PROVISIONING


def test_the_last_try_keeps_nothing() -> None:
    town, gang, waits = crowded(max_tries=1)
    assert (town.job(gang).state, town.job(waits).state) == (JobState.FAILED, JobState.PROVISIONING)


def test_what_the_crash_guard_ends_keeps_nothing() -> None:
    town, gang, waits = crowded(2.0)
    town.ticks(3)
    fail(town, town.runs(gang, 1, GANG))
    assert (town.job(gang).state, town.job(waits).state) == (JobState.FAILED, JobState.PROVISIONING)


def test_it_is_taken_by_a_project_that_has_a_right_to_it_and_by_nobody_before_that() -> None:
    """As of one that runs: after `reclaim_delay`, up to the project's share."""
    town, gang, _ = crowded(PAUSE, (layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    other = town.submits(name="v", user="bob", project="vision", resources={"v4": 2}, replicas=1)
    town.ticks(3)
    assert town.job(other).state is JobState.PENDING
    town.ticks(4)
    assert town.job(other).state is JobState.PROVISIONING
    assert town.job(gang).tasks[0].live is None


def test_what_was_being_stopped_for_another_is_not_kept_however_it_ended() -> None:
    town = Town((layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    town.runner.holds = {"v4": 4}
    gang = town.submits(
        name="gang", project="nlp", resources={"v4": 2}, replicas=GANG, max_tries=3, retry_interval_s=20.0
    )
    town.ticks(2)
    key = town.runs(gang, workers=GANG)
    other = town.submits(name="v", user="bob", project="vision", resources={"v4": 2}, replicas=1)
    town.ticks(9)
    assert town.job(gang).state is JobState.PREEMPTING
    fail(town, key)
    assert town.job(other).state is JobState.PROVISIONING


def test_after_a_pause_of_all_and_a_restart_it_is_as_it_was() -> None:
    town, gang, waits = crowded()
    town.asks(Pause(), "root")
    town.ticks(2)
    town.asks(Resume(), "root")
    town.bastion = town.begin()
    town.ticks(25)
    assert (town.job(gang).tasks[0].live is not None, town.job(waits).state) == (True, JobState.PENDING)


def test_who_cannot_begin_when_the_pause_is_over_keeps_it_a_minute_more() -> None:
    town, gang, waits = crowded(2.0)
    town.runner.blind = True
    town.ticks(int(KEEP.total_seconds()) - 5)
    town.runner.blind = False
    town.ticks(3)
    assert (town.job(gang).tasks[0].live is not None, town.job(waits).state) == (True, JobState.PENDING)


def test_a_sibling_that_waits_takes_the_place_of_a_task_of_an_array() -> None:
    town = Town((layout.CONFIG, CONFIG))
    town.runner.holds = {"v4": 1}
    town.ticks(12)
    sweep = town.submits(name="sweep", resources={"v4": 1}, replicas=1, count=3, max_tries=2, retry_interval_s=20.0)
    town.ticks(2)
    town.submits(name="small", user="eve", resources={"v4": 1}, replicas=1)
    town.ends(town.runs(sweep), Cause.CODE, 1)
    assert {number: task.live is not None for number, task in town.job(sweep).tasks.items()} == {0: False, 1: True}


def test_decisions_of_before_kept_nothing_and_are_taken_again_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("bastion.service.tick.RULES", KEPT - 1)
        town, _, waits = crowded()
        assert town.job(waits).state is JobState.PROVISIONING
    town.bastion = town.begin()
    town.submits(name="more", resources={"v4": 3}, replicas=1)
    town.ticks(3)
    found = [*objects(town.bucket.inner, 0)]
    decisions = list(replayed(State(), found, len(found)))
    assert {each.marker.rules for each in decisions} == {KEPT - 1, RULES}
    assert {each.difference for each in decisions} == {DecisionDifference.NONE}


def test_what_is_kept_counts_as_held_no_more_than_there_is_room_for_it() -> None:
    town, _, _ = crowded(PAUSE, (layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    state = town.bastion.journal.state
    assert current_capacity(state, town.bastion.inputs).total() == {"v4": 4}
    assert [(use.project, use.used, use.borrowed) for use in shown(town)] == [("nlp", 4, 2), ("vision", 0, 0)]
    state.capacity["local"] = {"v4": 3}
    assert [(use.project, use.used) for use in shown(town)] == [("nlp", 0), ("vision", 0)]
    state.capacity["local"] = {"v4": 4}
    assert state.now is not None
    state.now += timedelta(seconds=PAUSE) + KEEP
    assert [(use.project, use.used) for use in shown(town)] == [("nlp", 0), ("vision", 0)]


def test_no_more_is_kept_of_an_array_than_may_run_beside_what_runs() -> None:
    town = Town((layout.CONFIG, CONFIG))
    town.runner.holds = {"v4": 2}
    town.ticks(12)
    sweep = town.submits(name="sweep", resources={"v4": 1}, replicas=1, count=2, max_tries=2, retry_interval_s=40.0)
    town.ticks(2)
    key = town.runs(sweep)
    town.asks(Update(job=sweep, changes=Changes(max_parallel=1)))
    waits = town.submits(name="small", user="eve", resources={"v4": 1}, replicas=1)
    town.ends(key, Cause.CODE, 1)
    assert town.job(sweep).tasks[1].live is not None
    assert town.job(waits).state is JobState.PROVISIONING
