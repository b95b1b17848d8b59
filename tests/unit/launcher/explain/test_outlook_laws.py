"""On any fleet, with any quota and any queue: whatever is told to start a job does so, and is as small as can be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bastion.launcher.explain.what_if_decision import AT_MOST
from tests.depth import examples
from tests.support.scenes import MEMBERS, PROJECTS, Asked, Scene, acted, less, starts, stopped_for

LAW = settings(max_examples=examples(40), derandomize=True, deadline=None)
KINDS = ("v4", "cpu")
SHARES = (0.0, 0.125, 0.25, 1)
"""Whoever alone has a share of 1 has all; beside others 1 is an amount."""


@st.composite
def jobs(draw: st.DrawFn, name: str, most: int) -> Asked:
    """A job of anybody's."""
    project = draw(st.sampled_from(PROJECTS))
    asked = draw(st.fixed_dictionaries({"v4": st.integers(0, most)}, optional={"cpu": st.integers(1, most)}))
    more = {"priority": draw(st.integers(1, 5)), "count": draw(st.sampled_from([1, 1, 3]))}
    if draw(st.booleans()):
        more["replicas"] = draw(st.integers(1, 3))
    return Asked(
        name=name,
        user=draw(st.sampled_from(MEMBERS[project])),
        project=project,
        resources={kind: n for kind, n in asked.items() if n} or {"v4": 1},
        age_s=draw(st.sampled_from([10.0, 60.0, 500.0, 5_000.0])),
        more=more,
    )


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """A fleet on which some jobs run, some of them stop, and others wait for what these have."""
    capacity = {kind: draw(st.integers(4, 16)) for kind in KINDS}
    shares: dict[str, dict[str, float]] = {project: {} for project in PROJECTS}
    for kind in KINDS[: draw(st.integers(0, 2))]:  # the other kinds are nobody's
        for project in PROJECTS:
            shares[project][kind] = draw(st.sampled_from(SHARES))
    free, rows = dict(capacity), []
    for number in range(draw(st.integers(1, 6))):
        job = draw(jobs(f"run{number}", 8))
        job = replace(job, more={**job.more, "replicas": 1, "count": draw(st.sampled_from([1, 1, 2]))})
        if all(n <= free[kind] for kind, n in job.resources.items()):
            free = {kind: n - job.resources.get(kind, 0) for kind, n in free.items()}
            stops = draw(st.sampled_from([None, None, None, "wait0"]))
            rows.append(replace(job, running=1, stopping_for=stops, age_s=job.age_s + 9_000))
    waiting = [draw(jobs(f"wait{number}", 8)) for number in range(draw(st.integers(1, 5)))]
    policy = draw(st.sampled_from(["default", "default", "axlearn"]))
    return Scene(capacity=capacity, shares=shares, jobs=(*rows, *waiting), policy=policy)


ONE, FIRST = {"v4": 1}, {"priority": 1}
A_TIE = Scene(
    capacity={"v4": 6},
    shares={"red": {"v4": 0.25}, "blue": {"v4": 0.0}, "green": {"v4": 0.0}},
    jobs=(
        Asked(name="run0", resources=ONE, age_s=9_010.0, running=1, more=FIRST),
        Asked(name="wait0", resources=ONE, age_s=10.0, more=FIRST),
        Asked(name="wait1", user="bob", project="blue", resources={"v4": 2}, age_s=10.0, more={**FIRST, "replicas": 2}),
        Asked(name="wait2", resources=ONE, age_s=10.0, more=FIRST),
    ),
)
"""With a third of the pool blue is exactly as far above its share as red, and starts first; with 0.333333 of it red does."""

A_TIE_OF_VICTIMS = Scene(
    capacity={"v4": 12, "cpu": 4},
    shares={"red": {"v4": 0.125, "cpu": 0.0}, "blue": {"v4": 0.0, "cpu": 0.0}, "green": {"v4": 0.125, "cpu": 0.0}},
    jobs=(
        *(
            Asked(name=f"run{n}", user="bob", project="blue", resources=asked, age_s=9_010.0, running=1, more=more)
            for n, asked, more in (
                (0, {"v4": 6}, {"priority": 1, "count": 2}),
                (1, {"v4": 2, "cpu": 1}, {"priority": 2, "count": 2}),
            )
        ),
        *(Asked(name=f"run{n}", resources=ONE, age_s=9_010.0, running=1, more=FIRST) for n in range(2, 6)),
        Asked(name="wait0", user="guy", project="green", resources=ONE, age_s=500.0, more=FIRST),
    ),
)
"""Ten twelfths for blue have other jobs stopped than the six digits of it in a quota file."""

AMOUNTS = Scene(
    capacity={"v4": 8},
    shares={"red": {"v4": 3}, "blue": {"v4": 0.125}, "green": {"v4": 0.0}},
    jobs=(
        Asked(name="run0", resources={"v4": 7}, age_s=9_010.0, running=1, more=FIRST),
        Asked(name="run1", user="bob", project="blue", resources=ONE, age_s=9_010.0, running=1, more=FIRST),
        Asked(name="wait0", user="bob", project="blue", resources=ONE, age_s=10.0, more=FIRST),
        Asked(name="wait1", resources=ONE, age_s=10.0, more=FIRST),
        Asked(name="wait2", user="bob", project="blue", resources=ONE, age_s=10.0, more=FIRST),
    ),
)
"""Red is promised three v4, also of a larger pool."""


@LAW
@given(scenes())
@example(A_TIE)
@example(A_TIE_OF_VICTIMS)
@example(AMOUNTS)
def test_what_is_told_to_start_a_job_starts_it_and_one_unit_less_does_not(scene: Scene) -> None:
    for job in [job.name for job in scene.jobs if job.running < job.tasks]:
        told = scene.outlook(job)
        assert told.decisions <= AT_MOST
        for remedy in told.remedies:
            then = acted(scene, job, remedy)
            assert starts(then, job, remedy.at) == remedy.effect.tasks, remedy
            assert set(stopped_for(then, job, remedy.at)) == {other.job for other in remedy.effect.stops}, remedy
            assert remedy.effect, remedy
            for smaller in less(scene, job, remedy):
                then = acted(scene, job, smaller)
                assert not starts(then, job, remedy.at), (remedy, smaller)
                assert not stopped_for(then, job, remedy.at), (remedy, smaller)
