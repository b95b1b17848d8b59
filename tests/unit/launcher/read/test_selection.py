"""Several jobs are meant by what they have in common; a slip is answered with the nearest name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.launcher.read.job_rows import queue
from bastion.launcher.read.view import LIVE, JobFilter, states, words
from bastion.model.errors import UsageError
from bastion.model.state.state import Cause, JobState
from tests.support.world import NOON, World


def busy() -> World:
    """Alice's ended, running and unread jobs, and one of bob's that waits."""
    world = World()
    world.ends(world.runs(world.submitted("a" * 32, name="ended")), Cause.CODE, JobState.FAILED, code=3)
    world.clock.now = 60
    world.runs(world.submitted("b" * 32, name="running", project="nlp"))
    world.clock.now = 120
    world.submitted("c" * 32, name="waiting", user="bob")
    world.asked("d" * 32, name="unread", project="nlp")
    return world


def names(limit: int | None = None, **filters: Any) -> list[str]:
    shown = queue(busy().look(), {}, user="alice", meant=JobFilter(**filters), limit=limit)
    return [row["name"] for row in shown.rows()]


@pytest.mark.parametrize(
    ("filters", "meant"),
    [
        ({}, ["ended", "running", "waiting", "unread"]),
        ({"users": {"alice"}}, ["ended", "running", "unread"]),
        ({"users": {"bob", "carol"}}, ["waiting"]),
        ({"projects": {"nlp"}}, ["running", "unread"]),
        ({"states": LIVE}, ["running", "waiting", "unread"]),
        ({"states": {JobState.FAILED}}, ["ended"]),
        ({"states": {JobState.PENDING}, "users": {"alice"}}, ["unread"]),
        ({"since": NOON + timedelta(seconds=60)}, ["running", "waiting", "unread"]),
        ({"since": NOON + timedelta(seconds=61), "states": LIVE, "projects": {"default"}}, ["waiting"]),
    ],
)
def test_all_that_is_said_must_hold(filters: dict[str, Any], meant: list[str]) -> None:
    assert names(**filters) == meant


def test_a_limit_keeps_the_newest_in_the_usual_order() -> None:
    assert names(limit=2, states=LIVE) == ["waiting", "unread"]
    assert names(limit=9, states=LIVE) == ["running", "waiting", "unread"]


def test_flags_take_lists_and_may_be_repeated() -> None:
    assert words(["a,b", " c "]) == {"a", "b", "c"}
    assert words([]) is None
    assert states(["running,Pending", "FAILED"]) == {JobState.RUNNING, JobState.PENDING, JobState.FAILED}


@pytest.mark.parametrize(
    ("word", "hint"), [("runing", "did you mean RUNNING?"), ("zzz", "use PENDING, PROVISIONING, RUNNING")]
)
def test_a_state_that_does_not_exist_is_answered_with_the_nearest(word: str, hint: str) -> None:
    with pytest.raises(UsageError, match=r"is not a state") as error:
        states([word])
    assert hint in str(error.value)


def test_users_and_projects_of_whom_nothing_is_known_are_named() -> None:
    meant = JobFilter(users=frozenset({"alice", "bbo"}), projects=frozenset({"npl", "nlp"}))

    assert meant.unknown_names(busy().look()) == [
        "user bbo has no job here; did you mean bob?",
        "project npl has no job here; did you mean nlp?",
    ]
