"""Turn requests into events. Each event of a rejected request says why it has no effect. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache, cached_property
from typing import Any

from bastion.quota.resources import Resources

from ..model.job.spec import JobSpec
from ..model.job.start_conditions import conditions
from ..model.layout import job_id
from ..model.settings.user_limits import too_much
from ..model.state.job_dependencies import faults
from ..model.state.state import State
from ..model.stored.events import (
    AnyEvent,
    CancelRequested,
    Held,
    JobRejected,
    Paused,
    Released,
    RequestRejected,
    Resumed,
    Submitted,
    Topped,
    Updated,
)
from ..model.stored.requests import AboutAll, AboutJob, Cancel, Hold, Pause, Release, Resume, Submit, Top, Update
from ..schedule.admission import complaints
from ..schedule.permissions import not_for, refusal
from ..schedule.plan import DecisionInputs, current_capacity
from ..schedule.runner_choice import RunnerChoice, places
from .received_request import LONG_AGO, ReceivedRequest

LATE, OLDEST = timedelta(seconds=10), timedelta(days=30)
"""A job counts as submitted when its request was stored, if that was more than `LATE` before the bastion handles it.

A request that is older than `OLDEST` counts as that old.
"""


class RequestHandler:
    """The handler of the requests of one tick: it turns them into events.

    Capacity and allowed shapes are computed once in a tick: no request changes them.
    """

    def __init__(self, state: State, inputs: DecisionInputs) -> None:
        self._state, self._inputs = state, inputs
        self._faults_of = cache(self._found_faults)

    def event(self, received: ReceivedRequest, *, all_read: bool) -> AnyEvent | None:
        """Return the event that a request becomes.

        Return None if it has an event already, or if it must wait until all others of its listing are read.
        """
        request = received.request
        if received.name in self._state.requests:
            return None
        if isinstance(request, Submit):
            return self._submit(received, request.spec, all_read)
        if request is None:
            return self._unread(received)
        if isinstance(request, (Pause, Resume)):
            return self._about_all(received, request)
        return self._about_job(received, request, all_read)

    @cached_property
    def _sides(self) -> tuple[Resources, ...] | None:
        """The capacity of each partition; None if no runner has reported yet."""
        return current_capacity(self._state, self._inputs).of_partitions() if self._state.capacity else None

    @cached_property
    def _places(self) -> RunnerChoice:
        return places(self._state, self._inputs.config)

    def _faults(self, resources: Resources, max_tier: int | None) -> Sequence[str]:
        """Return what keeps jobs of this shape from their runner."""
        return self._faults_of(tuple(resources.items()), max_tier)

    def _found_faults(self, kinds: tuple[tuple[str, int], ...], max_tier: int | None) -> tuple[str, ...]:
        return tuple(self._places.faults(dict(kinds), max_tier))

    def _unread(self, received: ReceivedRequest) -> AnyEvent:
        """Reject a request that cannot be read, as a rejected job where possible, so that its user sees why.

        Its job then has the names that could still be read, or the stand-in for a name.
        """
        job = job_id(received.job.name, received.id) if received.job else ""
        if received.job is None or job in self._state.jobs:
            return RequestRejected(request=received.name, user=received.user, reason=received.problem)
        return JobRejected(
            request=received.name,
            job=job,
            name=received.job.name,
            user=received.user,
            project=received.job.project,
            reason=received.problem,
            at=self._asked_at(received),
        )

    def _submit(self, received: ReceivedRequest, spec: JobSpec, all_read: bool) -> AnyEvent | None:
        state, inputs = self._state, self._inputs
        job, wanted = job_id(spec.name, received.id), conditions(spec.after)
        if not all_read and any(each.job not in state.jobs for each in wanted):
            return None
        if spec.user != received.user:
            reason = f"the spec names the user {spec.user}, but is in the inbox of {received.user}"
            return RequestRejected(request=received.name, user=received.user, reason=reason, job=job)
        if job in state.jobs:
            reason = f"a job {job} exists already; submit it again"
            return RequestRejected(request=received.name, user=received.user, reason=reason, job=job)
        wrong = complaints(spec, inputs.quota, self._sides, self._faults)
        wrong += faults(wanted, job, state.jobs)
        wrong += filter(None, [too_much(state.census(), spec.user, spec.count, inputs.config.limits)])
        if wrong:
            return JobRejected(
                request=received.name,
                job=job,
                name=spec.name,
                user=spec.user,
                project=spec.project,
                reason="; ".join(wrong),
                at=self._asked_at(received),
            )
        return Submitted(request=received.name, job=job, spec=spec, at=self._asked_at(received))

    def _asked_at(self, received: ReceivedRequest) -> datetime | None:
        """Return when a request was stored, if that was long before now; else None.

        It is at most `OLDEST` before now: the owner of a file can set any date.
        """
        now = self._state.now
        if now is None or received.stored == LONG_AGO or now - received.stored <= LATE:
            return None
        return max(received.stored, now - OLDEST)

    def _about_job(self, received: ReceivedRequest, request: AboutJob, all_read: bool) -> AnyEvent | None:
        state, inputs = self._state, self._inputs
        wanted = conditions(request.changes.after or ()) if isinstance(request, Update) else ()
        known = request.job in state.jobs
        if not all_read and not (known and all(each.job in state.jobs for each in wanted)):
            return None
        wrong = refusal(request, received.user, state, inputs) if known else f"there is no job {request.job}"
        wrong = wrong or "; ".join(faults(wanted, request.job, state.jobs))
        if wrong:
            return RequestRejected(request=received.name, user=received.user, reason=wrong, job=request.job)
        asked: dict[str, Any] = {"request": received.name, "user": received.user, "job": request.job}
        match request:
            case Cancel():
                return CancelRequested(**asked, task=request.task)
            case Hold():
                return Held(**asked)
            case Release():
                return Released(**asked)
            case Top():
                return Topped(**asked)
            case Update():
                return Updated(**asked, changes=request.changes)

    def _about_all(self, received: ReceivedRequest, request: AboutAll) -> AnyEvent:
        if wrong := not_for(received.user, request, self._inputs.config.admins):
            return RequestRejected(request=received.name, user=received.user, reason=wrong)
        return (Paused if isinstance(request, Pause) else Resumed)(request=received.name, user=received.user)


def others(received: ReceivedRequest) -> set[str]:
    """List the jobs that must be known before this request can be handled."""
    request = received.request
    if request is None or isinstance(request, (Pause, Resume)):
        return set()
    if isinstance(request, Submit):
        return {each.job for each in conditions(request.spec.after)}
    wanted = conditions(request.changes.after or ()) if isinstance(request, Update) else ()
    return {request.job, *(each.job for each in wanted)}
