"""Whatever events come: the books of jobs agree with a recount, and a snapshot on the way changes nothing."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.journal.fold import apply
from bastion.model.codec import decode, encode, readable
from bastion.model.errors import IllegalMove
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes
from bastion.model.job.start_conditions import Condition, conditions
from bastion.model.state.decayed_usage import DecayedUsage
from bastion.model.state.job_dependencies import verdict
from bastion.model.state.state import ENDED, AttemptState, Cause, Job, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Claimed,
    Decided,
    Ended,
    Exited,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    ImageBuilt,
    Lapsed,
    Paused,
    ReclaimDropped,
    Released,
    Resumed,
    Saved,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
)
from bastion.quota.demand import OVERTAKEN
from tests.depth import examples
from tests.support.doors import folded
from tests.support.world import NOON, spec

S, C = JobState, Cause

readable(State)


def _submitted(job: str, **fields: Any) -> Submitted:
    return Submitted(request=f"r-{job}", job=job, spec=spec(**fields))


_Op = tuple[str, int, int, int, Any]
_ops = st.tuples(
    st.sampled_from(
        (
            "advance " * 12 + "submit cancel cancel_task hold release top update renew pause resume image built "
            "start claim void exit gone save stop end forget drop settings after timing lapse decide"
        ).split()
    ),
    st.integers(0, 1),
    st.integers(0, 2),
    st.integers(-1, 1),
    st.sampled_from([S.PENDING, S.PENDING, S.SUCCEEDED, S.FAILED, S.CANCELLED, S.TIMEOUT, S.RUNNING]),
)


def _event(state: State, op: _Op, number: int) -> AnyEvent:
    """An event that is about something that is there, now and then a little beside it."""
    what, job_number, task, off, outcome = op
    job = f"j{job_number}"
    known = state.jobs.get(job)
    attempts = known.tasks[task].attempts if known and task in known.tasks else []
    at: dict[str, Any] = {"job": job, "task": task, "attempt": len(attempts) - 1 + (off if number % 7 == 0 else 0)}
    request = f"r{number}"
    match what:
        case "advance":
            return _next(state, at, outcome if outcome is not S.RUNNING else S.PENDING)
        case "submit":
            late = NOON + timedelta(minutes=task) if off else None
            wish = spec(
                user=f"u{job_number}",
                count=1 + task,
                replicas=1 + job_number % 2,
                after=_after(job_number, task, off),
                deadline=late,
            )
            return Submitted(request=request, job=job, spec=wish)
        case "after":
            return Updated(request=request, user="u", job=job, changes=Changes(after=_after(job_number, task, off)))
        case "timing":
            moment = NOON + timedelta(minutes=number % 3) if off else None
            return Updated(request=request, user="u", job=job, changes=Changes(deadline=moment, max_parallel=1 + task))
        case "lapse":
            return Lapsed(job=job, outcome=outcome, reason="")
        case "cancel":
            return CancelRequested(request=request, user="u", job=job)
        case "cancel_task":
            return CancelRequested(request=request, user="u", job=job, task=task)
        case "hold":
            return Held(request=request, user="u", job=job)
        case "release":
            return Released(request=request, user="u", job=job)
        case "top":
            return Topped(request=request, user="u", job=job)
        case "update":
            return Updated(request=request, user="u", job=job, changes=Changes(priority=1 + task))
        case "renew":
            new = Changes(command=f"run {number}", bundle=BundleRef(), max_tries=1 + task)
            return Updated(request=request, user="u", job=job, changes=new)
        case "pause":
            return Paused(request=request, user="u")
        case "resume":
            return Resumed(request=request, user="u")
        case "image":
            bundle = BundleRef(type="image", image="gcr.io/a", build=f"projects/p/locations/l/builds/{task}")
            return Submitted(request=request, job=job, spec=spec(bundle=bundle))
        case "built":
            return ImageBuilt(job=job, digest="0" * 64)
        case "start":
            return Started(**{**at, "attempt": len(attempts)}, runner="local", tier=0, workers=1 + job_number % 2)
        case "claim":
            return Claimed(**at, worker=abs(off), machine="m")
        case "void":
            return Voided(**at, worker=abs(off))
        case "exit":
            return Exited(**at, worker=abs(off), cause=C.CODE, exit_code=1)
        case "gone":
            return Gone(**at, worker=abs(off))
        case "save":
            return Saved(**at, at=NOON, every_s=[None, 600.0, 0.5][off])
        case "settings":
            return FileChanged(file="config", version=request, text=f"usage_half_life = {3600 * task}")
        case "stop":
            return Stopping(**at, cause=C.PREEMPTED, deadline=NOON, reason="", for_job=f"j{task}")
        case "end":
            return Ended(**at, cause=C.LOST if off else C.OK, outcome=outcome, reason="")
        case "decide":
            return Decided(rules=OVERTAKEN if task else OVERTAKEN - 1)
        case "forget":
            return Forgotten(jobs=[job], requests=[f"r{task}"])
    return ReclaimDropped(job=job)


def _after(job: int, task: int, off: int) -> list[str]:
    """Conditions on the other job, which may not be there, or none."""
    words = [f"{kind}:j{1 - job}" for kind in ("ok", "any", "fail")]
    return [words[task], f"{words[off]}[{task}]"] if off else words[task:2]


def _of(text: str) -> Condition:
    return conditions([text])[0]


def _next(state: State, at: dict[str, Any], outcome: JobState) -> AnyEvent:
    """What comes next in the life of a task."""
    job = state.jobs.get(at["job"])
    task = job.tasks.get(at["task"]) if job else None
    live = task.live if task else None
    if job is None or task is None or live is None:
        attempt = len(task.attempts) if task else 0
        return Started(**{**at, "attempt": attempt}, runner="local", tier=0, workers=job.replicas if job else 1)
    at = {**at, "attempt": live.number}
    for number, worker in enumerate(live.workers):
        if not worker.seen:
            return Claimed(**at, worker=number, machine="m")
    for number, worker in enumerate(live.workers):
        if not worker.gone:
            return Gone(**at, worker=number)
    return Ended(**at, cause=live.stopping or C.LOST, outcome=outcome, reason="")


def _recount(state: State) -> None:
    for job in state.jobs.values():
        _recount_job(job)
    _recount_indices(state)
    assert vars(state.census()) == vars(State(jobs=state.jobs).census()), "what is kept up is what is counted anew"
    assert state.pending.keys() == {job.id for job in state.jobs.values() if S.PENDING in job.counts}
    assert {job: set(numbers) for job, numbers in state.live.items()} == {
        job.id: numbers for job in state.jobs.values() if (numbers := {n for n, t in job.tasks.items() if t.live})
    }
    assert state.reclaims.keys() <= state.pending.keys()
    held: dict[str, Counter[str]] = {}
    for _, job, _ in state.live_attempts():
        held.setdefault(f"{job.project}/{job.user}", Counter()).update(job.demand)
    assert {row: use.held for row, use in (state.used or DecayedUsage()).rows.items() if use.held} == held
    works = {(name, kind): row.held for name, work in (state.work or {}).items() for kind, row in work.kinds.items()}
    given = Counter[tuple[str, str]]()
    for row, units in held.items():
        given.update({(row.partition("/")[0], kind): amount for kind, amount in units.items()})
    assert state.work is None or {row: units for row, units in works.items() if units} == given
    assert [key.job for key, _, _ in state.live_attempts()] == [j for j, numbers in state.live.items() for _ in numbers]


def _recount_indices(state: State) -> None:
    """Who waits is known by those for whom it waits, and whose end is there has told everybody."""
    waits = {(text, job.id) for job in state.jobs.values() for text in job.after}
    told = {(text, job) for rows in state.dependents.values() for text, jobs in rows.items() for job in jobs}
    assert told <= waits
    assert {job for _, job in waits - told} <= state.doomed.keys(), "what dooms it is settled"
    assert all(rows and all(rows.values()) for rows in state.dependents.values())
    assert all(verdict(_of(text), state.jobs.get(_of(text).job)) is None for text, _ in told)
    assert not any(state.jobs[job].ended for job in (*state.doomed, *(job for _, job in told)))
    assert {(build, job) for build, jobs in state.builds.items() for job in jobs} == {
        (job.build, job.id) for job in state.jobs.values() if job.build
    }
    assert not any(job.ended for job in state.jobs.values() if job.build)
    assert state.deadlines == sorted(
        (job.deadline, job.id) for job in state.jobs.values() if job.deadline and not job.ended
    )


def _recount_job(job: Job) -> None:
    states = [job.tasks[n].state if n in job.tasks else job.rest for n in range(job.count)]
    assert job.counts == {state: states.count(state) for state in states}
    assert job.waiting.keys() == {number for number, task in job.tasks.items() if task.state is S.PENDING}
    assert job.fresh == next((n for n in range(job.count) if n not in job.tasks), job.count)
    assert (job.ended is not None) == all(state in ENDED for state in states)
    for task in job.tasks.values():
        assert task.stops == sum(attempt.cause is C.PREEMPTED for attempt in task.attempts)
        alive = task.state in (S.PROVISIONING, S.RUNNING, S.PREEMPTING, S.CANCELLING)
        assert (task.live is not None) == alive
        assert sum(attempt.state is not AttemptState.ENDED for attempt in task.attempts) == alive


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(_ops, min_size=20, max_size=80))
def test_the_books_agree_with_a_recount_after_any_events(ops: list[_Op]) -> None:
    state = State(now=NOON)
    for number, op in enumerate([("submit", 0, 3, 0, None), ("submit", 1, 0, 0, None), *ops]):
        state.now = NOON + timedelta(minutes=number)
        event, before = _event(state, op, number), encode(state)
        try:
            apply(state, event, state.seq, number)
        except IllegalMove:
            assert encode(state) == before
        _recount(state)
    assert encode(decode(encode(state), State, "state")) == encode(state)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(_ops, max_size=80))
def test_a_state_that_went_through_a_snapshot_takes_events_as_before(ops: list[_Op]) -> None:
    one = other = folded(_submitted("j0", count=4), _submitted("j1", replicas=2))
    for number, op in enumerate(ops):
        other = decode(encode(other), State, "state")
        for state in (one, other):
            state.now = NOON + timedelta(seconds=number)
            try:
                apply(state, _event(state, op, number), state.seq, number)
            except IllegalMove:
                continue
    assert encode(one) == encode(other)
