"""Explain why jobs are pending: the reader repeats the bastion's decision on what the journal holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bastion.model.state.state import AttemptState, Job, JobState
from bastion.quota.demand import Schedule
from bastion.quota.resources import Resources
from bastion.schedule.plan import UNREPORTED, DecisionInputs, Plan, inputs, plan
from bastion.schedule.runner_choice import RunnerChoice, places

from .view import View

NOTHING = Plan(schedule=Schedule())
"""The decision where no job is pending."""


def derived(view: View) -> Mapping[str, str]:
    """Return one line for each pending job that the bastion has read, by the id of the job."""
    return reasons(view, decided(view))


def decided(view: View) -> Plan:
    """Take the decision on this view; `NOTHING` if no job is pending."""
    if not view.state.pending:
        return NOTHING
    return plan(view.state, rested_on(view), decided_at(view))


def decided_at(view: View) -> datetime:
    """Return the time of that decision: now, or the journal's time if that is ahead of this clock."""
    return max(view.state.now or view.now, view.now)


def reasons(view: View, answer: Plan) -> Mapping[str, str]:
    """Return the reasons of the decision, by job.

    A job whose runners are all unreachable gets that as its reason instead.
    So does a job that has started on an unreachable runner and has no machines yet.
    """
    told = {name: one.told(name, view.now) for name, one in view.state.blind.items()}
    if not told:
        return answer.reasons
    found, there = {**answer.reasons}, places(view.state, inputs(view.state).config)
    for job in (view.state.jobs[name] for name in view.state.pending):
        # A reason that is not the schedule's comes from the job itself, as when it is held. It stands with any runner.
        by_itself = job.id in found and job.id not in answer.schedule.reasons and found[job.id] != UNREPORTED
        if not by_itself and (runners := unheard(view, there, job)):
            found[job.id] = "; ".join(told[runner] for runner in runners)
    for _, job, attempt in view.state.live_attempts():
        if attempt.state is AttemptState.STARTING and attempt.runner in told and not job.counts.get(JobState.PENDING):
            found[job.id] = told[attempt.runner]
    return found


def unheard(view: View, there: RunnerChoice, job: Job) -> Sequence[str]:
    """Return the runners for any shape of the job if all of them are unreachable, else nothing."""
    sizes: list[Resources] = [choice.resources for choice in job.choices] or [job.resources]
    runners = dict.fromkeys(name for size in sizes for name in there.runners_of(size, job.max_tier))
    return list(runners) if runners.keys() <= view.state.blind.keys() else []


def rested_on(view: View) -> DecisionInputs:
    """Return the inputs of the bastion's decision at present, besides the state."""
    found = inputs(view.state)
    return replace(found, blind=places(view.state, found.config).passed_over(view.state.blind))
