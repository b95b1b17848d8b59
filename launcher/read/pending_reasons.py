"""Why pending jobs wait: the bastion's own decision, taken again by the reader on what the journal says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bastion.model.state.state import AttemptState, Job, JobState
from bastion.quota.demand import Schedule
from bastion.quota.resources import Resources
from bastion.schedule.plan import UNREPORTED, Inputs, Plan, inputs, plan
from bastion.schedule.runner_choice import RunnerChoice, places

from .view import View

NOTHING = Plan(schedule=Schedule())
"""What is decided where nothing waits."""


def derived(view: View) -> Mapping[str, str]:
    """One line for each pending job that the bastion has read, by the job's id."""
    return reasons(view, decided(view))


def decided(view: View) -> Plan:
    """The decision itself; nothing to decide if nothing waits."""
    if not view.state.pending:
        return NOTHING
    return plan(view.state, rested_on(view), decided_at(view))


def decided_at(view: View) -> datetime:
    """The moment of that decision: now, but for a journal that is ahead of this clock."""
    return max(view.state.now or view.now, view.now)


def reasons(view: View, answer: Plan) -> Mapping[str, str]:
    """The decision's own reasons; but where no runner answers that a job could go to, nothing is decided of it, and that is its.

    It is also the reason of those that have started and have no machines.
    """
    told = {name: one.told(name, view.now) for name, one in view.state.blind.items()}
    if not told:
        return answer.reasons
    found, there = {**answer.reasons}, places(view.state, inputs(view.state).config)
    for job in (view.state.jobs[name] for name in view.state.pending):
        by_itself = job.id in found and job.id not in answer.schedule.reasons and found[job.id] != UNREPORTED
        if not by_itself and (runners := unheard(view, there, job)):
            found[job.id] = "; ".join(told[runner] for runner in runners)
    for _, job, attempt in view.state.live_attempts():
        if attempt.state is AttemptState.STARTING and attempt.runner in told and not job.counts.get(JobState.PENDING):
            found[job.id] = told[attempt.runner]
    return found


def unheard(view: View, there: RunnerChoice, job: Job) -> Sequence[str]:
    """The runners that the job could go to, by any of its choices, if none of them answers."""
    sizes: list[Resources] = [choice.resources for choice in job.choices] or [job.resources]
    runners = dict.fromkeys(name for size in sizes for name in there.runners_of(size, job.max_tier))
    return list(runners) if runners.keys() <= view.state.blind.keys() else []


def rested_on(view: View) -> Inputs:
    """What the bastion rests its decision on now, beside the state."""
    found = inputs(view.state)
    return replace(found, blind=places(view.state, found.config).passed_over(view.state.blind))
