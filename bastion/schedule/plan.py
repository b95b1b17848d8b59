"""What the schedule says of the state: who starts, who stops, and why everybody else waits. Pure.

The bastion asks for the starts and stops, readers for the reasons: both run the same decision on the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from bastion.quota.demand import RULES, Knobs, Schedule, Start
from bastion.quota.policy.scheduler import POLICIES
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse as parse_quota
from bastion.quota.tiers import Capacity

from ..journal.recent_usage import past
from ..model.settings.config import Config
from ..model.settings.config import parse as parse_config
from ..model.state.state import Cause, Job, JobState, State
from ..model.stored.events import (
    AnyEvent,
    Claimed,
    Exited,
    Gone,
    Illegal,
    JobRejected,
    Moved,
    ReclaimDropped,
    RequestRejected,
    RequestsDropped,
    Saved,
    Started,
    Stopping,
    Voided,
    Waiting,
)
from .capacity import pool
from .eligibility import admitted, gate, held, reason
from .pending import PendingJobs
from .runner_choice import places

INDIFFERENT = (Claimed, Exited, Gone, Illegal, JobRejected, RequestRejected, RequestsDropped, Saved, Voided, Waiting)
"""After these the policy would answer as before: who waits and who holds is the same."""

UNREPORTED = "no runner has reported yet"
"""What all wait for at a bastion's first start."""

REMEMBERED = 4
"""So many texts of each file keep what they say: who replays, or asks for many moments, meets the same ones again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a decision rests on, beside the state itself. All of it is in the journal.

    `quota` None: there is a quota file, it cannot be used, and there never was a good one: start nothing. `blind` are the
    runners that do not answer now, where that says on which side of a wall something starts. The policy decides by
    these `rules`.
    """

    quota: Quota | None
    config: Config
    blind: frozenset[str] = frozenset()
    rules: int = RULES


def inputs(state: State) -> Inputs:
    """Quota and settings in force, parsed, and the rules of the last decision. No quota file: a single user's fleet."""
    quota, settings = state.files.get("quota"), state.files.get("config")
    return Inputs(
        quota=_quota(quota.text) if quota and quota.text != "" else Quota.open(),
        config=_config(settings.text) if settings and settings.text is not None else Config(),
        rules=state.rules or RULES,
    )


@lru_cache(REMEMBERED)
def _quota(text: str | None) -> Quota | None:
    return None if text is None else parse_quota(text)


@lru_cache(REMEMBERED)
def _config(text: str) -> Config:
    return parse_config(text)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The answer: who starts and who stops, and when to ask again. `tell` makes the reasons; ask before the state changes."""

    schedule: Schedule
    again: datetime | None = None
    tell: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """A line for every job that waits."""
        return self.tell()


def pool_of(state: State, inputs: Inputs) -> Capacity:
    """What each tier holds now, of the kinds that some runner offers, and the walls between the tiers."""
    return pool(inputs.quota or Quota.open(), places(state, inputs.config), inputs.blind)


def knobs(config: Config, rules: int = RULES) -> Knobs:
    """What the admin set of how the policy decides, and by which rules it does."""
    return Knobs(
        rules=rules,
        reclaim_delay_s=config.reclaim_delay,
        gang_patience_s=config.gang_patience,
        restart_cost_s=config.restart_cost,
        usage_half_life_s=config.usage_half_life,
    )


def plan(state: State, inputs: Inputs, now: datetime, lineup: PendingJobs | None = None) -> Plan:
    """Run the policy on the state. A paused bastion starts nothing and stops nobody.

    `lineup` is one that was told of every event since it was last brought up; None: one is made anew.
    """
    if why := _standstill(state, inputs):
        return Plan(schedule=Schedule(), tell=lambda: _all_wait(state, why))
    assert inputs.quota is not None
    lineup, there = lineup or PendingJobs(), pool_of(state, inputs)
    schedule = POLICIES[inputs.config.policy](
        board=lineup.bring_up(state, inputs.quota, now, inputs.rules if inputs.config.policy == "default" else 0),
        reclaims=tuple(state.reclaims),
        quota=inputs.quota,
        pool=there,
        past=past(state, there.total(), now),
        now=now,
        knobs=knobs(inputs.config, inputs.rules),
    )
    again = min((at for at in (lineup.until, schedule.again) if at), default=None)
    return Plan(schedule=schedule, again=again, tell=lambda: _reasons(state, inputs, now, schedule))


def _standstill(state: State, inputs: Inputs) -> str:
    """Why nothing at all is decided; empty if it is not so."""
    if state.paused is not None:
        return paused(state)
    if inputs.quota is None:
        return f"the quota file is broken: {state.files['quota'].problem}"
    return "" if state.capacity else UNREPORTED


def _all_wait(state: State, why: str) -> dict[str, str]:
    waiting = (state.jobs[job_id] for job_id in state.pending)
    return {job.id: held(job) if job.held and state.paused else why for job in waiting}


def _reasons(state: State, inputs: Inputs, now: datetime, schedule: Schedule) -> dict[str, str]:
    """Why those wait who may not start, and why those do for whom there is no room."""
    assert inputs.quota is not None
    told, texts = schedule.reasons, {}
    for job_id in state.pending:
        if job_id not in told:
            found = gate(state, state.jobs[job_id], inputs.quota, now)
            if not found.tasks:
                texts[job_id] = reason(state, state.jobs[job_id], found, inputs.quota, now)
    return {**texts, **told}


def starts(
    state: State, schedule: Schedule, seats: Mapping[Start, tuple[str, int]], now: datetime
) -> Iterator[Started]:
    """The starts as events. `seats` has the runner and the number of hosts of each; others do not start."""
    ready: dict[str, Iterator[int]] = {}
    for start in schedule.starts:
        if start not in seats:
            continue
        job = state.jobs[start.job]
        if job.id not in ready:
            ready[job.id] = waiting_tasks(job, now)
        number = next(ready[job.id])
        attempt = len(job.tasks[number].attempts) if number in job.tasks else 0
        runner, hosts = seats[start]
        yield Started(
            job=job.id,
            task=number,
            attempt=attempt,
            runner=runner,
            tier=start.tier,
            workers=hosts,
            overdue=start.overdue,
            choice=start.choice,
        )


def unsettled(state: State, events: Iterable[AnyEvent]) -> bool:
    """True if the policy may answer more now. A task that was stopped for others lets none of its job borrow while it rests;
    once it has started, the others may.
    """
    return any(isinstance(event, Started) and event.attempt and event.job in state.pending for event in events)


def stops(state: State, schedule: Schedule, now: datetime) -> Iterator[Stopping]:
    """The stops as events."""
    for stop in schedule.stops:
        job = state.jobs[stop.job]
        yield Stopping(
            job=job.id,
            task=stop.task,
            attempt=job.tasks[stop.task].attempts[-1].number,
            cause=Cause.PREEMPTED,
            deadline=now + timedelta(seconds=job.grace_s),
            reason=stop.reason,
            for_job=stop.for_job or "",
            lost_s=stop.lost_s,
        )


def moves(state: State, schedule: Schedule) -> Iterator[Moved]:
    """The moves as events."""
    for move in schedule.moves:
        attempt = state.jobs[move.job].tasks[move.task].attempts[-1]
        yield Moved(job=move.job, task=move.task, attempt=attempt.number, tier=move.tier)


def dropped(state: State, inputs: Inputs) -> Iterator[ReclaimDropped]:
    """Reclaims whose job may not start any more: what was freed is for all again."""
    for job_id in list(state.reclaims):
        job = state.jobs[job_id]
        if inputs.quota is not None and not admitted(inputs.quota, job):
            yield ReclaimDropped(job=job_id)


def waiting_tasks(job: Job, now: datetime) -> Iterator[int]:
    """The tasks that may start now, the interrupted ones first."""
    yield from sorted(number for number in job.waiting if (job.tasks[number].ready_at or now) <= now)
    if job.counts.get(JobState.PENDING, 0) > len(job.waiting):
        yield from (number for number in range(job.fresh, job.count) if number not in job.tasks)


def paused(state: State) -> str:
    """Why nothing starts while the bastion is paused; empty if it is not."""
    return f"paused by {state.paused}" if state.paused else ""
