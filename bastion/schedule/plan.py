"""Ask the schedule about a state: who starts, who stops, and why all other jobs wait. Pure.

The bastion asks for the starts and stops, readers ask for the reasons. Both run the same decision on the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from bastion.quota.demand import RULES, PolicySettings, Schedule, Start
from bastion.quota.policy.scheduler import POLICIES
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse as parse_quota
from bastion.quota.tiers import Capacity

from ..journal.control import why_held, why_paused
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
from .capacity import capacity_of
from .eligibility import admitted, eligibility_of, reason
from .pending import PendingJobs
from .runner_choice import places

INDIFFERENT = (Claimed, Exited, Gone, Illegal, JobRejected, RequestRejected, RequestsDropped, Saved, Voided, Waiting)
"""After these events the policy would answer as before: the pending jobs and what attempts hold are the same."""

UNREPORTED = "no runner has reported yet"
"""The reason of all pending jobs when a bastion starts for the first time."""

REMEMBERED = 4
"""How many texts of each file stay parsed in memory. A replay, or a reader of many moments, meets the same texts again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionInputs:
    """The inputs of a decision beside the state itself. All of them are in the journal.

    quota: the quota in force; None: the quota file cannot be used and there never was a good one, so nothing starts.
    config: the settings in force.
    blind: the unreachable runners, where that decides in which partition something starts.
    rules: the number of the policy's rules to decide by.
    """

    quota: Quota | None
    config: Config
    blind: frozenset[str] = frozenset()
    rules: int = RULES


def inputs(state: State) -> DecisionInputs:
    """Return the quota and the settings in force, parsed, and the rules of the last decision.

    Without a quota file, the quota is that of a single user's fleet.
    """
    quota, settings = state.files.get("quota"), state.files.get("config")
    return DecisionInputs(
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
    """The answer of the schedule.

    schedule: who starts, who stops, and what moves.
    again: when to ask again; None: no moment is set.
    tell: a function that makes the reasons. Call it before the state changes, for it reads the state.
    """

    schedule: Schedule
    again: datetime | None = None
    tell: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """Return a line for every pending job that does not start."""
        return self.tell()


def current_capacity(state: State, inputs: DecisionInputs) -> Capacity:
    """Return the capacity of each tier now, of the kinds that some runner offers, with the partitions of the tiers."""
    return capacity_of(inputs.quota or Quota.open(), places(state, inputs.config), inputs.blind)


def policy_settings(config: Config, rules: int = RULES) -> PolicySettings:
    """Return the admin's settings of the policy, and the rules that it decides by."""
    return PolicySettings(
        rules=rules,
        reclaim_delay_s=config.reclaim_delay,
        gang_patience_s=config.gang_patience,
        restart_cost_s=config.restart_cost,
        usage_half_life_s=config.usage_half_life,
    )


def plan(state: State, inputs: DecisionInputs, now: datetime, pending: PendingJobs | None = None) -> Plan:
    """Run the policy on the state. A paused bastion starts nothing and stops nothing.

    `pending` is an index that has noted every event since it was last brought up. None: a new one is built.
    """
    if why := _standstill(state, inputs):
        return Plan(schedule=Schedule(), tell=lambda: _all_wait(state, why))
    assert inputs.quota is not None
    pending, there = pending or PendingJobs(), current_capacity(state, inputs)
    schedule = POLICIES[inputs.config.policy](
        index=pending.bring_up(state, inputs.quota, now, inputs.rules if inputs.config.policy == "default" else 0),
        reclaims=tuple(state.reclaims),
        quota=inputs.quota,
        capacity=there,
        past=past(state, there.total(), now),
        work=state.work or {},
        now=now,
        settings=policy_settings(inputs.config, inputs.rules),
    )
    again = min((at for at in (pending.until, schedule.again) if at), default=None)
    return Plan(schedule=schedule, again=again, tell=lambda: _reasons(state, inputs, now, schedule))


def _standstill(state: State, inputs: DecisionInputs) -> str:
    """Say why nothing at all is decided; empty if the policy decides."""
    if state.paused is not None:
        return why_paused(state)
    if inputs.quota is None:
        return f"the quota file is broken: {state.files['quota'].problem}"
    return "" if state.capacity else UNREPORTED


def _all_wait(state: State, why: str) -> dict[str, str]:
    waiting = (state.jobs[job_id] for job_id in state.pending)
    return {job.id: why_held(job) if job.held and state.paused else why for job in waiting}


def _reasons(state: State, inputs: DecisionInputs, now: datetime, schedule: Schedule) -> dict[str, str]:
    """Return the reasons of the pending jobs: of those that may not start, and of those that find no room."""
    assert inputs.quota is not None
    told, texts = schedule.reasons, {}
    for job_id in state.pending:
        if job_id not in told:
            found = eligibility_of(state, state.jobs[job_id], inputs.quota, now)
            if not found.tasks:
                texts[job_id] = reason(state, state.jobs[job_id], found, inputs.quota, now)
    return {**texts, **told}


def starts(
    state: State, schedule: Schedule, seats: Mapping[Start, tuple[str, int]], now: datetime
) -> Iterator[Started]:
    """Yield the starts as events. `seats` has the runner and the number of hosts of each start.

    Starts without a place are left out.
    """
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
    """Return True if the policy may answer more now, after these events.

    While a preempted task pauses, the other tasks of its job may not borrow. Once it has started, they may.
    """
    return any(isinstance(event, Started) and event.attempt and event.job in state.pending for event in events)


def stops(state: State, schedule: Schedule, now: datetime) -> Iterator[Stopping]:
    """Yield the stops as events."""
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
    """Yield the moves as events."""
    for move in schedule.moves:
        attempt = state.jobs[move.job].tasks[move.task].attempts[-1]
        yield Moved(job=move.job, task=move.task, attempt=attempt.number, tier=move.tier)


def dropped(state: State, inputs: DecisionInputs) -> Iterator[ReclaimDropped]:
    """Yield an event for each reclaim whose job may not start any more. What was freed for it is then free for all."""
    for job_id in list(state.reclaims):
        job = state.jobs[job_id]
        if inputs.quota is not None and not admitted(inputs.quota, job):
            yield ReclaimDropped(job=job_id)


def waiting_tasks(job: Job, now: datetime) -> Iterator[int]:
    """Yield the tasks that may start now, interrupted ones first."""
    yield from sorted(number for number in job.waiting if (job.tasks[number].ready_at or now) <= now)
    if job.counts.get(JobState.PENDING, 0) > len(job.waiting):
        yield from (number for number in range(job.fresh, job.count) if number not in job.tasks)
