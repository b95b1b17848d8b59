"""Not before a moment, not after another, and not too many at once; and which classes and tiers a job asks for."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.errors import SpecError
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef, deserialize_jobspec, serialize_jobspec
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import JobRejected, RequestRejected, Started, Stopping
from bastion.model.stored.requests import Hold, Pause, Update
from bastion.quota.demand import CLASSES
from bastion.quota.quota import Quota
from bastion.schedule.eligibility import Eligibility, Obstacle, eligibility_of
from bastion.schedule.pending import hold, want
from tests.support.town import Town
from tests.support.world import NOON, spec

S, C = JobState, Cause
QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
cpu = 8
[project_membership]
default = ["alice"]
[project_classes]
default = ["urgent"]
"""


def at(seconds: float) -> Any:
    return NOON + timedelta(seconds=seconds)


def refused(town: Town) -> list[str]:
    return [event.reason for event in town.journal() if isinstance(event, RequestRejected | JobRejected)]


def causes(town: Town, job: str) -> list[Cause | None]:
    return [attempt.cause for attempt in town.job(job).tasks[0].attempts]


# Not before


def test_a_job_does_not_begin_before_its_time_and_then_at_once() -> None:
    town = Town(poll=3.0)
    job = town.submits(begin=at(100))
    town.ticks()
    assert town.reasons()[job] == "begins at 12:01 UTC, in 1m37s"
    while town.clock.now < 99:
        assert town.job(job).state is S.PENDING
        town.ticks()
    assert town.bastion.idle_s() <= 1, "it wakes for it"
    town.ticks(every=1)
    assert town.job(job).state is S.PROVISIONING


def test_a_time_that_is_past_keeps_nobody() -> None:
    town = Town()
    job = town.submits(begin=at(-100))
    town.ticks()
    assert town.job(job).state is S.PROVISIONING


def test_a_later_day_is_named() -> None:
    town = Town()
    job = town.submits(begin=at(86_400 * 2))
    town.ticks()
    assert town.reasons()[job] == "begins at 2026-02-02 12:00 UTC, in 1d23h"


def test_the_beginning_may_be_moved_until_it_is_there() -> None:
    town = Town()
    job, other = town.submits(begin=at(100)), town.submits(begin=at(100))
    town.ticks()
    town.asks(Update(job=job, changes=Changes(begin=None)))
    town.asks(Update(job=other, changes=Changes(begin=at(200))))
    town.ticks()
    assert (town.job(job).state, town.job(other).state) == (S.PROVISIONING, S.PENDING)
    town.asks(Update(job=job, changes=Changes(begin=at(300))))
    town.ticks(105)
    assert town.job(other).state is S.PENDING
    assert refused(town)[0].startswith(
        f"job {job} runs, so it no longer waits to begin; to keep back its other tasks: launch hold {job}"
    )


# Not after


def test_what_waits_at_its_deadline_ends_held_or_paused() -> None:
    town = Town((layout.CONFIG, 'admins = ["root"]'))
    town.submits(resources={"v4": 8})
    town.ticks()
    job = town.submits(name="late", resources={"v4": 8}, deadline=at(50))
    held = town.submits(name="held", deadline=at(50))
    town.asks(Hold(job=held))
    town.ticks(40)
    assert town.job(job).state is town.job(held).state is S.PENDING
    town.asks(Pause(), user="root")
    town.ticks(10)
    assert town.bastion.journal.state.paused
    found = town.job(job)
    assert (found.state, found.reason) == (S.TIMEOUT, "the deadline passed before the job could start")
    assert town.job(held).state is S.TIMEOUT
    assert town.bastion.journal.state.deadlines == []


def running(town: Town, **fields: Any) -> tuple[str, AttemptKey]:
    job = town.submits(deadline=at(50), grace_s=5.0, max_tries=9, retry_interval_s=0.0, **fields)
    town.ticks()
    return job, town.runs(job)


def test_what_runs_at_its_deadline_is_stopped_with_notice_and_grace_and_not_tried_again() -> None:
    town = Town()
    job, key = running(town)
    town.ticks(60)
    [stop] = [event for event in town.journal() if isinstance(event, Stopping)]
    assert (stop.cause, stop.reason, stop.deadline) == (C.DEADLINE, "the deadline has passed", at(55))
    assert town.bucket.inner.read(layout.stop(key))
    town.ends(key, C.DEADLINE, 143)
    assert (town.job(job).state, town.job(job).reason, causes(town, job)) == (
        S.TIMEOUT, "the deadline has passed", [C.DEADLINE],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cause", "code", "state"), [(C.OK, 0, S.SUCCEEDED), (C.CODE, 1, S.TIMEOUT), (C.PREEMPTED, 143, S.TIMEOUT)]
)
def test_however_it_ends_after_its_deadline_it_is_over(cause: Cause, code: int, state: JobState) -> None:
    town = Town()
    job, key = running(town)
    town.ticks(60)
    town.ends(key, cause, code)
    assert town.job(job).state is state


def test_who_is_cancelled_is_cancelled_whatever_the_time() -> None:
    town = Town()
    job, key = running(town)
    town.ticks(60)
    town.cancels(job)
    town.ticks()
    town.ends(key, C.CANCELLED, 143)
    assert town.job(job).state is S.CANCELLED


def test_a_try_that_fails_before_the_deadline_waits_for_the_next_one_until_then() -> None:
    town = Town()
    job = town.submits(deadline=at(50), max_tries=2, retry_interval_s=1000.0)
    town.ticks()
    town.ends(town.runs(job), C.CODE, 1)
    assert town.job(job).state is S.PENDING
    town.ticks(50)
    assert (town.job(job).state, town.job(job).reason) == (
        S.TIMEOUT, "the deadline passed before the job could start again",
    )  # fmt: skip


def test_a_new_command_does_not_outlive_the_deadline() -> None:
    town = Town()
    job, key = running(town)
    town.asks(Update(job=job, changes=Changes(command="new", bundle=BundleRef())))
    town.ticks(60)
    town.ends(key, C.UPDATED, 143)
    assert (town.job(job).state, causes(town, job)) == (S.TIMEOUT, [C.UPDATED])
    assert town.job(job).reason.endswith("; the deadline has passed")


def test_of_an_array_what_waits_ends_and_what_runs_is_stopped() -> None:
    town = Town()
    job = town.submits(count=3, resources={"v4": 4}, deadline=at(30))
    town.ticks(40)
    assert town.job(job).counts[S.TIMEOUT] >= 1
    assert S.PENDING not in town.job(job).counts
    assert {event.cause for event in town.journal() if isinstance(event, Stopping)} == {C.DEADLINE}


def test_a_deadline_may_be_moved_until_it_has_passed() -> None:
    town = Town()
    town.submits(resources={"v4": 8})
    jobs = [town.submits(name=f"j{number}", resources={"v4": 8}, deadline=at(30)) for number in range(3)]
    town.ticks()
    town.asks(Update(job=jobs[0], changes=Changes(deadline=None)))
    town.asks(Update(job=jobs[1], changes=Changes(deadline=at(60))))
    town.ticks(30)
    assert [town.job(job).state for job in jobs] == [S.PENDING, S.PENDING, S.TIMEOUT]
    town.ticks(30)
    assert [town.job(job).state for job in jobs] == [S.PENDING, S.TIMEOUT, S.TIMEOUT]


def test_a_job_that_is_being_stopped_for_its_deadline_gets_no_other() -> None:
    town = Town()
    job, _ = running(town)
    town.ticks(60)
    town.asks(Update(job=job, changes=Changes(deadline=at(900))))
    town.ticks()
    assert refused(town) == [f"job {job} is past its deadline"]


def test_a_deadline_before_the_beginning_is_refused() -> None:
    with pytest.raises(SpecError, match="not after begin"):
        spec(begin=at(10), deadline=at(10))
    town = Town()
    job = town.submits(begin=at(100), deadline=at(200))
    town.ticks()
    town.asks(Update(job=job, changes=Changes(begin=at(300))))
    town.asks(Update(job=job, changes=Changes(deadline=at(50))))
    town.asks(Update(job=job, changes=Changes(begin=at(300), deadline=at(400))))
    town.ticks()
    assert [("not after begin" in reason) for reason in refused(town)] == [True, True]
    assert (town.job(job).begin, town.job(job).deadline) == (at(300), at(400))


@pytest.mark.parametrize("wrong", ["2026-01-31T12:00:00", "noon", 5, "0001-01-01T00:00:00Z"])
@pytest.mark.parametrize("field", ["begin", "deadline"])
def test_a_moment_has_its_zone(field: str, wrong: object) -> None:
    with pytest.raises(SpecError, match=field):
        spec(**{field: wrong})


# So many at once


def test_of_an_array_so_many_tasks_hold_resources_at_once() -> None:
    town = Town()
    job = town.submits(count=5, max_parallel=2)
    town.ticks(3)
    assert town.bastion.journal.state.live[job].keys() == {0, 1}
    assert town.reasons()[job] == "2 of at most 2 tasks at once hold resources"
    key = AttemptKey(job, 1, 0)
    town.claims(key)
    town.ticks(2)
    town.cancels(job, task=1)
    town.ticks(3)
    assert town.bastion.journal.state.live[job].keys() == {0, 1}, "what is being stopped still holds"
    town.ends(key, C.CANCELLED, 143)
    assert town.bastion.journal.state.live[job].keys() == {0, 2}


def test_more_or_fewer_at_once_by_an_update() -> None:
    town = Town()
    job = town.submits(count=6, max_parallel=2)
    town.ticks()
    town.asks(Update(job=job, changes=Changes(max_parallel=4)))
    town.ticks(2)
    assert len(town.bastion.journal.state.live[job]) == 4
    town.asks(Update(job=job, changes=Changes(max_parallel=1)))
    town.ticks(2)
    assert len(town.bastion.journal.state.live[job]) == 4, "what runs goes on"
    town.ends(town.runs(job), C.OK, 0)
    assert len([event for event in town.journal() if isinstance(event, Started)]) == 4


# Classes and tiers


@pytest.mark.parametrize("job_class", CLASSES)
def test_the_policy_is_told_of_class_and_tier(job_class: str) -> None:
    town = Town((layout.QUOTA, QUOTA))
    job = town.submits(job_class=job_class, max_tier=3, resources={"v4": 1})
    town.ticks()
    found = town.job(job)
    for told in (want(found, 1), hold(found, 0, found.tasks[0].attempts[0])):
        assert (CLASSES[told.job_class], told.max_tier) == (job_class, 3)


def test_a_job_is_of_the_standard_class_and_wants_the_best_tier() -> None:
    found = spec()
    assert (found.job_class, found.max_tier) == ("standard", 0)
    for field, wrong in (("job_class", "Urgent"), ("max_tier", -1), ("max_tier", 64), ("max_parallel", 0)):
        with pytest.raises(SpecError, match=field):
            spec(**{field: wrong})


def test_a_spec_of_before_is_as_good_as_ever() -> None:
    """One that an older client wrote, and one that lies in the journal, have none of these fields."""
    fields = json.loads(serialize_jobspec(spec()))
    new = ("after", "begin", "deadline", "max_parallel", "job_class", "max_tier")
    assert deserialize_jobspec(json.dumps({name: value for name, value in fields.items() if name not in new})) == spec()


def test_the_gate_says_what_keeps_a_job_back_and_until_when() -> None:
    town = Town()
    job = town.submits(begin=at(100), max_parallel=1, count=2)
    town.ticks()
    state, found = town.bastion.journal.state, town.job(job)
    assert eligibility_of(state, found, Quota.open(), at(99)) == Eligibility(0, Obstacle.BEGIN, at(100))
    assert eligibility_of(state, found, Quota.open(), at(100)) == Eligibility(1, Obstacle.NONE, None)
    assert eligibility_of(state, found, Quota(tiers=({},)), at(100)) == Eligibility(0, Obstacle.BARRED, None)


def test_a_class_that_was_not_granted_is_refused_and_one_that_is_taken_back_waits() -> None:
    town = Town((layout.QUOTA, QUOTA.replace("urgent", "scavenger")))
    job = town.submits(job_class="urgent", resources={"v4": 1})
    town.ticks()
    assert refused(town) == ["default was not granted urgent jobs; ask an admin for a line in [project_classes]"]
    town.bucket.inner.write(layout.QUOTA, QUOTA.encode())
    town.ticks(20)
    town.submits(name="full", resources={"v4": 8})
    town.ticks()
    job = town.submits(job_class="urgent", resources={"v4": 8})
    town.ticks()
    town.bucket.inner.write(layout.QUOTA, QUOTA.replace('["urgent"]', "[]").encode())
    town.ticks(20)
    assert town.reasons()[job] == (
        "default was not granted urgent jobs; ask an admin for a line in [project_classes], "
        f"or launch update {job} --class=standard"
    )
    town.asks(Update(job=job, changes=Changes(job_class="scavenger", max_tier=2)))
    town.ticks()
    assert "needs 8 v4" in town.reasons()[job]
    town.asks(Update(job=job, changes=Changes(job_class="urgent")))
    town.ticks()
    assert "was not granted urgent jobs" in refused(town)[-1]
