"""A project that asks for more than its share with jobs of one size is told so; what could not start anyway does not count."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model.state.state import Job, JobState, State
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.schedule.usage import ExcessDemand, excess
from tests.unit.bastion.schedule.test_usage import NOW, QUOTA, job

HALVES = parse(QUOTA)
"""Of 8 units, nlp and vision have 4 each."""


def state(*jobs: Job, **fields: Any) -> State:
    live = {one.id: dict.fromkeys(one.tasks) for one in jobs if one.tasks}
    pending = {one.id: None for one in jobs if one.counts.get(JobState.PENDING)}
    names = {one.id: one for one in jobs}
    return State(now=NOW, jobs=names, live=live, pending=pending, capacity={"local": {"v4": 8}}, **fields)


def waits(name: str, amount: int, *, tasks: int = 1, user: str = "alice", project: str = "nlp", **fields: Any) -> Job:
    one = job(name, project, user, amount, running=False)
    one.count, one.counts = tasks, {JobState.PENDING: tasks}
    for field, value in fields.items():
        setattr(one, field, value)
    return one


def runs(name: str, amount: int, user: str = "alice") -> Job:
    return job(name, "nlp", user, amount, running=True)


def test_who_asks_for_more_than_the_share_with_jobs_of_one_size_is_told_how_much() -> None:
    [row] = excess(state(runs("a", 2), waits("b", 2), waits("c", 2), waits("d", 1)), HALVES, NOW)
    assert row == ExcessDemand(project="nlp", kind="v4", size=2, running=2, waiting=4, share=4, ratio=1.5)
    assert row.text() == (
        "nlp asks for 1.5 times its share of v4 with jobs of 2 (2 running, 4 waiting, share 4): "
        "whatever their order, some of them wait; a larger share or fewer jobs would help"
    )


def test_a_job_larger_than_the_share_is_told_what_it_starts_with() -> None:
    [row] = excess(state(waits("b", 7)), HALVES, NOW)
    assert row.text() == (
        "nlp asks for 1.75 times its share of v4 with jobs of 7 (0 running, 7 waiting, share 4): "
        "such a job starts only with what others lend; a larger share or smaller jobs would help"
    )


def test_all_tasks_of_an_array_count() -> None:
    [row] = excess(state(waits("b", 1, tasks=7)), HALVES, NOW)
    assert (row.running, row.waiting, row.ratio) == (0, 7, 1.75)


def test_what_fits_into_the_share_is_none_however_much_there_is_of_other_sizes() -> None:
    assert excess(state(runs("a", 2), waits("b", 2), waits("c", 1), waits("d", 3), waits("e", 4)), HALVES, NOW) == []


@pytest.mark.parametrize(("tasks", "told"), [(3, (4, 2.0)), (5, (2, 2.5))])
def test_of_several_sizes_the_one_with_most_is_told(tasks: int, told: tuple[int, float]) -> None:
    jobs = [waits("a", 2, tasks=tasks), waits("b", 4, tasks=2), waits("c", 3, tasks=2)]
    assert [(row.size, row.ratio) for row in excess(state(*jobs), HALVES, NOW)] == [told]


def test_each_project_has_its_own() -> None:
    there = state(waits("b", 5), waits("c", 2, tasks=4, user="bob", project="vision"))
    assert [(row.project, row.size) for row in excess(there, HALVES, NOW)] == [("nlp", 5), ("vision", 2)]


def test_while_none_of_them_waits_there_is_none() -> None:
    assert excess(state(runs("a", 3), runs("b", 3), waits("c", 1)), HALVES, NOW) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"held": "alice"},
        {"user": "eve"},
        {"job_class": "urgent"},
        {"after": ["ok:x-00000000"]},
        {"build": "projects/p/builds/1"},
        {"begin": NOW.replace(year=2031)},
    ],
)
def test_what_may_not_start_does_not_count(fields: dict[str, Any]) -> None:
    assert excess(state(waits("a", 2), waits("b", 3, tasks=9, **fields)), HALVES, NOW) == []


def test_of_an_array_only_as_many_tasks_count_as_may_run_at_once() -> None:
    assert excess(state(waits("a", 1, tasks=9, max_parallel=4)), HALVES, NOW) == []


def test_what_can_never_start_does_not_count() -> None:
    assert excess(state(waits("a", 9)), HALVES, NOW) == []


def test_what_those_hold_who_left_is_not_the_projects() -> None:
    [row] = excess(state(runs("a", 2, user="dan"), waits("b", 2, tasks=3)), HALVES, NOW)
    assert (row.running, row.waiting) == (0, 6)


@pytest.mark.parametrize("quota", [Quota.open(), parse(QUOTA.replace("nlp]\nv4 = 0.5", "nlp]\nv4 = 0.0"))])
def test_who_has_no_share_asks_for_no_times_of_it(quota: Quota) -> None:
    assert excess(state(waits("a", 2, tasks=9)), quota, NOW) == []


@pytest.mark.parametrize(
    ("running", "waiting", "share", "times"),
    [(24, 60, 48, "1.75"), (250, 1, 250, "1.01"), (0, 8, 4, "2"), (0, 400, 4, "100")],
)
def test_the_ratio_is_told_with_two_digits_and_never_as_1(running: int, waiting: int, share: int, times: str) -> None:
    row = ExcessDemand(
        project="p",
        kind="gpu",
        size=1,
        running=running,
        waiting=waiting,
        share=share,
        ratio=(running + waiting) / share,
    )
    assert row.text().startswith(f"p asks for {times} times its share of gpu with jobs of 1 ({running} running, ")
