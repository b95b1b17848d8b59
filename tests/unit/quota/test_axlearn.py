"""The incumbent's policy decides the worked examples as the incumbent does (examples 14, elastic jobs, aside)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from quota.axlearn import AxJob, queue, quotas, rank
from quota.resources import Resources
from tests.unit.quota.fleet import decide, hold, quota, started, stopped, stopping, want

Rows = list[tuple[str, int | None]]
Weights = dict[str, dict[str, float]]

A10_B5: Weights = {"a": {"v4": 10}, "b": {"v4": 5}}
EVEN3: Weights = {project: {"v4": 5} for project in "abc"}


def job(name: str, amount: int | Resources, *, created: int = 0, user: str = "", priority: int = 1) -> AxJob:
    """A job whose project is its name's first letter."""
    demand = {"v4": amount} if isinstance(amount, int) else amount
    return AxJob(job=name, project=name[0], user=user or name[0], demand=demand, priority=priority, created=created)


def verdicts(jobs: list[AxJob], tiers: list[Resources], weights: Weights) -> Rows:
    shares = {p: {kind: Fraction(str(share)) for kind, share in row.items()} for p, row in weights.items()}
    return [(row.job.job, row.tier if row.admitted else None) for row in rank(jobs, tiers, shares)]


def v4(*amounts: int) -> list[Resources]:
    return [{"v4": amount} for amount in amounts]


def three_each() -> list[AxJob]:
    return [job(f"{project}{n}", 1, created=n) for n in range(3) for project in "abc"]


def test_example_1_priority_then_accumulated_demand_then_age_then_name() -> None:
    rows = [
        job("a1", 10, user="a", priority=1, created=1),
        job("a2", 20, user="a", priority=2, created=2),
        job("b3", 5, user="b", priority=2, created=3),
        job("b4", 3, user="b", priority=2, created=4),
        job("b5", 3, user="b", priority=1, created=1),
    ]
    assert [row.job for row in queue(rows)] == ["a1", "b5", "b3", "b4", "a2"]


@pytest.mark.parametrize(("fair", "order"), [(True, ["a1", "b3", "a2"]), (False, ["a1", "a2", "b3"])])
def test_example_2_fairness_between_users_can_be_off(fair: bool, order: list[str]) -> None:
    rows = [
        job("a1", 100, user="a", created=1),
        job("a2", 100, user="a", created=2),
        job("b3", 5, user="b", created=3),
    ]
    assert [row.job for row in queue(rows, fair=fair)] == order


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
    ],
)
def test_worked_examples(jobs: list[AxJob], tiers: list[Resources], weights: Weights, expected: Rows) -> None:
    assert verdicts(jobs, tiers, weights) == expected
    assert verdicts(jobs[::-1], tiers, weights) == expected


def test_example_11_jobs_of_1_5_and_4_in_each_project() -> None:
    ages = {1: "abc", 2: "bca", 3: "abc"}  # from old to young
    jobs = [
        job(f"{project}{n}", amount, created=10 * n + ages[n].index(project))
        for project in "abc"
        for n, amount in ((1, 1), (2, 5), (3, 4))
    ]
    run = {name for name, tier in verdicts(jobs, v4(12), EVEN3) if tier is not None}
    assert run == {"a1", "b1", "c1", "b2", "c3"}


def test_example_12_mixed_demands() -> None:
    rows = [
        ("a", "p1", {"v4": 12}),
        ("b", "p2", {"v4": 5}),
        ("c", "p2", {"v3": 6}),
        ("d", "p2", {"v5": 4}),
        ("e", "p3", {"v5": 2}),
        ("f", "p4", {"v3": 2}),
    ]
    jobs = [AxJob(job=name, project=project, user="u", demand=demand) for name, project, demand in rows]
    run = {name for name, tier in verdicts(jobs, [{"v4": 15, "v3": 8, "v5": 5}], MIXED) if tier is not None}
    assert run == {"b", "c", "e", "f"}


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"a": {"tpu": "0.1", "gpu": "3"}, "b": {"tpu": "0.3", "gpu": "1"}}, {"a": (1, 3), "b": (3, 1)}),
        ({"a": {"tpu": "0", "gpu": "0"}, "b": {"tpu": "0", "gpu": "0"}}, {"a": (0, 0), "b": (0, 0)}),
    ],
)
def test_example_15_weights_are_normalised(
    weights: dict[str, dict[str, str]], expected: dict[str, tuple[int, int]]
) -> None:
    shares = {project: {kind: Fraction(share) for kind, share in row.items()} for project, row in weights.items()}
    found = quotas(shares, {"tpu": 4, "gpu": 4})
    assert {project: (int(row["tpu"]), int(row["gpu"])) for project, row in found.items()} == expected


LIMITS = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def test_behind_the_seam_a_newcomer_stops_a_running_job_at_once_and_starts_when_it_is_gone() -> None:
    first, second = hold("l1", "nlp", {"v4": 4}, order=1), hold("l2", "nlp", {"v4": 4}, order=2)
    wants = [want("v1", "vision", {"v4": 4}, order=3, waited=0)]
    answer = decide(LIMITS, wants=wants, holds=[first, second], policy="axlearn")
    assert (started(answer), stopped(answer)) == ([], [("l2", 0)])
    assert "gone" in answer.reasons["v1"]
    later = decide(LIMITS, wants=wants, holds=[first, stopping(second)], policy="axlearn")
    assert (started(later), stopped(later)) == ([], [])
    last = decide(LIMITS, wants=wants, holds=[first], policy="axlearn")
    assert (started(last), stopped(last)) == (["v1"], [])


def test_behind_the_seam_a_running_job_whose_tier_changes_is_stopped() -> None:
    limits = quota({"v4": 4}, {"v4": 4}, a={"v4": "0.5"}, b={"v4": "0.5"})
    answer = decide(limits, holds=[hold("a1", "a", {"v4": 4}, tier=1)], policy="axlearn")
    assert [stop.reason for stop in answer.stops] == ["moves from tier 1 to tier 0"]


def test_behind_the_seam_an_array_starts_as_many_tasks_as_fit_and_says_why_the_rest_waits() -> None:
    running = hold("arr", "nlp", {"v4": 1}, task=2)
    answer = decide(LIMITS, wants=[want("arr", "nlp", {"v4": 1}, count=1000)], holds=[running], policy="axlearn")
    assert (len(answer.starts), answer.stops) == (7, ())
    assert answer.reasons["arr"] == "needs 1 v4; 0 of 8 left by 8 tasks ahead"


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        ({"h100": 1}, "kind h100 is in no pool"),
        ({"v4": 9}, "asks for 9 v4 but the pool holds 8: it can never start"),
    ],
)
def test_behind_the_seam_what_can_never_start_is_told_so(demand: Resources, reason: str) -> None:
    answer = decide(LIMITS, wants=[want("w", "nlp", demand)], policy="axlearn")
    assert answer.reasons == {"w": reason}
