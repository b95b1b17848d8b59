"""Laws that hold after every step in the life of every fleet: of room, of limits, and of the same answer to the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.quota.policy.index import WantIndex
from bastion.quota.resources import total
from tests.depth import examples
from tests.unit.quota.policy.draws import Life, lives
from tests.unit.quota.policy.seen import idle, is_limited, steps

LAW = settings(max_examples=examples(30), derandomize=True, deadline=None)
LESS = settings(LAW, max_examples=examples(20))
BOTH = pytest.mark.parametrize("policy", ["default", "axlearn"])


@BOTH
@LAW
@given(life=lives(shrinking=True))
def test_what_starts_waits_and_fits_and_what_stops_runs(life: Life, policy: str) -> None:
    """Tasks start whole, in what is free now, even while the pool shrinks."""
    for _, moment in steps(life, policy):
        wants = {row.job: row for row in moment.wants}
        counts = Counter(start.job for start in moment.answer.starts)
        assert all(count <= wants[job].count for job, count in counts.items())
        given_away = total(wants[start.job].demand for start in moment.answer.starts)
        assert all(moment.free.get(kind, 0) >= amount for kind, amount in given_away.items() if amount)
        stops = [(stop.job, stop.task) for stop in moment.answer.stops]
        assert len(stops) == len(set(stops))
        assert set(stops) <= {(row.job, row.task) for row in moment.holds if not row.stopping}


@BOTH
@LAW
@given(life=lives())
def test_no_tier_is_exceeded(life: Life, policy: str) -> None:
    """Who is named after a tier takes from it and from better ones: those together never hold more than there is."""
    for fleet, _ in steps(life, policy):
        assert all(amount >= 0 for left in idle(fleet, max_tier=0) for amount in left.values())


@LAW
@given(life=lives())
def test_who_is_limited_stays_within_limits(life: Life) -> None:
    """No worse tier than a job takes, and no more than a user may hold. Who is stopped is not moved."""
    for fleet, moment in steps(life):
        for move in moment.answer.moves:
            worst = fleet.jobs[move.job].max_tier
            assert worst is None or move.tier <= worst
            assert (move.job, move.task) not in {(stop.job, stop.task) for stop in moment.answer.stops}
        for start in moment.answer.starts:
            job = fleet.jobs[start.job]
            assert job.max_tier is None or start.tier <= job.max_tier
            assert not is_limited(fleet, job, count=0)


@BOTH
@LESS
@given(life=lives(shrinking=True), random=st.randoms(use_true_random=False))
def test_the_same_in_whatever_order_is_the_same_out(life: Life, policy: str, random: Random) -> None:
    for _, moment in steps(life, policy):
        wants, holds = list(moment.wants), list(moment.holds)
        random.shuffle(wants)
        random.shuffle(holds)
        again = replace(moment, wants=wants, holds=holds).answer
        assert again == moment.answer
        assert list(again.reasons.items()) == list(moment.answer.reasons.items())


@BOTH
@LESS
@given(life=lives(shrinking=True))
def test_a_board_that_is_kept_answers_as_one_made_anew(life: Life, policy: str) -> None:
    index = WantIndex()
    for _, moment in steps(life, policy):
        wants = {row.job: row for row in moment.wants}
        holds = {(row.job, row.task): row for row in moment.holds}
        for job in [job for job in index.wants if job not in wants]:
            index.wait_no_more(job)
        for name in [name for name in index.holds if name not in holds]:
            index.hold_no_more(name)
        for want in (row for row in moment.wants if index.wants.get(row.job) != row):
            index.wait(want)
        for hold in (row for name, row in holds.items() if index.holds.get(name) != row):
            index.hold(hold)
        answer = moment.ask(index)
        assert answer == moment.answer
        assert answer.reasons == moment.answer.reasons
