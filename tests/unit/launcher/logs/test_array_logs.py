"""The logs of an array are one: every line once, with the number of its task, also of tasks that begin later."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bastion.launcher.logs import array_logs
from bastion.launcher.logs.array_logs import chosen, follow, snapshot
from bastion.launcher.logs.log_lines import LogSelection
from bastion.launcher.logs.task_follower import FollowContext, FollowOutput
from bastion.launcher.read.job_lookup import find
from bastion.model.errors import UsageError
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState
from tests.support.world import World
from tests.unit.launcher.logs.test_follow import ended


class Seen:
    """What a user sees of the array `j`."""

    def __init__(self, world: World) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self._world = world

    def follow(self, **choice: Any) -> int:
        return follow(*self._with(choice))

    def snapshot(self, *, failed: bool = False, **choice: Any) -> int:
        return snapshot(*self._with(choice), failed=failed)

    def _with(self, choice: dict[str, Any]) -> tuple[FollowContext, Any, LogSelection, FollowOutput]:
        world = self._world
        context = FollowContext(bucket=world.bucket, clock=world.clock, tasks=world.tasks, reader=world.reader())
        screen = FollowOutput(lines=self.lines.extend, note=self.notes.append)
        return context, find("j", world.look()), LogSelection(**choice), screen


def whole(world: World, key: AttemptKey, text: str) -> None:
    """A worker prints this, and no more."""
    world.prints(key, text)
    world.prints(key, "", number=1)


def test_what_is_there_is_shown_task_after_task() -> None:
    world = World()
    job = world.submitted(count=3)
    for task, code in ((2, 0), (0, 7)):
        key = world.runs(job, task=task)
        whole(world, key, f"from {task}\nlast")
        ended(world, key, code=code)
    seen = Seen(world)
    assert seen.snapshot() == 101
    assert seen.lines == ["[0] from 0", "[0] last", "[2] from 2", "[2] last"]
    assert Seen(world).snapshot(failed=True) == 101
    failed = Seen(world)
    failed.snapshot(failed=True, tail=1)
    assert failed.lines == ["[0] last"]


def test_gangs_of_an_array_name_task_and_worker() -> None:
    world = World()
    key = world.runs(world.submitted(count=2, replicas=2), task=1, workers=2)
    world.prints(key, "a\n", worker=1)
    seen = Seen(world)
    seen.snapshot()
    assert seen.lines == ["[1.w001] a"]


def test_without_a_failed_task_that_is_said() -> None:
    world = World()
    key = world.runs(world.submitted(count=2))
    world.prints(key, "a\n")
    seen = Seen(world)
    seen.snapshot(failed=True)
    assert (seen.lines, seen.notes) == ([], ["no task of j has failed"])


def test_tasks_are_followed_as_they_begin_until_all_have_ended() -> None:
    world = World()
    job = world.submitted(count=3)
    first = world.runs(job, task=0)
    world.prints(first, "zero\n")

    def short_one() -> None:
        """It begins and ends between two looks."""
        key = world.runs(job, task=1)
        whole(world, key, "one\n")
        ended(world, key)

    def fails_and_begins_again() -> None:
        world.ends(world.runs(job, task=2), Cause.CODE, JobState.PENDING, code=1)
        whole(world, AttemptKey(job, 2, 0), "two fails\n")
        world.runs(job, task=2, attempt=1)

    def rest_ends() -> None:
        whole(world, AttemptKey(job, 2, 1), "two\n")
        world.prints(first, "end of zero\n", number=1)
        world.prints(first, "", number=2)
        ended(world, AttemptKey(job, 2, 1))
        ended(world, first)

    world.clock.script = [short_one, fails_and_begins_again, rest_ends]
    seen = Seen(world)
    assert seen.follow() == 0
    assert Counter(seen.lines) == Counter(["[0] zero", "[0] end of zero", "[1] one", "[2] two fails", "[2] two"])
    assert seen.lines.index("[0] zero") < seen.lines.index("[0] end of zero")


def test_many_tasks_are_followed_a_few_at_a_time_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_logs, "TASKS_MAX", 2)
    world = World()
    job = world.submitted(count=6)
    world.prints(world.runs(job, task=5), "here\n")

    def all_others() -> None:
        for task in range(5):
            key = world.runs(job, task=task)
            whole(world, key, f"{task}\n")
            ended(world, key)

    def last() -> None:
        world.prints(AttemptKey(job, 5, 0), "", number=1)
        ended(world, AttemptKey(job, 5, 0))

    world.clock.script = [all_others, *[lambda: None] * 40, last]
    seen = Seen(world)
    assert seen.follow() == 0
    assert sorted(seen.lines) == [f"[{task}] {task}" for task in range(5)] + ["[5] here"]


def test_of_too_many_those_that_run_come_first_and_then_the_last_to_end() -> None:
    world = World()
    job = world.submitted(count=9)
    for task in range(5):
        ended(world, world.runs(job, task=task), code=task % 2)
        world.clock.sleep(1)
    world.runs(job, task=7)
    state = world.look().state.jobs[job]
    assert chosen(state, failed=False, most=2) == ([4, 7], 6)
    assert chosen(state, failed=True, most=1) == ([3], 2)
    assert chosen(state, failed=False) == ([0, 1, 2, 3, 4, 7], 6)


def test_an_attempt_goes_with_one_task() -> None:
    world = World()
    world.runs(world.submitted(count=2))
    with pytest.raises(UsageError, match=r"name it, as in 'j\[0\]'"):
        Seen(world).follow(attempt=0)
