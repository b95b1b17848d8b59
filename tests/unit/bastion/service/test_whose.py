"""Whose a request is, the path says; and of another's job nobody asks but admins, whatever the path looks like."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes
from bastion.model.layout import job_id
from bastion.model.state.state import JobState
from bastion.model.stored.events import JobRejected, RequestRejected, Submitted
from bastion.model.stored.requests import ABOUT_ALL, ABOUT_JOBS, AboutAll, AboutJob, Submit, Update
from tests.support.town import Town
from tests.support.world import spec

CONFIG = ("config.toml", 'admins = ["root"]\n')
QUOTA = (
    layout.QUOTA,
    """
[toml-schema]
version = "1"
[total_resources]
cpu = 8
[project_membership]
default = ["alice", "bob"]
other = ["carol"]
[project_admins]
default = ["dana"]
other = ["eve"]
[project_resources.default]
cpu = 1.0
""",
)


def about(kind: str, job: str) -> AboutJob:
    """A request of each kind that would change the job."""
    if kind == "update":
        return Update(job=job, changes=Changes(command=["evil"], bundle=BundleRef()))
    return ABOUT_JOBS[kind](job=job)  # type: ignore[call-arg]


def town() -> tuple[Town, str]:
    """A bastion, and a job of alice's that waits."""
    here = Town(CONFIG, QUOTA)
    for _ in range(2):
        job = here.submits(resources={"cpu": 8})
        here.ticks(2)
    return here, job


def as_it_was(here: Town, job: str) -> tuple[Any, ...]:
    its = here.job(job)
    return its.state, its.held, its.changes, its.renewed, its.order, its.cancelled_by


def rejections(here: Town) -> list[str]:
    return [event.reason for event in here.journal() if isinstance(event, RequestRejected | JobRejected)]


@pytest.mark.parametrize("user", ["bob", "carol", "eve", "stranger"])
@pytest.mark.parametrize("kind", ABOUT_JOBS)
def test_of_anothers_job_nothing_is_done(kind: str, user: str) -> None:
    """A fellow member, a member and an admin of another project, and somebody whom nobody knows."""
    here, job = town()
    before = as_it_was(here, job)
    here.asks(about(kind, job), user)
    here.ticks(3)
    assert as_it_was(here, job) == before
    (reason,) = rejections(here)
    assert f"job {job} belongs to alice; only alice and admins may" in reason
    assert here.inbox() == []


@pytest.mark.parametrize("user", ["alice", "root", "dana"])
@pytest.mark.parametrize("kind", [kind for kind in ABOUT_JOBS if kind != "release"])
def test_its_user_and_admins_may(kind: str, user: str) -> None:
    here, job = town()
    if kind == "top":
        job = here.submits(resources={"cpu": 8})
        here.ticks(2)
    before = as_it_was(here, job)
    here.asks(about(kind, job), user)
    here.ticks(3)
    assert as_it_was(here, job) != before
    assert rejections(here) == []


@pytest.mark.parametrize("user", ["alice", "dana", "eve"])
@pytest.mark.parametrize("kind", ABOUT_ALL.values())
def test_of_the_whole_bastion_only_its_own_admins_ask(kind: type[AboutAll], user: str) -> None:
    here, _ = town()
    here.asks(kind(), user)
    here.ticks(3)
    assert here.bastion.journal.state.paused is None
    assert [f"{user} is not an admin of the bastion" in reason for reason in rejections(here)] == [True]


LOOK_ALIKE = [
    "Alice", "ALICE", "alice.", "alice-", "\u0430lice", "\uff41lice", "alic\u0435", "al\u00adice", "alice\u200b", "alice ",
    " alice", "alice\u202e", "%61lice", "alice%2F", "alice%00", "alice+x", "alice@x", "..", ".", "", "bob/../alice",
    "alice/..", "a" * 65, "alice\n", "alice\0", "alice/alice", "-", "root\u200b", "Root", "ROOT", "r\u043eot", "x" * 240,
]  # fmt: skip
"""Capitals, letters of other alphabets, what cannot be seen, what a path or a URL would fold, and what is too long."""


@pytest.mark.parametrize("user", LOOK_ALIKE, ids=map(ascii, LOOK_ALIKE))
@pytest.mark.parametrize("kind", ["cancel", "update"])
def test_who_only_looks_like_its_user_is_not(kind: str, user: str) -> None:
    here, job = town()
    before = as_it_was(here, job)
    key = f"{layout.INBOX}{user}/{here.ids.new()}.json"
    try:
        here.bucket.inner.create(key, encode(about(kind, job)))
    except BastionError as refused:
        assert "key is" in str(refused)  # noqa: PT017
        return
    here.ticks(3)
    assert as_it_was(here, job) == before
    assert len(rejections(here)) == 1
    assert here.inbox() == []


@pytest.mark.parametrize("author", ["bob", "root", "Alice", "%61lice"])
def test_a_spec_in_anothers_name_is_refused_wherever_it_lies(author: str) -> None:
    """Also in an admin's inbox: an admin stops others' jobs, and does not submit in their names."""
    here, _ = town()
    here.bucket.inner.create(layout.request(author, "r" * 32), encode(Submit(spec=spec(user="alice"))))
    here.ticks(3)
    assert len(rejections(here)) == 1
    assert len([event for event in here.journal() if isinstance(event, Submitted)]) == 2


def test_two_users_may_draw_the_same_id_and_neither_is_the_other() -> None:
    here = Town(CONFIG)
    for user in ("alice", "bob"):
        here.bucket.inner.create(layout.request(user, "r" * 32), encode(Submit(spec=spec(name=user, user=user))))
    here.ticks(3)
    assert {job: found.user for job, found in here.bastion.journal.state.jobs.items()} == {
        "alice-rrrrrrrr": "alice",
        "bob-rrrrrrrr": "bob",
    }


def test_who_takes_the_name_of_anothers_job_gets_neither_the_job_nor_its_place() -> None:
    """Somebody saw the request in the inbox, and made the same job id."""
    here = Town(CONFIG)
    first = here.submits(user="alice")
    here.ticks(2)
    request = next(event.request for event in here.journal() if isinstance(event, Submitted)).partition("/")[2]
    here.bucket.inner.create(layout.request("eve", request), encode(Submit(spec=spec(user="eve", command=["evil"]))))
    here.ticks(3)
    assert job_id("j", request) == first
    assert here.job(first).user == "alice"
    assert [f"a job {first} exists already" in reason for reason in rejections(here)] == [True]


def test_a_request_whose_id_is_the_id_of_a_job_is_about_no_job() -> None:
    here, job = town()
    before = as_it_was(here, job)
    name = job.replace("-", "")
    here.bucket.inner.create(layout.request("eve", name), b"garbage")
    here.bucket.inner.create(f"{layout.INBOX}eve/{job}.json", encode(about("cancel", job)))
    here.ticks(3)
    assert as_it_was(here, job) == before
    assert len(rejections(here)) == 2
    here.cancels(job)
    here.ticks(3)
    assert here.job(job).state is JobState.CANCELLED
