"""The incumbent's policy decides the worked examples of the incumbent's own tests as the incumbent does.

So does the naive restatement of its order that the policy is compared with. Its elastic jobs (example 14) and its
order without fairness between users (half of example 2) are not offered here.
"""

from __future__ import annotations

import pytest

from bastion.quota.policy.axlearn import quotas
from bastion.quota.resources import Resources
from tests.unit.quota.policy import incumbent
from tests.unit.quota.policy.incumbent import Job, Verdict, job
from tests.unit.quota.policy.ranked import Weights, as_shares, order_of, ranked, ranking_of

A10_B5: Weights = {"a": {"v4": 10}, "b": {"v4": 5}}
EVEN3: Weights = {project: {"v4": 5} for project in "abc"}


def v4(*amounts: int) -> list[Resources]:
    return [{"v4": amount} for amount in amounts]


def three_each() -> list[Job]:
    return [job(f"{project}{n}", 1, created=n) for n in range(3) for project in "abc"]


def test_example_1_priority_then_accumulated_demand_then_age_then_name() -> None:
    rows = [
        job("p-a1", 10, user="a", priority=1, created=1),
        job("p-a2", 20, user="a", priority=2, created=2),
        job("p-b3", 5, user="b", priority=2, created=3),
        job("p-b4", 3, user="b", priority=2, created=4),
        job("p-b5", 3, user="b", priority=1, created=1),
    ]
    assert order_of(rows) == ["p-a1", "p-b5", "p-b3", "p-b4", "p-a2"]
    assert [row.name for row in incumbent.queue(rows)] == ["p-a1", "p-b5", "p-b3", "p-b4", "p-a2"]


def test_example_2_users_of_a_project_take_turns() -> None:
    rows = [
        job("p-a1", 100, user="a", created=1),
        job("p-a2", 100, user="a", created=2),
        job("p-b3", 5, user="b", created=3),
    ]
    assert order_of(rows) == ["p-a1", "p-b3", "p-a2"]
    assert [row.name for row in incumbent.queue(rows)] == ["p-a1", "p-b3", "p-a2"]


MIXED: Weights = {"p1": {"v4": 10, "v5": 5}, "p2": {"v4": 5, "v3": 5}, "p3": {"v3": 3}}


@pytest.mark.parametrize(
    ("jobs", "tiers", "weights", "expected"),
    [
        pytest.param(
            [job("a1", 5), job("b1", 2), job("b2", 3)],
            v4(10, 5),
            A10_B5,
            [("b1", 0), ("a1", 0), ("b2", 0)],
            id="3 ratio decides",
        ),
        pytest.param([job("a1", 7), job("b1", 7)], v4(10, 5), A10_B5, [("a1", 0), ("b1", 1)], id="4 relative demand"),
        pytest.param(
            [job("a1", 7, created=0), job("b1", 7, created=1)],
            v4(10, 5),
            {"a": {"v4": 10}, "b": {"v4": 10}},
            [("a1", 0), ("b1", 1)],
            id="5 tie, the older first",
        ),
        pytest.param(
            [job("a1", 7, created=1), job("b1", 7, created=0)],
            v4(10, 5),
            {"a": {"v4": 10}, "b": {"v4": 10}},
            [("b1", 0), ("a1", 1)],
            id="5 the other way round",
        ),
        pytest.param(
            [job("a1", 12), job("b1", 2), job("b2", 1)],
            v4(10, 5),
            A10_B5,
            [("b1", 0), ("b2", 0), ("a1", 1)],
            id="6 big job late",
        ),
        pytest.param(
            [job("a1", 13), job("b1", 4), job("b2", 2)],
            v4(10, 5),
            A10_B5,
            [("b1", 0), ("b2", 0), ("a1", None)],
            id="6 big job not at all",
        ),
        pytest.param(
            three_each(),
            v4(3, 2),
            EVEN3,
            [
                ("a0", 0),
                ("b0", 0),
                ("c0", 0),
                ("a1", 1),
                ("b1", 1),
                *((name, None) for name in ("c1", "c2", "a2", "b2")),
            ],
            id="7 load balance and the order of losers",
        ),
        pytest.param(
            three_each(),
            v4(2, 1, 2),
            {"b": {"v4": 3}, "c": {"v3": 1}},
            [
                ("b0", 0),
                ("b1", 0),
                ("b2", 1),
                ("a0", 2),
                ("c0", 2),
                *((name, None) for name in ("a1", "c1", "a2", "c2")),
            ],
            id="8 projects without quota",
        ),
        pytest.param(
            [
                job(f"{project}{n}", demand, created=n)
                for project in "ab"
                for n, demand in ((1, {"v3": 1}), (2, {"v4": 1}), (3, {"v3": 1, "v4": 1}))
            ],
            [{"v3": 2}, {"v4": 2}, {"v3": 1, "v4": 1}],
            {"a": {"v3": 0.1, "v4": 2}, "b": {"v3": 0.2, "v4": 1}},
            [("b1", 0), ("a1", 0), ("a2", 1), ("b2", 1), ("a3", 2), ("b3", None)],
            id="9 several types",
        ),
        pytest.param(
            [job("a1", 1, created=1), job("b1", 3, created=2), job("b2", 1, created=3)],
            v4(2, 3),
            {},
            [("a1", 0), ("b1", 1), ("b2", 0)],
            id="10 backward pass",
        ),
        pytest.param(
            [job("a1", 5, created=3), job("b1", 5, created=2), job("c1", 5, created=1)],
            v4(12),
            EVEN3,
            [("c1", 0), ("b1", 0), ("a1", None)],
            id="11 whole jobs beat shares",
        ),
        pytest.param(
            [job("a1", 5), job("a2", 10), job("b1", {"unknown": 1}), job("b2", 1)],
            v4(10, 5),
            A10_B5,
            [("b2", 0), ("a1", 0), ("a2", None), ("b1", None)],
            id="13 unknown type goes behind",
        ),
        pytest.param(
            [job("a1", 7, created=2), job("b1", 1, created=1), job("b2", 7, created=2)],
            v4(10, 5),
            A10_B5,
            [("b1", 0), ("a1", 0), ("b2", 1)],
            id="what is left of a tier serves the next",
        ),
        pytest.param(
            [job("a1", {"v4": 1, "v3": 2}, created=2), job("b1", 2, created=1), job("b2", 7, created=2)],
            v4(3),
            A10_B5,
            [("b1", 0), ("b2", None), ("a1", None)],
            id="never more than there is",
        ),
        pytest.param(
            [job("a1", {"v4": 1, "v3": 2}, created=2), job("b1", 3, created=1), job("b2", 7, created=2)],
            v4(1, 1, 1),
            A10_B5,
            [("b1", 2), ("b2", None), ("a1", None)],
            id="a job may span all tiers",
        ),
        pytest.param(
            [job("a1", {"v4": 1, "v3": 2}, created=2), job("b1", 3, created=1), job("b2", 7, created=2)],
            [{"v3": 1}, {"v4": 1}, {"v3": 1}, {"v4": 3}],
            {"a": {}, "b": {}},
            [("a1", 2), ("b1", 3), ("b2", None)],
            id="several types span tiers of their own",
        ),
        pytest.param(
            [job("a1", {"v4": 1, "v3": 2}, created=2), job("b1", 3, created=1), job("b2", 1, created=2)],
            [{"v4": 3}, {"v4": 2}, {"v3": 2}],
            {"a": {}, "b": {}},
            [("a1", 2), ("b1", 0), ("b2", 1)],
            id="several types are taken from the worst tier first",
        ),
        pytest.param(
            [job("a1", {}, created=2), job("b1", 2, created=1), job("b2", {}, created=2)],
            v4(10, 5),
            A10_B5,
            [("a1", 0), ("b1", 0), ("b2", 0)],
            id="jobs without demands",
        ),
    ],
)
def test_worked_examples(jobs: list[Job], tiers: list[Resources], weights: Weights, expected: list[Verdict]) -> None:
    assert ranked(jobs, tiers, weights) == expected
    assert ranked(jobs[::-1], tiers, weights) == expected
    assert incumbent.rank(jobs, tiers, weights) == expected


def test_example_11_jobs_of_1_5_and_4_in_each_project() -> None:
    ages = {1: "abc", 2: "bca", 3: "abc"}  # from old to young
    jobs = [
        job(f"{project}{n}", amount, created=10 * n + ages[n].index(project))
        for project in "abc"
        for n, amount in ((1, 1), (2, 5), (3, 4))
    ]
    verdicts = ranked(jobs, v4(12), EVEN3)
    assert verdicts == incumbent.rank(jobs, v4(12), EVEN3)
    assert {name for name, tier in verdicts if tier is not None} == {"a1", "b1", "c1", "b2", "c3"}


def test_example_12_mixed_demands() -> None:
    jobs = [
        Job(name=name, project=project, user=name, demand=demand, priority=5, created=created)
        for name, project, demand, created in (
            ("a", "p1", {"v4": 12}, 1),
            ("b", "p2", {"v4": 5}, 2),
            ("c", "p2", {"v3": 6}, 3),
            ("d", "p2", {"v5": 4}, 4),
            ("e", "p3", {"v5": 2}, 5),
            ("f", "", {"v3": 2}, 1),
        )
    ]
    tiers: list[Resources] = [{"v4": 15, "v3": 8, "v5": 5}]
    ranking = ranking_of(jobs, tiers, MIXED)
    verdicts = [(job.job, tier) for job, tier in ranking]
    assert verdicts == incumbent.rank(jobs, tiers, MIXED)
    assert {name for name, tier in verdicts if tier is not None} == {"b", "c", "e", "f"}
    assert ranking.left == {"v4": 10, "v3": 0, "v5": 3}


@pytest.mark.parametrize(
    ("weights", "capacity", "expected"),
    [
        (
            {"a": {"tpu": 0.1, "gpu": 3}, "b": {"tpu": 0.3, "gpu": 1}},
            {"tpu": 4, "gpu": 4},
            {"a": {"tpu": 1, "gpu": 3}, "b": {"tpu": 3, "gpu": 1}},
        ),
        (
            {"a": {"tpu": 0.1, "gpu": 3}, "b": {"tpu": 0.3, "gpu": 1}},
            {"tpu": 4},
            {"a": {"tpu": 1, "gpu": 0}, "b": {"tpu": 3, "gpu": 0}},
        ),
        (
            {"a": {"tpu": 0.1}, "b": {"tpu": 0.3, "gpu": 1}},
            {"tpu": 4, "gpu": 4},
            {"a": {"tpu": 1}, "b": {"tpu": 3, "gpu": 4}},
        ),
        (
            {"a": {"tpu": 0.1, "gpu": 0}, "b": {"tpu": 0, "gpu": 0}},
            {"tpu": 4, "gpu": 0},
            {"a": {"tpu": 4, "gpu": 0}, "b": {"tpu": 0, "gpu": 0}},
        ),
    ],
)
def test_example_15_weights_are_normalised(weights: Weights, capacity: Resources, expected: Weights) -> None:
    found = quotas(as_shares(weights), capacity)
    assert {p: {kind: round(quota, 9) for kind, quota in row.items()} for p, row in found.items()} == expected
