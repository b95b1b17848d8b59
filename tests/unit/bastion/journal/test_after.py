"""A job waits for others' ends: which of them let it start, which end it, in whatever order all of it is submitted."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from bastion.journal import snapshot
from bastion.journal.retirement import retirable
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BucketError, SpecError
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec_changes import Changes
from bastion.model.job.start_conditions import AFTER_MAX
from bastion.model.layout import job_id
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import JobRejected, Lapsed, RequestRejected
from bastion.model.stored.requests import Hold, Submit, Update
from tests.support.town import Town
from tests.support.world import NOON, spec

S, C = JobState, Cause
ENDS = {
    S.SUCCEEDED: (C.OK, 0),
    S.FAILED: (C.CODE, 1),
    S.TIMEOUT: (C.TIME_LIMIT, 143),
}


def ends(town: Town, job: str, how: JobState) -> None:
    """A job that began comes to this end."""
    if how is S.CANCELLED:
        key = town.runs(job)
        town.cancels(job)
        town.ticks()
        town.ends(key, C.CANCELLED, 143)
    else:
        town.ends(town.runs(job), *ENDS[how])
    assert town.job(job).state is how


def put(town: Town, number: int, name: str, **fields: Any) -> str:
    """A submission under an id that is known beforehand."""
    wanted, request = spec(name=name, **fields), f"{number:08}{'0' * 24}"
    town.bucket.inner.create(layout.request(wanted.user, request), encode(Submit(spec=wanted)))
    return job_id(name, request)


def told(town: Town, job: str) -> list[str]:
    return [event.reason for event in town.journal() if isinstance(event, Lapsed | JobRejected) and event.job == job]


def clean(town: Town) -> bool:
    """Nobody waits for anybody any more."""
    state = town.bastion.journal.state
    return not (state.dependents or state.doomed or state.deadlines)


@pytest.mark.parametrize("how", [S.SUCCEEDED, S.FAILED, S.TIMEOUT, S.CANCELLED])
@pytest.mark.parametrize("kind", ["ok", "any", "fail"])
def test_it_starts_when_the_condition_is_met_and_ends_when_it_never_can_be(kind: str, how: JobState) -> None:
    town = Town()
    first = town.submits(name="first")
    town.ticks()
    then = town.submits(name="then", after=[f"{kind}:{first}"])
    town.ticks(3)
    assert town.job(then).state is S.PENDING
    assert f"waits for {kind}:{first} (PROVISIONING)" in town.reasons()[then]
    ends(town, first, how)
    met = kind == "any" or (kind == "ok") is (how is S.SUCCEEDED)
    assert town.job(then).state is (S.PROVISIONING if met else S.CANCELLED)
    assert len(told(town, then)) == (not met)
    if not met:
        assert told(town, then)[0].startswith(f"{kind}:{first} can never be met: it ended as {how}")
    assert clean(town)


def test_all_of_several_conditions_are_to_be_met() -> None:
    town = Town()
    one, two = town.submits(name="one"), town.submits(name="two")
    town.ticks()
    then = town.submits(after=[f"ok:{one}", f"any:{two}", f"ok:{one}"])
    town.ticks()
    ends(town, one, S.SUCCEEDED)
    assert town.job(then).after == (f"any:{two}",)
    assert town.job(then).state is S.PENDING
    ends(town, two, S.FAILED)
    assert town.job(then).state is S.PROVISIONING


@pytest.mark.parametrize(("how", "state"), [(S.SUCCEEDED, S.PROVISIONING), (S.FAILED, S.CANCELLED)])
def test_an_end_of_the_past_counts_at_once(how: JobState, state: JobState) -> None:
    town = Town()
    first = town.submits(name="first")
    town.ticks()
    ends(town, first, how)
    then = town.submits(after=[f"ok:{first}"])
    town.ticks()
    assert town.job(then).state is state
    assert clean(town)


def test_what_waits_in_vain_takes_along_all_that_waits_for_it() -> None:
    town = Town()
    chain = [town.submits(name="j0", resources={"v4": 8})]
    town.ticks()
    for number in range(1, 60):
        chain.append(town.submits(name=f"j{number}", after=[f"ok:{chain[-1]}"]))
    cleaner = town.submits(name="cleaner", after=[f"fail:{chain[-1]}"])
    town.ticks()
    ends(town, chain[0], S.FAILED)
    assert {town.job(job).state for job in chain[1:]} == {S.CANCELLED}
    assert {town.job(job).ended for job in chain[1:]} == {town.job(chain[0]).ended}, "in the same tick"
    assert town.job(cleaner).state is S.PROVISIONING
    assert all(len(told(town, job)[0]) < 400 for job in chain[1:])
    assert told(town, chain[2])[0].startswith(
        f"ok:{chain[1]} can never be met: it ended as CANCELLED (ok:{chain[0]} can"
    )
    assert clean(town)


def test_a_job_that_was_cancelled_before_it_began_says_by_whom() -> None:
    town = Town()
    first = town.submits(name="first", resources={"v4": 8})
    town.asks(Hold(job=first))
    then = town.submits(after=[f"ok:{first}"])
    town.ticks()
    town.cancels(first)
    town.ticks()
    assert told(town, then) == [f"ok:{first} can never be met: it ended as CANCELLED (cancelled by alice)"]


# Arrays


def array(town: Town) -> tuple[str, dict[str, str]]:
    """Three tasks run, and jobs wait for all of them or for the second one."""
    first = town.submits(name="sweep", count=3)
    town.ticks()
    words = [f"{kind}:{first}{task}" for kind in ("ok", "any", "fail") for task in ("", "[1]")]
    jobs = {word: town.submits(name=f"w{number}", after=[word]) for number, word in enumerate(words)}
    town.ticks()
    return first, {word.replace(first, ""): job for word, job in jobs.items()}


def task_ends(town: Town, job: str, task: int, cause: Cause, code: int) -> None:
    key = AttemptKey(job, task, 0)
    town.claims(key)
    town.ticks(2)
    town.ends(key, cause, code)


def states(town: Town, jobs: dict[str, str]) -> dict[str, str]:
    return {word: town.job(job).state.value for word, job in jobs.items() if town.job(job).state is not S.PENDING}


def test_of_an_array_all_tasks_count_or_the_one_that_is_named() -> None:
    town = Town()
    first, jobs = array(town)
    task_ends(town, first, 1, C.OK, 0)
    assert states(town, jobs) == {"ok:[1]": "PROVISIONING", "any:[1]": "PROVISIONING", "fail:[1]": "CANCELLED"}
    assert told(town, jobs["fail:[1]"]) == [f"fail:{first}[1] can never be met: it ended as SUCCEEDED"]
    task_ends(town, first, 0, C.OK, 0)
    task_ends(town, first, 2, C.OK, 0)
    assert states(town, jobs) | {"ok:": "PROVISIONING", "any:": "PROVISIONING", "fail:": "CANCELLED"} == states(
        town, jobs
    )


def test_the_first_task_without_success_ends_what_waits_for_the_success_of_all() -> None:
    town = Town()
    first, jobs = array(town)
    task_ends(town, first, 0, C.CODE, 1)
    assert states(town, jobs) == {"ok:": "CANCELLED"}
    assert told(town, jobs["ok:"]) == [f"ok:{first} can never be met: of its 3 tasks ended 1 as FAILED"]
    left = [AttemptKey(first, task, 0) for task in (1, 2)]
    for key in left:
        town.claims(key)
    town.ticks(2)
    town.cancels(first)
    town.ticks(2)
    assert states(town, jobs) == {"ok:": "CANCELLED"}, "the others are still being stopped"
    for key in left:
        town.ends(key, C.CANCELLED, 143)
    assert states(town, jobs)["fail:"] == states(town, jobs)["any:[1]"] == "PROVISIONING"
    assert clean(town)


# In what order they come


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_jobs_that_are_submitted_in_one_breath_wait_for_each_other_in_any_order(order: tuple[int, ...]) -> None:
    town = Town()
    ids = [job_id(f"j{number}", f"{number:08}") for number in range(3)]
    for place in order:
        put(town, place, f"j{place}", after=[f"ok:{ids[place - 1]}"] if place else [])
        town.clock.now += 0.001
    town.ticks()
    assert [town.job(job).state for job in ids] == [S.PROVISIONING, S.PENDING, S.PENDING]
    assert [town.job(job).after for job in ids] == [(), (f"ok:{ids[0]}",), (f"ok:{ids[1]}",)]


def test_a_job_waits_to_be_judged_until_all_of_the_listing_is_read() -> None:
    town = Town()
    first, then = job_id("first", f"{1:08}"), put(town, 2, "then", after=[f"ok:{job_id('first', f'{1:08}')}"])
    put(town, 1, "first")

    def unreadable(verb: str, key: str) -> None:
        if (verb, key) == ("read", layout.request("alice", f"{1:08}{'0' * 24}")):
            raise BucketError("not now")

    town.bucket.faults = [unreadable] * 1_000
    town.ticks(2)
    assert then not in town.bastion.journal.state.jobs
    town.bucket.faults = []
    town.ticks()
    assert {town.job(job).state for job in (first, then)} == {S.PROVISIONING, S.PENDING}


def test_what_is_asked_of_a_job_that_waits_to_be_judged_waits_too() -> None:
    """A listing that was taken while others wrote shows the cancel first, and the next one the job that waits for a third."""
    town = Town()
    first, then = job_id("first", f"{1:08}"), job_id("then", f"{2:08}")
    last = put(town, 3, "last", after=[f"any:{then}"])
    town.cancels(then)
    town.ticks()
    assert put(town, 2, "then", after=[f"any:{first}"]) == then
    town.ticks()
    assert put(town, 1, "first") == first
    town.ticks(2)
    assert town.job(then).state is S.CANCELLED
    assert {town.job(job).state for job in (first, last)} == {S.PROVISIONING}


# What is refused


@pytest.mark.parametrize(
    ("after", "why"),
    [
        ("ok:nobody-00000000", "there is no job nobody-00000000"),
        ("ok:me-00000007", "a job cannot wait for itself"),
        ("any:first-00000001[3]", "first-00000001 has 3 tasks, numbered from 0"),
        ("any:refused-00000002", "refused-00000002 was rejected"),
    ],
)
def test_what_nobody_can_wait_for_is_refused(after: str, why: str) -> None:
    town = Town()
    put(town, 1, "first", count=3)
    put(town, 2, "refused", resources={"v4": 9})
    town.ticks()
    me = put(town, 7, "me", after=[after])
    town.ticks(2)
    assert town.job(me).state is S.REJECTED
    assert why in told(town, me)[0]


@pytest.mark.parametrize("kinds", [("ok", "ok"), ("any", "fail"), ("any", "any")])
def test_a_circle_is_refused_whole_whoever_comes_first(kinds: tuple[str, str]) -> None:
    """Its ids have to be known beforehand; so whoever is judged first waits for a job that is not there."""
    town = Town()
    ids = [job_id(f"j{number}", f"{number:08}") for number in range(3)]
    for number in range(3):
        put(town, number, f"j{number}", after=[f"{kinds[number % 2]}:{ids[(number + 1) % 3]}"])
    town.ticks(2)
    assert {town.job(job).state for job in ids} == {S.REJECTED}
    assert clean(town)


def test_a_circle_over_two_listings_is_refused_too() -> None:
    town = Town()
    ids = [job_id(f"j{number}", f"{number:08}") for number in range(2)]
    put(town, 0, "j0", after=[f"any:{ids[1]}"])
    town.ticks()
    put(town, 1, "j1", after=[f"any:{ids[0]}"])
    town.ticks(2)
    assert {town.job(job).state for job in ids} == {S.REJECTED}


def test_there_is_a_limit() -> None:
    with pytest.raises(SpecError, match="after has 101 conditions; at most 100 are allowed"):
        spec(after=[f"ok:j-{number}" for number in range(AFTER_MAX + 1)])


# Updates


def test_other_conditions_replace_those_that_were() -> None:
    town = Town()
    one, two = town.submits(name="one"), town.submits(name="two")
    town.ticks()
    then = town.submits(after=[f"ok:{one}"])
    town.ticks()
    town.asks(Update(job=then, changes=Changes(after=[f"ok:{two}"])))
    town.ticks()
    assert town.bastion.journal.state.dependents == {two: {f"ok:{two}": {then: None}}}
    ends(town, one, S.FAILED)
    assert town.job(then).state is S.PENDING
    town.asks(Update(job=then, changes=Changes(after=[])))
    town.ticks()
    assert town.job(then).state is S.PROVISIONING
    assert clean(town)


def test_an_update_makes_no_circle() -> None:
    town = Town()
    town.submits(name="full", resources={"v4": 8})
    town.ticks()
    jobs = [town.submits(name="j0", resources={"v4": 8})]
    town.ticks()
    for number in range(1, 4):
        jobs.append(town.submits(name=f"j{number}", after=[f"any:{jobs[-1]}"]))
        town.ticks()
    for after in (f"ok:{jobs[3]}", f"fail:{jobs[0]}", "ok:nobody-1"):
        town.asks(Update(job=jobs[0], changes=Changes(after=[after])))
    town.ticks(2)
    reasons = [event.reason for event in town.journal() if isinstance(event, RequestRejected)]
    assert len(reasons) == 3
    assert f"would wait for itself, through ok:{jobs[3]}" in "".join(reasons)
    assert "there is no job nobody-1" in "".join(reasons)
    assert town.job(jobs[0]).after == ()


def test_a_job_that_runs_cannot_wait_any_more() -> None:
    town = Town()
    one, two = town.submits(name="one"), town.submits(name="two")
    town.ticks()
    town.asks(Update(job=two, changes=Changes(after=[f"ok:{one}"])))
    town.ticks()
    assert next(e.reason for e in town.journal() if isinstance(e, RequestRejected)).startswith(f"job {two} runs, so")


# What it costs, and how long it is known


def test_nobody_leaves_for_whom_somebody_waits() -> None:
    """A job that ended has settled all that waited for it: what leaves 30 days later is not waited for."""
    town = Town()
    first = town.submits(name="first")
    other = town.submits(name="other")
    town.ticks()
    then = town.submits(after=[f"ok:{first}", f"ok:{other}"])
    town.ticks()
    ends(town, first, S.SUCCEEDED)
    state = town.bastion.journal.state
    assert {job.id for job in retirable(state, NOON + timedelta(days=40)).jobs} == {first}
    assert town.job(then).after == (f"ok:{other}",), "it does not ask for the first one any more"


def test_a_bastion_that_begins_anew_knows_who_waits_for_whom() -> None:
    town = Town()
    first = town.submits(name="first")
    town.ticks()
    then = town.submits(after=[f"ok:{first}"], deadline=NOON + timedelta(days=1))
    town.ticks()
    town.bastion.close()
    snapshot.make(town.bucket.inner)
    town.bastion = town.begin()
    assert town.bastion.journal.state.deadlines == [(NOON + timedelta(days=1), then)]
    ends(town, first, S.SUCCEEDED)
    assert town.job(then).state is S.PROVISIONING


def test_it_gives_others_time_to_end_from_when_it_may_start() -> None:
    town = Town()
    first = town.submits(name="first")
    town.ticks()
    then = town.submits(after=[f"ok:{first}"])
    town.ticks(50)
    ends(town, first, S.SUCCEEDED)
    assert town.job(then).since == town.job(first).ended
