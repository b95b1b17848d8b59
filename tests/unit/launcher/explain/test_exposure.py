"""Who may have a running job stopped: whoever is told does, and one unit less does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from bastion.launcher.explain.preemption_risk import PreemptionRisk, ShareClaim, exposure
from bastion.launcher.explain.what_if_decision import WhatIfDecisions
from tests.support.scenes import Asked, Scene
from tests.support.world import NOON

HALVES = {"red": {"v4": 0.5}, "blue": {"v4": 0.5}}
LLM = Asked(name="llm", user="bob", project="blue", resources={"v4": 6}, running=1, age_s=5_000)


def told(scene: Scene, job: str = "llm", most: int = 40) -> PreemptionRisk:
    case = scene.case()
    found = exposure(case, case.state.jobs[job], WhatIfDecisions(job, most))
    assert found is not None
    return found


def stopped(scene: Scene, claim: ShareClaim, less: int = 0) -> bool:
    """True if the job is stopped once such a job has waited for so long."""
    [(kind, amount)] = claim.resources.items()
    user = scene.members[claim.project][0]
    new = Asked(name="new", user=user, project=claim.project, resources={kind: amount - less}, age_s=claim.after_s)
    stops = replace(scene, jobs=(*scene.jobs, new)).decided().schedule.stops
    return [(stop.job, stop.for_job) for stop in stops] == [("llm", "new")]


def test_the_smallest_job_that_would_have_it_stopped_is_told() -> None:
    scene = Scene(shares=HALVES, jobs=(LLM,))

    found = told(scene)

    assert found == PreemptionRisk(
        borrowed={"v4": 2}, threat=None, claims=(ShareClaim(project="red", resources={"v4": 3}, after_s=90),)
    )
    assert stopped(scene, found.claims[0])
    assert not stopped(scene, found.claims[0], less=1)


def test_the_projects_with_most_room_are_asked_about() -> None:
    thirds = {"red": {"v4": 0.25}, "blue": {"v4": 0.25}, "green": {"v4": 0.5}}
    scene = Scene(shares=thirds, jobs=(replace(LLM, resources={"v4": 8}),))

    found = told(scene)

    assert [(claim.project, claim.resources) for claim in found.claims] == [("green", {"v4": 1}), ("red", {"v4": 1})]
    assert all(stopped(scene, claim) for claim in found.claims)


def test_who_borrows_nothing_is_not_at_risk() -> None:
    scene = Scene(shares=HALVES, jobs=(replace(LLM, resources={"v4": 4}),))

    assert told(scene) == PreemptionRisk(borrowed={}, threat=None, claims=())


def test_where_nobody_has_a_share_nothing_is_told() -> None:
    case = Scene(jobs=(LLM,)).case()
    assert exposure(case, case.state.jobs["llm"], WhatIfDecisions("llm")) is None


def test_who_waits_and_will_have_it_stopped_is_told_with_the_moment() -> None:
    poor = Asked(name="poor", resources={"v4": 4}, age_s=60)
    scene = Scene(shares=HALVES, jobs=(LLM, poor))

    threat = told(scene).threat

    assert threat is not None
    assert (str(threat.by), threat.at) == ("alice/poor", NOON + timedelta(seconds=30))
    assert [stop.job for stop in scene.decided(threat.at).schedule.stops] == ["llm"]
    assert not scene.decided(threat.at - timedelta(seconds=1)).schedule.stops


def test_a_pool_that_shrank_is_nobodys_sake() -> None:
    scene = Scene(shares=HALVES, jobs=(LLM,), smaller={"v4": 4})

    threat = told(scene).threat

    assert threat is not None
    assert (threat.by, threat.at) == (None, NOON)


@pytest.mark.parametrize("most", range(4))
def test_decisions_are_bounded(most: int) -> None:
    case, asked = Scene(shares=HALVES, jobs=(LLM,)).case(), WhatIfDecisions("llm", most)
    assert exposure(case, case.state.jobs["llm"], asked)
    assert asked.taken <= most
