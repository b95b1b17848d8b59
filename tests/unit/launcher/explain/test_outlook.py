"""Whatever `launch why` says would start a job does start it, and one unit less does not."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bastion.launcher.explain.remedies import Remedy
from bastion.launcher.explain.start_estimate import outlook
from bastion.launcher.explain.what_if_decision import WhatIfDecisions
from bastion.model.state.state import State
from bastion.quota.demand import Schedule, Start
from bastion.schedule.pending import PendingJobs
from bastion.schedule.plan import DecisionInputs, Plan
from tests.support.scenes import Asked, Scene, acted, less, starts, stopped_for
from tests.support.world import NOON

HALVES = {"red": {"v4": 0.5}, "blue": {"v4": 0.5}}
LLM = Asked(name="llm", user="bob", project="blue", resources={"v4": 6}, running=1, age_s=5_000)


def found(scene: Scene, job: str, what: str) -> Remedy:
    """The only remedy of this sort, after it was acted upon, and one unit less of it, too."""
    [remedy] = [remedy for remedy in scene.outlook(job).remedies if remedy.what == what]
    assert not starts(scene, job)
    assert not stopped_for(scene, job)
    holds(scene, job, remedy)
    return remedy


def holds(scene: Scene, job: str, remedy: Remedy) -> None:
    """What is said of the remedy is so."""
    then = acted(scene, job, remedy)
    assert starts(then, job, remedy.at) == remedy.effect.tasks
    assert sorted(set(stopped_for(then, job, remedy.at))) == sorted(other.job for other in remedy.effect.stops)
    assert remedy.effect
    for smaller in less(scene, job, remedy):
        then = acted(scene, job, smaller)
        assert not starts(then, job, remedy.at), smaller
        assert not stopped_for(then, job, remedy.at), smaller


def test_a_larger_share_is_told_to_the_unit_and_whose_it_would_be() -> None:
    scene = Scene(shares=HALVES, jobs=(LLM, Asked(name="j", resources={"v4": 6})))

    remedy = found(scene, "j", "share")

    assert remedy.text == "+2 v4 for red (2 v4 of blue)"
    assert remedy.change == {
        "shares": [
            {"project": "red", "kind": "v4", "from": 4, "to": 6, "share": 0.75},
            {"project": "blue", "kind": "v4", "from": 4, "to": 2, "share": 0.25},
        ]
    }
    assert [str(other) for other in remedy.effect.stops] == ["bob/llm"]
    one_less = Scene(shares={"red": {"v4": 0.625}, "blue": {"v4": 0.375}}, jobs=scene.jobs)
    assert not stopped_for(one_less, "j")


def test_what_nobody_is_promised_is_given_first() -> None:
    scene = Scene(shares={"red": {"v4": 0.25}, "blue": {"v4": 0.25}}, jobs=(LLM, Asked(name="j", resources={"v4": 6})))

    assert found(scene, "j", "share").text == "+4 v4 for red"


def test_more_machines_are_told_to_the_unit() -> None:
    scene = Scene(jobs=(LLM, Asked(name="j", resources={"v4": 6})))

    assert found(scene, "j", "pool").text == "4 more v4 in the fleet"


def test_a_kind_of_which_there_is_none_may_be_added() -> None:
    scene = Scene(jobs=(Asked(name="j", resources={"v4": 1, "h100": 2}),))

    remedy = found(scene, "j", "pool")

    assert remedy.change == {"more": {"h100": 2}}


def test_the_priority_that_is_enough_is_told_with_its_command() -> None:
    ahead = (
        Asked(name="a", resources={"v4": 2}, more={"priority": 2}),
        Asked(name="b", resources={"v4": 2}, more={"priority": 4}),
    )
    scene = Scene(jobs=(LLM, *ahead, Asked(name="j", user="ann", resources={"v4": 2})))
    scene = scene.but("a", held=True)

    remedy = found(scene, "j", "priority")

    assert (remedy.text, remedy.how) == ("priority 3", "launch update j --priority=3")


def test_who_is_more_important_has_others_of_its_project_stopped_and_they_are_named() -> None:
    own = Asked(name="old", resources={"v4": 8}, running=1, more={"priority": 3})
    scene = Scene(jobs=(own, Asked(name="j", user="ann", resources={"v4": 4})))

    remedy = found(scene, "j", "priority")

    assert remedy.text == "priority 2"
    assert remedy.effect.tasks == 0
    assert [str(other) for other in remedy.effect.stops] == ["alice/old"]


def test_what_takes_its_time_is_told_with_the_time() -> None:
    own = Asked(name="old", resources={"v4": 8}, running=1, more={"priority": 3})
    scene = Scene(jobs=(own, Asked(name="j", user="ann", resources={"v4": 4}, age_s=60)))

    assert found(scene, "j", "priority").at == NOON + timedelta(seconds=30)


def test_time_alone_is_enough_within_the_share() -> None:
    scene = Scene(shares=HALVES, jobs=(LLM, Asked(name="j", resources={"v4": 4}, age_s=60)))

    remedy = found(scene, "j", "time")

    assert remedy.at == NOON + timedelta(seconds=30)
    assert [str(other) for other in remedy.effect.stops] == ["bob/llm"]
    assert not any(other.what == "share" for other in scene.outlook("j").remedies)


def test_asking_for_less_is_told_as_the_most_that_starts() -> None:
    scene = Scene(jobs=(LLM, Asked(name="j", resources={"v4": 6})))

    remedy = found(scene, "j", "resources")

    assert remedy.text == "asking for 2 instead of 6 v4"
    assert remedy.change == {"resources": {"v4": 2}}


def test_of_several_kinds_each_is_as_much_as_starts() -> None:
    scene = Scene(capacity={"v4": 8, "cpu": 10}, jobs=(
        replace_resources(LLM, {"v4": 6, "cpu": 9}), Asked(name="j", resources={"v4": 6, "cpu": 4}),
    ))  # fmt: skip

    assert found(scene, "j", "resources").change == {"resources": {"v4": 2, "cpu": 1}}


def replace_resources(job: Asked, resources: dict[str, int]) -> Asked:
    return Asked(name=job.name, user=job.user, project=job.project, resources=resources, running=1, age_s=job.age_s)


def test_a_gang_is_told_how_many_replicas_would_do() -> None:
    scene = Scene(jobs=(LLM, Asked(name="j", resources={"v4": 1}, more={"replicas": 6})))

    remedy = found(scene, "j", "replicas")

    assert remedy.text == "2 instead of 6 replicas"


def test_each_end_that_suffices_is_told_the_own_first() -> None:
    holders = (
        Asked(name="big", user="bob", project="blue", resources={"v4": 4}, running=1),
        Asked(name="small", user="bob", project="blue", resources={"v4": 1}, running=1),
        Asked(name="own", resources={"v4": 3}, running=1),
    )
    scene = Scene(jobs=(*holders, Asked(name="j", resources={"v4": 3})))

    remedies = [remedy for remedy in scene.outlook("j").remedies if remedy.what == "others"]

    assert [(remedy.text, remedy.how) for remedy in remedies] == [
        ("the end of alice/own", "launch stop own"),
        ("the end of bob/big", ""),
    ]
    for remedy in remedies:
        holds(scene, "j", remedy)


def test_several_ends_are_told_where_no_single_one_is_enough() -> None:
    small = (
        Asked(name=f"s{n}", user="bob", project="blue", resources={"v4": 2}, running=1, age_s=100 - n) for n in range(4)
    )
    scene = Scene(jobs=(*small, Asked(name="j", resources={"v4": 5})))

    assert found(scene, "j", "others").text == "the end of bob/s0, bob/s1 and bob/s2"


def test_who_waits_before_it_is_told_to_wait() -> None:
    first = Asked(name="first", resources={"v4": 8}, more={"priority": 1}, age_s=10)
    scene = Scene(
        jobs=(LLM, first, Asked(name="j", user="ann", resources={"v4": 2})), shares={"red": {"v4": 1.0}}, delay_s=5
    )
    scene = scene.but("llm", stopping_for="first")

    remedy = found(scene, "j", "others")

    assert remedy.text == "holding back alice/first"


def test_what_it_takes_of_both_is_told_if_neither_is_enough() -> None:
    first = Asked(name="first", resources={"v4": 4}, more={"priority": 1})
    scene = Scene(jobs=(LLM, first, Asked(name="j", user="ann", resources={"v4": 8})))

    assert found(scene, "j", "others").text == "the end of bob/llm and holding back alice/first"


def test_an_array_is_told_how_many_of_its_tasks() -> None:
    scene = Scene(jobs=(LLM, Asked(name="j", resources={"v4": 3}, more={"count": 5})))

    assert found(scene, "j", "others").effect.tasks == 2


def test_who_starts_at_the_next_decision_needs_nothing() -> None:
    scene = Scene(jobs=(Asked(name="j"),))

    told = scene.outlook("j")

    assert (told.now.tasks, told.remedies, told.decisions, told.complete) == (1, (), 1, True)


def test_another_class_is_told_where_it_is_granted() -> None:
    llm = Asked(name="llm", user="bob", project="blue", resources={"v4": 8}, running=1)
    scene = Scene(shares={"blue": {"v4": 0.5}}, jobs=(llm, Asked(name="j", resources={"v4": 2})))

    assert not any(remedy.what == "class" for remedy in scene.outlook("j").remedies)
    granted = Scene(shares=scene.shares, jobs=scene.jobs, more='[project_classes]\nred = ["urgent"]')
    remedy = found(granted, "j", "class")

    assert (remedy.text, remedy.how) == ("class urgent", "launch update j --class=urgent")


def test_a_worse_tier_is_told_if_there_is_room_in_it() -> None:
    scene = Scene(capacity={"v4": 6}, worse={"v4": 4}, jobs=(LLM, Asked(name="j")))

    remedy = found(scene, "j", "max_tier")

    assert (remedy.text, remedy.how) == ("tier 1", "launch update j --max_tier=1")


def test_a_gate_that_is_shut_is_opened_before_anything_is_tried() -> None:
    scene = Scene(jobs=(LLM, Asked(name="j", resources={"v4": 6}, held=True)), paused=True)

    told = scene.outlook("j")

    assert not told.now
    opened = Scene(jobs=scene.jobs).but("j", held=False)
    for remedy in told.remedies:
        holds(opened, "j", remedy)
    assert {remedy.what for remedy in told.remedies} == {"resources", "others", "pool"}


def test_where_an_open_gate_is_enough_nothing_else_is_told() -> None:
    told = Scene(jobs=(Asked(name="j", held=True),)).outlook("j")

    assert (told.now.tasks, told.remedies) == (1, ())


def test_the_policy_is_a_black_box_and_what_it_says_is_told() -> None:
    """One that starts a job only if its priority is 3 or eight more units are there, whatever else is so."""

    def odd(state: State, inputs: DecisionInputs, now: datetime, pending: PendingJobs) -> Plan:
        rich = (state.reported() or {})["v4"] >= 16
        start = state.jobs["j"].priority <= 3 or rich
        return Plan(schedule=Schedule(starts=(Start("j", 0),) if start else ()))

    case, asked = Scene(jobs=(LLM, Asked(name="j"))).case(), WhatIfDecisions("j", decide=odd)
    told = outlook(case, case.state.jobs["j"], asked.plan(case), asked)

    assert [remedy.text for remedy in told.remedies] == ["priority 3", "8 more v4 in the fleet"]


@pytest.mark.parametrize("most", range(1, 12))
def test_decisions_are_bounded_and_what_was_found_until_then_is_told(most: int) -> None:
    jobs = (LLM, Asked(name="j", resources={"v4": 6}))
    case, asked = Scene(shares=HALVES, jobs=jobs).case(), WhatIfDecisions("j", most)

    told = outlook(case, case.state.jobs["j"], asked.plan(case), asked)

    assert told.decisions == most
    assert not told.complete
    texts = [remedy.text for remedy in Scene(shares=HALVES, jobs=jobs).outlook("j").remedies]
    assert [remedy.text for remedy in told.remedies] == texts[: len(told.remedies)]


def test_nothing_of_the_real_state_is_changed() -> None:
    scene = Scene(shares=HALVES, jobs=(LLM, Asked(name="j", resources={"v4": 6}), Asked(name="k", resources={"v4": 6})))
    case, asked = scene.case(), WhatIfDecisions("j")

    outlook(case, case.state.jobs["j"], asked.plan(case), asked)

    assert case == scene.case()


def test_a_higher_limit_of_users_is_told_to_the_unit() -> None:
    own = Asked(name="own", resources={"v4": 3}, running=1)
    scene = Scene(jobs=(own, Asked(name="j", resources={"v4": 4})), more="[user_limits]\nred = { v4 = 4 }")

    remedy = found(scene, "j", "user_limit")

    assert remedy.text == "a limit of 7 v4 for each user of red"
    assert not starts(Scene(jobs=scene.jobs, more="[user_limits]\nred = { v4 = 6 }"), "j")


def test_decisions_may_go_back_in_time() -> None:
    soon = NOON + timedelta(hours=1)
    case = Scene(jobs=(Asked(name="j", more={"begin": soon}), Asked(name="k", age_s=10))).case()
    asked = WhatIfDecisions("j")

    assert [asked.effect(case.at(at)).tasks for at in (NOON, soon, NOON, soon, NOON)] == [0, 1, 0, 1, 0]
