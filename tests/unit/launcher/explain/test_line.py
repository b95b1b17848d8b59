"""A job's place in the line of its project, and why others stand before it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bastion.launcher.explain.queue_position import ahead, line, place
from bastion.launcher.explain.waiting import waiting
from tests.support.scenes import Asked, Scene

FULL = Asked(name="full", user="bob", project="blue", resources={"v4": 8}, running=1, age_s=9_000)
J = Asked(name="j", resources={"v4": 2}, age_s=100)


def told(*jobs: Asked, **more: object) -> list[tuple[str, str]]:
    """Who is ahead of j, and why."""
    scene = Scene(jobs=(FULL, *jobs, J), **more)  # type: ignore[arg-type]
    case = scene.case()
    found = waiting(case, case.state.jobs["j"], scene.decided())
    assert found.place is not None
    assert found.place.place == len(found.ahead) + 1
    return [(row.job, row.why) for row in found.ahead]


def test_the_more_important_and_the_earlier_stand_before_it() -> None:
    first = replace(J, name="first", age_s=50, more={"priority": 2})
    earlier = replace(J, name="earlier", age_s=200)
    later = replace(J, name="later", age_s=10)

    assert told(first, earlier, later) == [("first", "priority 2 before 5"), ("earlier", "submitted earlier")]


def test_a_better_class_stands_before_all() -> None:
    scavenger, standard = replace(J, more={"job_class": "scavenger"}), replace(J, name="k", age_s=5)
    scene = Scene(jobs=(FULL, standard, scavenger))
    case = scene.case()

    [row] = waiting(case, case.state.jobs["j"], scene.decided()).ahead

    assert row.why == "standard before scavenger"


def test_who_used_less_of_late_stands_before_it() -> None:
    own = Asked(name="own", resources={"v4": 1}, running=1)
    ann = replace(J, name="ann", user="ann", age_s=10)
    full = replace(FULL, resources={"v4": 7})
    scene = Scene(jobs=(full, own, ann, J))
    case = scene.case()

    [row] = waiting(case, case.state.jobs["j"], scene.decided()).ahead

    assert (row.job, row.why) == ("ann", "ann used less recently than alice")


def test_who_is_first_in_line_stands_first() -> None:
    stopping = replace(FULL, stopping_for="kept")
    kept = replace(J, name="kept", resources={"v4": 8}, age_s=10, more={"priority": 5})
    scene = Scene(jobs=(stopping, kept, J), shares={"red": {"v4": 1.0}})
    case = scene.case()

    found = waiting(case, case.state.jobs["j"], scene.decided())

    assert [(row.job, row.why) for row in found.ahead] == [("kept", "others are stopped for it")]
    assert found.place
    assert (found.place.place, found.place.of, found.place.waiting) == (2, 2, 2)


def test_what_can_never_start_stands_before_nobody() -> None:
    assert told(replace(J, name="huge", resources={"v4": 9}, age_s=500)) == []


@pytest.mark.parametrize("fields", [{"held": True}, {"user": "eve"}])
def test_who_may_not_start_has_no_place(fields: dict[str, object]) -> None:
    scene = Scene(jobs=(FULL, replace(J, name="k"), replace(J, **fields)))
    case = scene.case()
    order = line(case.state, case.state.jobs["j"], scene.decided(), [{"v4": 8}])

    assert order == []
    assert place(case.state, case.state.jobs["j"], order) is None
    assert list(ahead(case.state.jobs["j"], order, {}, ())) == []


def test_who_was_moved_up_has_the_better_place() -> None:
    scene = Scene(jobs=(FULL, replace(J, name="k", age_s=10, topped=True), J))
    case = scene.case()

    [row] = waiting(case, case.state.jobs["j"], scene.decided()).ahead

    assert (row.job, row.why) == ("k", "it has a better place (launch top)")
