"""What keeps a job from its turn is told with what opens it; and what is tried goes by the gates being open."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bastion.launcher.explain.held_back import gates, lifted, met
from bastion.launcher.explain.start_estimate import outlook
from bastion.launcher.explain.what_if_decision import WhatIfDecisions
from tests.support.scenes import Asked, Scene, starts
from tests.support.world import NOON

J = Asked(name="j", resources={"v4": 2})
PREP = Asked(name="prep", user="bob", project="blue", resources={"v4": 1}, running=1, age_s=2_000)
SOON = NOON + timedelta(hours=2)


def shut(scene: Scene, job: str = "j") -> list[tuple[str, str]]:
    case = scene.case()
    return [(gate.what, gate.text) for gate in gates(case, case.state.jobs[job])]


def opened(scene: Scene, job: str = "j") -> int:
    """How many tasks start once all is open."""
    case, asked = scene.case(), WhatIfDecisions(job)
    assert not starts(scene, job)
    return outlook(case, case.state.jobs[job], asked.plan(case), asked).now.tasks


@pytest.mark.parametrize(
    ("fields", "more", "what", "text"),
    [
        ({"held": True}, {}, "held", "launch release j: held by alice since 2026-01-31T12:00:00Z"),
        ({}, {"paused": True}, "paused", "an admin's bastion resume: paused by root since 2026-01-31T12:00:00Z"),
        ({"user": "eve"}, {}, "membership", "a line for eve in [project_membership] red of the quota file"),
        (
            {"more": {"job_class": "urgent"}}, {}, "class",
            "urgent in [project_classes] red of the quota file, or launch update j --class=standard",
        ),
        ({"more": {"after": ["any:prep"]}}, {}, "after", "any:prep: it is RUNNING"),
        ({"more": {"begin": SOON}}, {}, "begin", "time: it begins at 14:00 UTC, in 2h"),
    ],
)  # fmt: skip
def test_each_gate_is_told_and_once_open_the_job_starts(
    fields: dict[str, Any], more: dict[str, Any], what: str, text: str
) -> None:
    scene = Scene(jobs=(PREP, replace(J, **fields)), **more)

    assert shut(scene) == [(what, text)]
    assert opened(scene) == 1


def test_of_an_array_so_many_tasks_at_once_may_be_too_few() -> None:
    sweep = Asked(name="j", resources={"v4": 1}, running=2, more={"count": 5, "max_parallel": 2})

    assert shut(Scene(jobs=(sweep,))) == [
        ("max_parallel", "the end of one of its 2 tasks, or launch update j --max_parallel=3"),
    ]
    assert opened(Scene(jobs=(sweep,))) == 1


def test_all_that_is_shut_is_told() -> None:
    scene = Scene(
        jobs=(PREP, replace(J, held=True, user="eve", more={"after": ["ok:prep"], "begin": SOON})), paused=True
    )

    assert [what for what, _ in shut(scene)] == ["paused", "held", "membership", "after", "begin"]


def test_an_open_job_is_told_of_no_gate_and_its_case_stays_the_same() -> None:
    case = Scene(jobs=(PREP, J)).case()

    assert list(gates(case, case.state.jobs["j"])) == []
    assert lifted(case, case.state.jobs["j"]) is case
    assert met(case, case.state.jobs["j"]) is case
