"""Laws of the default policy: they hold for every fleet, every quota and every queue that can be drawn."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from bastion.quota.demand import Holding, Schedule, Want
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, plus, times, total
from bastion.quota.shares import Shares, amounts
from tests.depth import examples
from tests.unit.quota.policy.fleet import ago, decide, hold, want

PROJECTS = ("a", "b", "c", "none")
KINDS = ("v4", "cpu")
LAW = settings(max_examples=examples(40), derandomize=True, deadline=None)


@dataclass(frozen=True)
class Case:
    """One moment of a fleet."""

    limits: Quota
    wants: list[Want]
    holds: list[Holding]
    reclaims: tuple[str, ...] = ()

    @property
    def free(self) -> Resources:
        return minus(self.limits.total(), total(row.demand for row in self.holds))

    def decide(self) -> Schedule:
        return decide(self.limits, wants=self.wants, holds=self.holds, reclaims=self.reclaims)


def demands(most: int) -> st.SearchStrategy[dict[str, int]]:
    amount = st.integers(0, most)
    return st.fixed_dictionaries({"v4": amount}, optional={"cpu": amount})


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    tiers = draw(st.lists(demands(12), min_size=1, max_size=2))
    shares: dict[str, dict[str, Fraction]] = {"a": {}, "b": {}, "c": {}}
    for kind in KINDS:
        weights = draw(st.lists(st.integers(0, 4), min_size=3, max_size=3))
        if draw(st.booleans()):  # else the kind is nobody's
            for project, weight in zip(shares, weights, strict=True):
                shares[project][kind] = Fraction(weight, max(1, sum(weights)))
    return Quota(tiers=tuple(tiers), shares=shares)


@st.composite
def wants_of(draw: st.DrawFn, limits: Quota, most: int) -> list[Want]:
    return [
        want(
            f"w{number}",
            draw(st.sampled_from(PROJECTS)),
            draw(demands(10)),
            user=draw(st.sampled_from("xyz")),
            priority=draw(st.integers(1, 5)),
            order=draw(st.integers(0, 9)),
            count=draw(st.sampled_from((1, 1, 1, 4))),
            waited=draw(st.sampled_from((0.0, 1000.0))),
        )
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def holds_of(draw: st.DrawFn, limits: Quota) -> list[Holding]:
    holds: list[Holding] = []
    for number in range(draw(st.integers(0, 8))):
        row = hold(
            f"h{number}",
            draw(st.sampled_from(PROJECTS)),
            draw(demands(6)),
            user=draw(st.sampled_from("xyz")),
            priority=draw(st.integers(1, 5)),
            tier=draw(st.integers(0, len(limits.tiers) - 1)),
            age=draw(st.integers(0, 500)),
            stopping=draw(st.sampled_from((False, False, True))),
        )
        if fits(total(other.demand for other in (*holds, row)), limits.total()):
            holds.append(row)
    return holds


@st.composite
def cases(draw: st.DrawFn) -> Case:
    limits = draw(quotas())
    wants = draw(wants_of(limits, 8))
    reclaims = draw(st.permutations([row.job for row in wants]))[: draw(st.integers(0, 2))]
    return Case(limits, wants, draw(holds_of(limits)), tuple(reclaims))


def by_job(case: Case) -> dict[str, Want]:
    return {row.job: row for row in case.wants}


def given_to(case: Case, answer: Schedule) -> Resources:
    wants = by_job(case)
    return total(wants[start.job].demand for start in answer.starts)


def first_in_line(answer: Schedule) -> list[str]:
    return [job for job, reason in answer.reasons.items() if "first in line: waiting" in reason]


def victims(case: Case, answer: Schedule) -> list[Holding]:
    named = {(stop.job, stop.task) for stop in answer.stops}
    return [row for row in case.holds if (row.job, row.task) in named]


@LAW
@given(cases())
def test_starts_fit_in_what_is_free(case: Case) -> None:
    assert fits(given_to(case, case.decide()), case.free)


@LAW
@given(cases(), st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_of_wants_and_holds(case: Case, random: object) -> None:
    wants, holds = case.wants[::-1], case.holds[::-1]
    random.shuffle(wants)  # type: ignore[attr-defined]
    random.shuffle(holds)  # type: ignore[attr-defined]
    assert Case(case.limits, wants, holds, case.reclaims).decide() == case.decide()


@LAW
@given(cases())
def test_a_project_within_its_share_is_never_a_victim_of_another(case: Case) -> None:
    answer, shares = case.decide(), Shares(case.limits, case.limits.total())
    owners = {row.job: row.project for row in case.wants}
    for row in case.holds:
        stops = [stop for stop in answer.stops if (stop.job, stop.task) == (row.job, row.task)]
        if stops and owners[stops[0].for_job or ""] != row.project:
            staying = total(other.demand for other in case.holds if other.project == row.project and not other.stopping)
            assert shares.borrowed(row.project, plus(staying, _started_of(case, answer, row.project)))


def _started_of(case: Case, answer: Schedule, project: str) -> Resources:
    """What the project got in this answer, room that is kept for it included."""
    wants = by_job(case)
    kept = [job for job in first_in_line(answer) for _ in range(wants[job].count)]
    jobs = [*(start.job for start in answer.starts), *kept]
    return total(wants[job].demand for job in jobs if wants[job].project == project)


ONE_TASK_OF_A_REMAINDER = Case(
    Quota(tiers=({"v4": 2}, {"v4": 12}), shares={"b": {"v4": Fraction(1, 3)}, "c": {"v4": Fraction(2, 3)}}),
    wants=[want("w0", "c", {"v4": 10}, user="x", priority=1, waited=1000.0)],
    holds=[hold("h0", "a", {"v4": 5}, user="x", priority=1)],
)
"""c has two thirds of 14 units, 9 and a third: it is promised 9, and one task of 10 while it uses nothing."""

NONE_OF_WHAT_IT_BORROWED = Case(
    Quota(tiers=({"v4": 7, "cpu": 1},), shares={"b": {"cpu": Fraction(1)}, "c": {"v4": Fraction(1)}}),
    wants=[want("w0", "c", {"v4": 2, "cpu": 0}, user="x", priority=1, waited=1000.0)],
    holds=[
        hold("h0", "c", {"v4": 5, "cpu": 1}, user="x", priority=1),
        hold("h1", "a", {"v4": 1}, user="x", priority=1),
    ],
)
"""c has borrowed a cpu, and asks for none: that does not count against it."""


@LAW
@given(cases())
@example(ONE_TASK_OF_A_REMAINDER)
@example(NONE_OF_WHAT_IT_BORROWED)
def test_only_who_stays_within_the_share_or_has_nothing_of_it_stops_another_project(case: Case) -> None:
    answer, wants = case.decide(), by_job(case)
    shares = Shares(case.limits, case.limits.total())
    owners = {(row.job, row.task): row.project for row in case.holds}
    for stop in answer.stops:
        taker = wants[stop.for_job or ""]
        if owners[stop.job, stop.task] != taker.project:
            used = total(row.demand for row in case.holds if row.project == taker.project)
            for kind, amount in amounts(taker.demand):
                share = case.limits.shares.get(taker.project, {}).get(kind, Fraction(0))
                first = not used.get(kind) and amount <= ceil(share * case.limits.total()[kind])
                assert first or shares.within(taker.project, used, [(kind, amount)])


@LAW
@given(cases())
def test_within_a_project_only_the_less_important_stops(case: Case) -> None:
    wants = by_job(case)
    answer = case.decide()
    priorities = {(row.job, row.task): (row.project, row.priority) for row in case.holds}
    for stop in answer.stops:
        project, priority = priorities[stop.job, stop.task]
        taker = wants[stop.for_job or ""]
        assert taker.project != project or taker.priority < priority


@LAW
@given(cases())
def test_who_is_stopped_for_finds_room_once_all_that_stops_is_gone(case: Case) -> None:
    answer, wants = case.decide(), by_job(case)
    going = [*(row for row in case.holds if row.stopping), *victims(case, answer)]
    then_free = minus(plus(case.free, total(row.demand for row in going)), given_to(case, answer))
    assert {stop.for_job for stop in answer.stops} <= set(first_in_line(answer))
    assert fits(total(wants[job].demand for job in first_in_line(answer)), then_free)


@LAW
@given(cases())
def test_each_of_the_victims_of_a_single_want_is_needed(case: Case) -> None:
    case = replace(case, wants=[structs.replace(row, count=1) for row in case.wants])
    answer, wants = case.decide(), by_job(case)
    work_class = first_in_line(answer)
    if len(work_class) == 1 and not case.reclaims:
        kept = minus(plus(case.free, total(row.demand for row in case.holds if row.stopping)), given_to(case, answer))
        rows = victims(case, answer)
        for spared in rows:
            others = total(row.demand for row in rows if row is not spared)
            assert not fits(wants[work_class[0]].demand, plus(kept, others))


@LAW
@given(cases())
def test_nothing_is_idle_that_a_waiting_want_could_use_unless_it_is_kept(case: Case) -> None:
    answer, wants = case.decide(), by_job(case)
    kept = total(times(wants[job].demand, wants[job].count) for job in first_in_line(answer))
    idle = minus(minus(case.free, given_to(case, answer)), kept)
    for job in answer.reasons:
        if job not in first_in_line(answer):
            needs = {kind: amount for kind, amount in wants[job].demand.items() if amount}
            assert not fits(needs, idle)


@LAW
@given(quotas().flatmap(lambda limits: holds_of(limits).map(lambda holds: Case(limits, [], holds))))
def test_with_nobody_waiting_nobody_stops(case: Case) -> None:
    answer = case.decide()
    assert (answer.starts, answer.stops, dict(answer.reasons)) == ((), (), {})


@LAW
@given(cases())
def test_every_want_that_does_not_start_whole_has_a_reason_and_no_other_has(case: Case) -> None:
    answer = case.decide()
    counts = Counter(start.job for start in answer.starts)
    assert set(answer.reasons) == {row.job for row in case.wants if counts[row.job] < row.count}
    assert all(counts[row.job] <= row.count for row in case.wants)
    assert all(reason and "\n" not in reason and len(reason) < 160 for reason in answer.reasons.values())


@LAW
@given(cases())
def test_who_is_first_in_line_and_fits_starts_before_all_others(case: Case) -> None:
    wants, answer = by_job(case), case.decide()
    if case.reclaims and fits({k: n for k, n in wants[case.reclaims[0]].demand.items() if n}, case.free):
        assert answer.starts[0].job == case.reclaims[0]


@LAW
@given(cases())
def test_nobody_is_stopped_for_who_has_not_waited(case: Case) -> None:
    young = [structs.replace(row, since=ago(0)) for row in case.wants]
    assert replace(case, wants=young, reclaims=()).decide().stops == ()


@LAW
@given(cases())
def test_nobody_is_stopped_twice(case: Case) -> None:
    stops = [(stop.job, stop.task) for stop in case.decide().stops]
    assert len(stops) == len(set(stops))
    assert not {(row.job, row.task) for row in case.holds if row.stopping} & set(stops)


def after(case: Case, answer: Schedule) -> Case:
    """The next moment: what stopped is gone and waits again, what was stopped now is stopping, what started holds."""
    wants = by_job(case)
    named = {(stop.job, stop.task) for stop in answer.stops}
    gone = [row for row in case.holds if row.stopping]
    holds = [structs.replace(row, stopping=(row.job, row.task) in named) for row in case.holds if not row.stopping]
    counts = Counter(start.job for start in answer.starts)
    for number, start in enumerate(answer.starts):
        row = wants[start.job]
        holds.append(
            structs.replace(
                hold(start.job, row.project, row.demand, user=row.user, priority=row.priority, order=row.order),
                task=1000 * len(case.holds) + number,
                tier=start.tier,
            )
        )
    waiting = [
        structs.replace(row, count=row.count - counts[row.job]) for row in case.wants if row.count > counts[row.job]
    ]
    back = [
        want(f"{row.job}.{row.task}", row.project, row.demand, user=row.user, priority=row.priority, order=row.order)
        for row in gone
    ]
    work_class = [*case.reclaims, *(stop.for_job for stop in answer.stops if stop.for_job)]
    reclaims = tuple(job for job in dict.fromkeys(work_class) if job not in counts)
    return Case(case.limits, waiting + back, holds, reclaims)


@LAW
@given(cases())
def test_a_fleet_left_alone_comes_to_rest(case: Case) -> None:
    """No two jobs take the same room from each other for ever."""
    for _ in range(60):
        answer = case.decide()
        if not answer.starts and not answer.stops and not any(row.stopping for row in case.holds):
            return
        case = after(case, answer)
    raise AssertionError(f"still moving: {case.decide()}")


@LAW
@given(cases())
def test_who_was_stopped_for_starts_when_the_room_is_there(case: Case) -> None:
    case = replace(case, reclaims=())
    answer = case.decide()
    once = after(case, answer)
    twice = after(once, once.decide())
    started = {row.job for row in (*once.holds, *twice.holds)} | {start.job for start in twice.decide().starts}
    assert {stop.for_job for stop in answer.stops} <= started
