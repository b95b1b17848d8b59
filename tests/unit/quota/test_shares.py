"""What shares promise: all of the pool in whole units, amounts beside fractions, and one task where rounding gave too little."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bastion.quota.demand import CLASSES, PolicySettings
from bastion.quota.policy.scheduler import POLICIES
from bastion.quota.quota import Quota, QuotaError
from bastion.quota.quota_changes import diff, warnings
from bastion.quota.quota_file import parse
from bastion.quota.shares import TOLERANCE, given_out, units
from tests.unit.quota.policy.fleet import decide, hold, quota, started, stopped, want

THIRDS = quota({"gpu": 4}, a={"gpu": "0.333"}, b={"gpu": "0.333"}, c={"gpu": "0.333"})


def gpu(amount: int) -> dict[str, int]:
    return {"gpu": amount}


def file_of(total: int, **shares: object) -> str:
    rows = "".join(f"[project_resources.{name}]\ngpu = {share}\n" for name, share in shares.items())
    members = "".join(f'{name} = ["u-{name}"]\n' for name in shares)
    return f'[toml-schema]\nversion = "1"\n[total_resources]\ngpu = {total}\n[project_membership]\n{members}{rows}'


def promised(total: int, **shares: object) -> dict[str, int]:
    read = parse(file_of(total, **shares))
    return {name: row["gpu"] for name, row in units(read, read.total()).items()}


def complaint(total: int, **shares: object) -> str:
    with pytest.raises(QuotaError) as error:
        parse(file_of(total, **shares))
    return str(error.value)


@st.composite
def parts(draw: st.DrawFn) -> tuple[dict[str, Fraction], int]:
    """Shares that are all of a kind, rounded as people do, and how much of it there is."""
    weights = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7).filter(any))
    digits = draw(st.sampled_from((3, 4, 6)))
    shares = {
        f"p{n}": Fraction(round(w / sum(weights), digits)).limit_denominator(10**6) for n, w in enumerate(weights)
    }
    return shares, draw(st.integers(0, 3_000))


@given(parts())
def test_no_unit_belongs_to_nobody_and_nobody_is_far_from_their_share(drawn: tuple[dict[str, Fraction], int]) -> None:
    shares, total = drawn
    found = given_out(shares, total)
    assert sum(found.values()) == total
    for project, amount in found.items():
        assert abs(amount - shares[project] * total) < 1 + TOLERANCE * total
        assert amount == 0 or shares[project]


@given(st.lists(st.fractions(0, Fraction(1, 8)), max_size=7), st.integers(0, 500))
def test_shares_that_are_not_all_promise_no_more_than_they_come_to(shares: list[Fraction], total: int) -> None:
    found = given_out({f"p{n}": share for n, share in enumerate(shares)}, total)
    assert 0 <= sum(found.values()) <= sum(shares) * total + Fraction(1, 2)
    assert all(abs(found[f"p{n}"] - share * total) <= 1 for n, share in enumerate(shares))


def test_what_is_left_goes_to_the_largest_remainders_and_then_by_name() -> None:
    assert promised(4, c="0.333", b="0.333", a="0.333") == {"c": 1, "b": 1, "a": 2}
    assert promised(5, a="0.25", b="0.35", c="0.4") == {"a": 1, "b": 2, "c": 2}
    assert promised(1000, a="0.333", b="0.333", c="0.333") == {"a": 334, "b": 333, "c": 333}
    assert promised(4, a="0.4", b="0.4") == {"a": 2, "b": 1}, "a fifth is nobody's on purpose"
    assert promised(9, a="0.333") == {"a": 3}


def test_shares_may_be_amounts_beside_fractions() -> None:
    assert promised(4, a=2, b=1, c=1) == {"a": 2, "b": 1, "c": 1}
    assert promised(4, a=2, b="0.25", c="0.25") == {"a": 2, "b": 1, "c": 1}
    assert promised(1000, a=7, b="0.334", c="0.334", d="0.329")["a"] == 7, "an amount is not rounded with the rest"
    assert promised(4, a=1) == {"a": 4}, "as ever: alone it is all"
    assert promised(4, a=1, b="0.5") == {"a": 1, "b": 2}
    [odd] = warnings(parse(file_of(4, a=1, b="0.5")))
    assert odd == "a: gpu = 1 means 1 of 4 units, as others have shares too; for all, use 1.0"
    assert warnings(parse(file_of(4, a=2, b=1, c=1))) == ()


def test_a_pool_that_is_smaller_now_promises_less_of_amounts_as_of_fractions() -> None:
    read = parse(file_of(4, a=2, b="0.5"))
    assert units(read, {"gpu": 2}) == {"a": {"gpu": 1}, "b": {"gpu": 1}}


def test_amounts_that_are_too_much_are_complaints() -> None:
    assert "line 8: project_resources.a.gpu is 5, and the total is 4; use" in complaint(4, a=5)
    assert "project_resources.b.gpu brings the amounts of gpu to 5; the total is 4" in complaint(4, a=3, b=2)
    assert "brings the shares of gpu to 1.25 (5 of 4); together use at most 1" in complaint(4, a=3, b="0.5")
    assert "a.gpu is 2.5; use a fraction, 0 to 1, or a whole number of units" in complaint(4, a="2.5")
    assert "a.gpu is true" in complaint(4, a="true")


def test_a_share_that_is_no_unit_is_a_warning_with_the_smallest_that_would_be_one() -> None:
    small = parse(file_of(8, a="0.01", b="0.5"))
    assert warnings(small) == ("a: 0.01 of 8 gpu is less than one unit, so it is promised nothing; 0.12 is one unit",)
    assert promised(8, a="0.12", b="0.5")["a"] == 1
    assert promised(8, a="0.11", b="0.5")["a"] == 0
    fifths = parse(file_of(4, **dict.fromkeys("abcde", "0.2")))
    [odd] = warnings(fifths)
    assert odd.startswith("e: 0.2 of 4 gpu is less than one unit")
    assert odd.endswith("0.21 is one unit, with less for the others")
    assert diff(None, fifths)[-1] == "e: members added: u-e"


def test_decisions_of_before_are_taken_by_the_rules_of_before() -> None:
    holds = [hold("a1", "a", gpu(1)), hold("b1", "b", gpu(1)), hold("x1", "x", gpu(2))]
    asked = {"limits": THIRDS, "wants": [want("a2", "a", gpu(1))], "holds": holds}
    assert stopped(decide(**asked)) == [("x1", 0)]  # type: ignore[arg-type]
    assert stopped(decide(**asked, rules=1)) == []  # type: ignore[arg-type]


# One task's worth


def test_who_uses_nothing_of_a_share_gets_one_task_by_reclaim_where_rounding_gave_less() -> None:
    holds = [hold(f"a{n}", "a", gpu(1), task=n) for n in range(4)]
    answer = decide(THIRDS, wants=[want("c1", "c", gpu(2)), want("c2", "c", gpu(2), order=1)], holds=holds)
    assert [(stop.job, stop.for_job) for stop in answer.stops] == [("a0", "c1"), ("a1", "c1")]


def test_it_is_one_task_and_no_larger_than_the_share_rounded_up() -> None:
    holds = [hold(f"a{n}", "a", gpu(1), task=n) for n in range(4)]
    assert decide(THIRDS, wants=[want("c1", "c", gpu(3))], holds=holds).stops == ()
    uses = [*holds[:3], hold("c0", "c", gpu(1))]
    assert decide(THIRDS, wants=[want("c1", "c", gpu(2))], holds=uses).stops == ()
    assert decide(THIRDS, wants=[want("x", "x", gpu(1))], holds=holds).stops == (), "who has no share has no such right"


def test_nobody_loses_their_own_one_task_for_anothers() -> None:
    """Else the two would stop each other for ever."""
    shares = {"a": "0.3125", "b": "0.3125", "c": "0.1875", "d": "0.1875"}
    limits = quota({"gpu": 8}, **{name: {"gpu": share} for name, share in shares.items()})
    assert units(limits, {"gpu": 8}) == {"a": gpu(3), "b": gpu(3), "c": gpu(1), "d": gpu(1)}
    others, one_task = [hold("a1", "a", gpu(3)), hold("b1", "b", gpu(3))], hold("c1", "c", gpu(2))
    assert stopped(decide(limits, wants=[want("d1", "d", gpu(2))], holds=[*others, one_task])) == []
    assert stopped(decide(limits, wants=[want("d1", "d", gpu(1))], holds=[*others, one_task])) == [("c1", 0)]
    lent = [hold("a1", "a", gpu(3)), hold("c1", "c", gpu(3)), hold("c2", "c", gpu(2))]
    assert len(stopped(decide(limits, wants=[want("d1", "d", gpu(2))], holds=lent))) == 1


def test_it_goes_first_where_there_is_room() -> None:
    limits = quota({"gpu": 4}, **{name: {"gpu": "0.2"} for name in "abcde"})
    holds = [hold("a1", "a", gpu(3))]
    wants = [want("x1", "x", gpu(1), order=0), want("e1", "e", gpu(1), order=1)]
    assert started(decide(limits, wants=wants, holds=holds)) == ["e1"]


# Urgent wants beyond their share


def test_an_urgent_want_beyond_its_share_stops_no_urgent_ones_of_others() -> None:
    limits = quota({"gpu": 4}, a={"gpu": "0.5"}, b={"gpu": "0.5"})
    urgent, standard = CLASSES.index("urgent"), CLASSES.index("standard")
    asks = replace(want("b3", "b", gpu(1)), job_class=urgent)

    def answer(*classes: int) -> list[tuple[str, int]]:
        lent = [replace(hold(f"x{n}", "x", gpu(1)), job_class=job_class) for n, job_class in enumerate(classes)]
        own = [replace(hold(f"b{n}", "b", gpu(1)), job_class=urgent) for n in range(2)]
        return stopped(decide(limits, wants=[asks], holds=[*lent, *own]))

    assert answer(urgent, urgent) == []
    assert answer(urgent, standard) == [("x1", 0)]


@pytest.mark.parametrize("max_tier", [0, 1])
def test_every_victim_is_of_a_tier_that_the_want_takes(max_tier: int) -> None:
    limits = quota({"gpu": 2}, {"gpu": 2}, a={"gpu": "0.5"}, b={"gpu": "0.5"})
    asks = replace(want("b1", "b", gpu(1)), max_tier=max_tier)
    worse = replace(hold("cheap", "x", gpu(2), tier=1, age=5), max_tier=None)
    holds = [worse, hold("dear", "x", gpu(2), tier=0, age=9000)]
    victims = [row for row in holds if (row.job, row.task) in stopped(decide(limits, wants=[asks], holds=holds))]
    assert victims
    assert all(row.tier <= max_tier for row in victims)


def test_the_other_policy_has_no_rules_of_ours() -> None:
    assert set(POLICIES) == {"default", "axlearn"}
    assert Quota.open().amounts == frozenset()
    assert PolicySettings().rules == 5
