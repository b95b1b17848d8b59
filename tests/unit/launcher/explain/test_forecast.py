"""When a job will start if nothing else happens: by the ends that are known, and by the real decision after each."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bastion.launcher.explain.forecast import STEPS, ExpectedStart
from tests.support.scenes import Asked, Scene
from tests.support.world import NOON

HALVES = {"red": {"v4": 0.5}, "blue": {"v4": 0.5}}
J = Asked(name="j", resources={"v4": 6})


def limited(name: str, amount: int, left_s: float, **fields: object) -> Asked:
    """A job of bob's that has run for 1000 s, and reaches its time limit in so many seconds."""
    more = {"time_limit_s": 1_000 + left_s, "count": 1}
    return Asked(name=name, user="bob", project="blue", resources={"v4": amount}, running=1, more={**more, **fields})


def expected(scene: Scene, job: str = "j") -> ExpectedStart:
    found = scene.outlook(job).expected
    assert found is not None
    return found


def seconds(found: ExpectedStart) -> float:
    return (found.at - NOON).total_seconds()


def over(found: ExpectedStart) -> list[tuple[str, bool]]:
    return [(str(row.job), row.stopped) for row in found.over]


def test_it_starts_when_enough_have_reached_their_time_limit() -> None:
    scene = Scene(jobs=(limited("a", 2, 500), limited("b", 2, 100), limited("c", 4, 900), J))

    found = expected(scene)

    assert (seconds(found), over(found)) == (900, [("bob/c", False)])


def test_what_others_take_meanwhile_is_taken() -> None:
    first = Asked(name="first", user="ann", resources={"v4": 8}, more={"priority": 1, "time_limit_s": 3_000})
    scene = Scene(jobs=(limited("a", 8, 500), first, J))

    found = expected(scene)

    assert (seconds(found), over(found)) == (3_500, [("ann/first", False)])


def test_what_is_being_stopped_is_waited_for() -> None:
    stopping = replace(limited("a", 8, 5_000), stopping_for="j")

    found = expected(Scene(jobs=(stopping, J), shares={"red": {"v4": 0.75}}))

    assert (seconds(found), over(found)) == (30, [("bob/a", True)])


def test_a_reclaim_is_foreseen_with_its_delay_and_the_grace_of_who_is_stopped() -> None:
    llm = Asked(name="llm", user="bob", project="blue", resources={"v4": 8}, running=1, more={"grace_s": 45.0})
    scene = Scene(shares=HALVES, jobs=(llm, replace(J, resources={"v4": 4}, age_s=60)))

    found = expected(scene)

    assert found.stopping_at == NOON + timedelta(seconds=30)
    assert (seconds(found), over(found)) == (75, [("bob/llm", True)])


def test_what_is_stopped_waits_again_and_takes_what_it_may() -> None:
    """Who was stopped for one job comes back, and has its room before the next one: the machine is the real one."""
    llm = Asked(name="llm", user="bob", project="blue", resources={"v4": 8}, running=1, more={"priority": 1})
    scene = Scene(shares={"blue": {"v4": 0.5}, "red": {"v4": 0.5}}, jobs=(
        llm, Asked(name="owed", resources={"v4": 4}, more={"time_limit_s": 600, "priority": 1}), J,
    ))  # fmt: skip

    assert expected(scene, "owed").stopping_at == NOON


def test_nothing_is_foreseen_where_no_end_is_known() -> None:
    scene = Scene(jobs=(Asked(name="a", user="bob", project="blue", resources={"v4": 8}, running=1), J))

    assert scene.outlook("j").expected is None


def test_of_many_ends_several_are_taken_together_and_the_estimate_is_rather_late() -> None:
    ends = [limited(f"a{n}", 1, 10 * (n + 1)) for n in range(40)]
    scene = Scene(capacity={"v4": 40}, jobs=(*ends, replace(J, resources={"v4": 33})))

    found = expected(scene)

    assert 330 <= seconds(found) <= 330 + 10 * (40 // STEPS + 1)
    assert scene.outlook("j").decisions <= 2 * STEPS + 20
