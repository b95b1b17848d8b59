"""Holding and releasing: what may start, what runs on, who may ask, and in which place a job comes back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from bastion.launcher.read.job_rows import reason_of
from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import RequestRejected, Started
from bastion.model.stored.requests import AboutJob, Cancel, Hold, Release, Top, Update
from tests.support.town import Town
from tests.support.world import NOON

S = JobState
ADMINS = (layout.CONFIG, 'admins = ["root"]\npoll = 1\nreclaim_delay = 5\n')


def starts(town: Town) -> list[str]:
    return [event.job for event in town.journal() if isinstance(event, Started)]


def refusals(town: Town) -> list[str]:
    return [event.reason for event in town.journal() if isinstance(event, RequestRejected)]


def test_a_held_job_does_not_start_and_says_who_holds_it_since_when() -> None:
    town = Town()
    job = town.submits()
    town.asks(Hold(job=job))
    town.ticks(5)
    assert starts(town) == []
    reason = f"held by alice since 2026-01-31T12:00:00Z; launch release {job} lets it start"
    assert town.reasons() == {job: reason}
    town.asks(Release(job=job))
    town.ticks()
    assert starts(town) == [job]


def test_a_hold_survives_a_restart() -> None:
    town = Town()
    job = town.submits()
    town.asks(Hold(job=job))
    town.ticks()
    town.bastion = town.begin()
    town.ticks(3)
    assert starts(town) == []
    assert town.job(job).held is not None


def test_what_runs_goes_on_and_is_not_started_again_after_a_preemption() -> None:
    town = Town(ADMINS)
    job = town.submits(resources={"v4": 8}, priority=5)
    town.ticks()
    key = town.runs(job)
    town.asks(Hold(job=job))
    town.ticks(30)
    assert town.job(job).state is S.RUNNING
    assert reason_of(town.job(job), "").startswith("runs on, and is not started again: held by alice since")
    other = town.submits(name="urgent", resources={"v4": 8}, priority=1)
    town.ticks(10)
    assert town.job(job).state is S.PREEMPTING
    town.ends(key, Cause.PREEMPTED)
    urgent = town.runs(other)
    town.ends(urgent, Cause.OK, 0)
    assert town.job(job).state is S.PENDING
    assert starts(town) == [job, other]
    town.asks(Release(job=job))
    town.ticks()
    assert starts(town) == [job, other, job]


def test_a_held_job_is_not_tried_again_and_a_held_array_runs_on_where_it_runs() -> None:
    town = Town()
    job = town.submits(max_tries=2, retry_interval_s=0.0, count=9, resources={"cpu": 4})
    town.ticks()
    assert starts(town) == [job, job]
    town.asks(Hold(job=job))
    town.ticks()
    town.claims(AttemptKey(job, 1, 0))
    town.ends(town.runs(job), Cause.CODE, 1)
    assert starts(town) == [job, job]
    assert town.job(job).counts == {S.RUNNING: 1, S.PENDING: 8}


def test_a_released_job_is_in_its_old_place_and_others_get_time_anew() -> None:
    town = Town(ADMINS)
    blocker = town.submits(name="blocker", resources={"v4": 8}, priority=1)
    town.ticks()
    first, second = town.submits(name="first", resources={"v4": 8}), town.submits(name="second", resources={"v4": 8})
    town.asks(Hold(job=first))
    town.ticks(60)
    since = town.job(first).since
    town.asks(Release(job=first))
    town.ticks()
    assert town.job(first).since - since > timedelta(seconds=50)
    town.ends(town.runs(blocker), Cause.OK, 0)
    assert starts(town) == [blocker, first]
    assert town.job(second).state is S.PENDING


def test_nothing_is_kept_free_for_a_held_job() -> None:
    town = Town(ADMINS)
    weak = town.submits(name="weak", resources={"v4": 8}, priority=5)
    town.ticks()
    key = town.runs(weak)
    strong = town.submits(name="strong", resources={"v4": 8}, priority=1)
    town.ticks(10)
    assert list(town.bastion.journal.state.reclaims) == [strong]
    town.asks(Hold(job=strong))
    town.ticks()
    assert not town.bastion.journal.state.reclaims
    town.ends(key, Cause.PREEMPTED)
    assert starts(town) == [weak, weak]


@pytest.mark.parametrize(
    ("holder", "releaser", "told"),
    [
        ("alice", "alice", ""),
        ("alice", "root", ""),
        ("root", "root", ""),
        ("root", "alice", "is held by root since 2026-01-31T12:00:00Z; only an admin may release it"),
        ("eve", "alice", "belongs to alice; only alice and admins may hold it"),
        ("alice", "eve", "belongs to alice; only alice and admins may release it"),
    ],
)
def test_who_may_hold_and_release(holder: str, releaser: str, told: str) -> None:
    town = Town(ADMINS)
    job = town.submits()
    town.asks(Hold(job=job), holder)
    town.ticks()
    town.asks(Release(job=job), releaser)
    town.ticks()
    assert len(refusals(town)) == bool(told)
    assert all(told in reason for reason in refusals(town))
    assert (starts(town) == []) == (told != "" and holder != "eve")
    assert town.inbox() == []


QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
cpu = 8
[project_membership]
nlp = ["alice", "carol"]
vision = ["bob"]
[project_admins]
nlp = ["lead-.*"]
"""


@pytest.mark.parametrize(
    ("request_", "verb"),
    [
        (lambda job: Cancel(job=job), "stop"),
        (lambda job: Hold(job=job), "hold"),
        (lambda job: Release(job=job), "release"),
        (lambda job: Top(job=job), "move"),
        (lambda job: Update(job=job, changes=Changes(priority=1)), "change"),
    ],
)
def test_admins_of_a_project_control_its_jobs_and_no_others(request_: Callable[[str], AboutJob], verb: str) -> None:
    town = Town(ADMINS, (layout.QUOTA, QUOTA))
    theirs, others = town.submits(project="nlp"), town.submits(name="o", user="bob", project="vision")
    for job in (theirs, others):
        town.asks(Hold(job=job), "alice" if job == theirs else "bob")
    town.ticks()
    town.asks(request_(theirs), "lead-1")
    town.asks(request_(others), "lead-1")
    town.asks(request_(theirs), "carol")
    town.ticks()
    assert sorted(refusals(town)) == sorted(
        [
            f"job {others} belongs to bob; only bob and admins may {verb} it",
            f"job {theirs} belongs to alice; only alice and admins may {verb} it",
        ]
    )


def test_a_project_admins_hold_is_not_the_users_to_release() -> None:
    town = Town(ADMINS, (layout.QUOTA, QUOTA))
    job = town.submits(project="nlp")
    town.asks(Hold(job=job), "lead-1")
    town.ticks()
    town.asks(Release(job=job))
    town.ticks()
    assert refusals(town) == [f"job {job} is held by lead-1 since 2026-01-31T12:00:00Z; only an admin may release it"]
    town.asks(Release(job=job), "lead-2")
    town.ticks()
    assert town.job(job).held is None


def test_an_admins_hold_outweighs_the_users() -> None:
    town = Town(ADMINS)
    job = town.submits()
    for user in ("alice", "root", "alice"):
        town.asks(Hold(job=job), user)
        town.ticks()
    held = town.job(job).held
    assert held is not None
    assert (held.user, held.at) == ("root", NOON + timedelta(seconds=2))


def test_what_has_ended_or_is_unknown_cannot_be_held() -> None:
    town = Town()
    job = town.submits()
    town.ticks()
    town.ends(town.runs(job), Cause.OK, 0)
    town.asks(Hold(job=job))
    town.asks(Release(job="nobody-12345678"))
    town.ticks(2)
    assert sorted(refusals(town)) == [
        f"job {job} has ended; there is nothing to hold",
        "there is no job nobody-12345678",
    ]
