"""Laws that hold after every step in the life of every fleet: of whose turn it is, and of who gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.quota.demand import STANDARD, Holding
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, plus, times, total
from bastion.quota.shares import Shares
from tests.depth import examples
from tests.unit.quota.policy.draws import (
    GRACE_MAX,
    PROJECTS,
    Crowd,
    Life,
    Stream,
    borrowers,
    crowds,
    jobs,
    lives,
    plain_quotas,
    quotas,
    streams,
)
from tests.unit.quota.policy.drive import Fleet, Job, Moment
from tests.unit.quota.policy.seen import idle, is_light, is_limited, is_resting, is_within, needs, steps, waiting

LAW = settings(max_examples=examples(30), derandomize=True, deadline=None)
DAY = 24 * 3600


@LAW
@given(life=lives())
def test_what_a_share_has_left_starts_in_time(life: Life) -> None:
    """While all that a project waits for fits in what its share has left, each of its jobs starts: borrowers make room."""
    entitled: dict[str, float] = {}
    for fleet, _ in steps(life):
        entitled = {project: entitled.get(project, fleet.now) for project in PROJECTS if is_entitled(fleet, project)}
        for name, row in fleet.waiting.items():
            since = max(row.since, entitled.get(fleet.jobs[name].project, fleet.now))
            assert fleet.now - since < fleet.delay + GRACE_MAX + 2 * fleet.tick, name


def is_entitled(fleet: Fleet, project: str) -> bool:
    """True if nothing that a project waits for is beyond its share, its users' limits, or what shares are promised of."""
    governed = Shares(fleet.limits, total(fleet.capacity)).governed
    rows = [(job, len(fleet.waiting[job.name].tasks)) for job in waiting(fleet) if job.project == project]
    asked = needs(total(times(job.demand, count) for job, count in rows))
    most = Job(name="", project=project, demand=asked)
    return (
        asked.keys() <= governed
        and is_within(fleet, most)
        and all(job.job_class <= STANDARD and job.max_tier is None for job, _ in rows)
        and not any(is_limited(fleet, replace(most, user=user)) for user in {job.user for job, _ in rows})
    )


@pytest.mark.parametrize("policy", ["default", "axlearn"])
@LAW
@given(life=lives(shrinking=True))
def test_nothing_idles_while_somebody_waits_who_may_have_it(life: Life, policy: str) -> None:
    """For at most two ticks, but for what is kept for whom others were stopped for. The incumbent bars nobody."""
    since: dict[str, float] = {}
    for fleet, moment in steps(life, policy):
        since = {name: since.get(name, fleet.now) for name in left_idle(fleet, moment)}
        assert not {name: at for name, at in since.items() if fleet.now - at > 2 * fleet.tick}


@settings(LAW, max_examples=examples(20))
@given(crowd=crowds())
def test_nothing_idles_beside_a_reservation_but_what_it_needs(crowd: Crowd) -> None:
    since: dict[str, float] = {}
    fleet = crowd.fleet(6_000)
    for moment in fleet.until(6_000):
        since = {name: since.get(name, fleet.now) for name in left_idle(fleet, moment)}
        assert not {name: at for name, at in since.items() if fleet.now - at > 2 * fleet.tick}


def left_idle(fleet: Fleet, moment: Moment) -> list[str]:
    """The jobs that wait though they fit in what is free, and nothing bars them.

    One room may be free while they wait: what the reservation of a project keeps from jobs of the same project behind it,
    while it fits no job of another project. That is no more than what the reservation needs.
    """
    kept = total(times(fleet.jobs[name].demand, len(fleet.waiting[name].tasks)) for name in fleet.reclaims)
    fitting = [
        job
        for job in waiting(fleet)
        if all(fits(needs(job.demand), minus(left, kept)) for left in idle(fleet, job.max_tier))
        and not (moment.policy == "default" and (job.name in fleet.reclaims or is_barred(fleet, job)))
    ]
    return [
        job.name
        for job in fitting
        if not is_behind(fleet, moment, job) or {row.project for row in fitting} != {job.project}
    ]


def is_behind(fleet: Fleet, moment: Moment, job: Job) -> bool:
    """True if the project has a reservation, the job stands behind it, and too little is free for both.

    Behind that of a light user are also older jobs of others. A job that fits in tiers where the reservation is not has to
    leave enough in all tiers together: what runs in better ones can be moved.
    """
    found = moment.answer.reservations.get(job.project)
    if found is None or found.job not in fleet.waiting or found.job == job.name:
        return False
    first = fleet.jobs[found.job]
    passes = first.user != job.user and is_light(fleet, first.project, first.user)
    if place(fleet, job)[: 2 if passes else 3] < place(fleet, first)[: 2 if passes else 3]:
        return False
    both = {kind: amount + first.demand[kind] for kind, amount in needs(job.demand).items() if first.demand.get(kind)}
    better, *_, all_tiers = idle(fleet, first.max_tier) * 2
    goes_beyond = first.max_tier is not None and job.max_tier != first.max_tier
    if goes_beyond and fits(needs(job.demand), minus(all_tiers, better)):
        return not fits(both, all_tiers)
    return not fits(both, better)


def is_barred(fleet: Fleet, job: Job) -> bool:
    return is_limited(fleet, job) or is_resting(fleet, job)


@LAW
@given(life=lives(shrinking=True))
def test_nobody_is_overtaken_by_an_equal(life: Life) -> None:
    """Of one user's jobs that ask for the same, the more important one goes first, then the older one.

    But for those that others were stopped for before, those that rest after they were stopped, and those that the answer
    starts or makes room for by the right of who was overtaken for too long.
    """
    for fleet, moment in steps(life):
        answer = moment.answer
        late = {start.job for start in answer.starts if start.overdue} | {
            row.job for row in answer.reservations.values()
        }
        late |= {str(stop.for_job) for stop in answer.stops if "for too long" in stop.reason}
        favoured = {*(start.job for start in answer.starts), *takers(moment)} - {*moment.reclaims} - late
        left = [job for job in waiting(fleet) if job.name not in favoured and not is_resting(fleet, job)]
        for name in favoured:
            assert not [job.name for job in left if goes_before(fleet, job, fleet.jobs[name])]


def goes_before(fleet: Fleet, one: Job, other: Job) -> bool:
    def kind(job: Job) -> tuple[object, ...]:
        return job.project, job.user, needs(job.demand), job.job_class, job.max_tier

    return kind(one) == kind(other) and place(fleet, one) < place(fleet, other)


def place(fleet: Fleet, job: Job) -> tuple[int, int, int]:
    """Its place among the jobs of its user."""
    return job.job_class, job.priority, fleet.order[job.name]


@LAW
@given(life=lives())
def test_no_stop_can_be_spared(life: Life) -> None:
    """Where a decision stops others for one task alone, and nothing else stops, all of them are needed."""
    for fleet, moment in steps(life):
        if len(takers(moment)) == 1 and not moment.reclaims and not any(row.stopping for row in moment.holds):
            (taker,) = [row for row in moment.wants if row.job in takers(moment)]
            victims = [fleet.holds[stop.job, stop.task] for stop in moment.answer.stops]
            for spared in victims if taker.count == 1 else ():
                rest = [row for row in victims if row is not spared]
                assert not all(fits(needs(taker.demand), left) for left in after(fleet, rest, taker.max_tier))


def after(fleet: Fleet, stopping: Iterable[Holding], max_tier: int | None) -> list[Resources]:
    """What nobody holds once these are gone, as `idle` says it."""
    last = len(fleet.capacity) - 1
    ends = range(last if max_tier is None else min(last, max_tier), last + 1)
    gone = [total(row.demand for row in stopping if row.tier <= end) for end in ends]
    return [plus(left, freed) for left, freed in zip(idle(fleet, max_tier), gone, strict=True)]


def takers(moment: Moment) -> set[str]:
    """For whose sake others are stopped now."""
    return {stop.for_job for stop in moment.answer.stops if stop.for_job is not None}


@LAW
@given(life=lives())
def test_a_reclaim_is_whole_and_keeps_what_it_frees(life: Life) -> None:
    """Who others are stopped for finds room once all that stops is gone, and starts by then.

    An array that starts a task in the same decision has had its turn.
    """
    kept: dict[str, set[tuple[str, int]]] = {}
    for fleet, moment in steps(life):
        started, there = {start.job for start in moment.answer.starts}, {(row.job, row.task) for row in moment.holds}
        kept = {job: names for job, names in kept.items() if job not in started}
        assert not [job for job, names in kept.items() if not names & there]
        going = [row for row in fleet.holds.values() if row.stopping]
        for job in (fleet.jobs[name] for name in takers(moment)):
            assert all(fits(needs(job.demand), left) for left in after(fleet, going, job.max_tier))
            if job.name not in started:
                kept[job.name] = {(row.job, row.task) for row in going}


@settings(LAW, max_examples=examples(10))
@given(
    limits=st.one_of(plain_quotas(), quotas()),
    staying=st.lists(st.one_of(borrowers(0), jobs(0)), min_size=1, max_size=3),
    coming=st.lists(streams, min_size=1, max_size=2),
)
def test_nobody_is_stopped_more_than_ten_times_a_day(limits: Quota, staying: list[Job], coming: list[Stream]) -> None:
    """However often others come and go."""
    everybody = [
        *(replace(job, name=f"stays-{number}", at=0, lasts=inf) for number, job in enumerate(staying)),
        *(job for number, stream in enumerate(coming) for job in stream.jobs(f"s{number}", DAY)),
    ]
    fleet = Fleet(limits, everybody, tick=120).run(DAY)
    assert all(len(task.stopped) <= 10 for task in fleet.tasks.values())
