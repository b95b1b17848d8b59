"""What-if states: copies of a state with one change, on which the decision can be taken. Pure.

Events are applied to them by the same rules as in the journal. The original state is never changed: a job is copied
when an event concerns it, and all other jobs are shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from math import ceil, floor
from typing import Any

from msgspec import Struct, structs

from bastion.journal.fold import apply, concerned
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import AttemptState, Cause, State
from bastion.model.stored.events import AnyEvent, CancelRequested, Ended, Exited, Gone, Held, Voided
from bastion.quota.policy.shapes import possible
from bastion.quota.resources import Resources, plus
from bastion.quota.shares import amounts
from bastion.schedule import lifecycle
from bastion.schedule.plan import DecisionInputs, current_capacity

_MUTABLE = (dict, list, set, Struct)

NOBODY = "supposed"
"""The user and the request of events that did not happen."""

_MILLION = 10**6
"""What-if shares are whole numbers of millionths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfCase:
    """The inputs of one decision, real or what-if.

    state: state to decide on.
    inputs: quota, settings and rules.
    now: time of the decision.
    changed: ids of the jobs that differ from the real state.
    """

    state: State
    inputs: DecisionInputs
    now: datetime
    changed: frozenset[str] = frozenset()

    def at(self, now: datetime) -> WhatIfCase:
        """Return the same case at another time."""
        return replace(self, now=now)


class WhatIfState:
    """A copy of a state to which events can be applied. Mutable."""

    def __init__(self, case: WhatIfCase) -> None:
        parts = {name: value for name, value in structs.asdict(case.state).items() if name not in ("jobs", "requests")}
        copied = {name: _copied(value) for name, value in parts.items()}
        self.state = structs.replace(
            case.state, **{**copied, "jobs": dict(case.state.jobs), "requests": {}, "now": case.now}
        )
        self._case = case
        self._own: set[str] = set()

    def case(self) -> WhatIfCase:
        """Return the case with the present state."""
        assert self.state.now is not None
        return replace(self._case, state=self.state, now=self.state.now, changed=self._case.changed | self._own)

    def happens(self, *events: AnyEvent) -> None:
        """Apply these events. Raises `IllegalMove`."""
        for event in events:
            for job in concerned(event):
                self._copy(job)
            apply(self.state, event, self.state.seq, 0)

    def over(self, keys: Iterable[AttemptKey]) -> None:
        """End these attempts now: by their time limit, or for the reason for which they are being stopped."""
        ending = set(keys)
        for key in ending:
            self._leave(key)
        if self.state.now:
            verdicts = [event for event in lifecycle.settle(self.state, self.state.now) if isinstance(event, Ended)]
            self.happens(*(event for event in verdicts if event.key in ending))

    def _leave(self, key: AttemptKey) -> None:
        """Let every machine of an attempt be gone, or never come."""
        attempt = self.state.attempt(key)
        assert attempt is not None
        by_limit = attempt.state is not AttemptState.STOPPING
        for number, worker in enumerate(attempt.workers):
            at: dict[str, Any] = {"job": key.job, "task": key.task, "attempt": key.attempt, "worker": number}
            if by_limit and worker.cause is None:
                self.happens(Exited(**at, cause=Cause.TIME_LIMIT))
            if not worker.over:
                self.happens(Gone(**at) if worker.seen else Voided(**at))

    def _copy(self, job: str) -> None:
        """Copy the job, and the jobs that wait for its end, as events may change those too."""
        jobs = self.state.jobs
        behind = (name for names in self.state.dependents.get(job, {}).values() for name in names)
        for name in {job, *behind} - self._own:
            self._own.add(name)
            if name in jobs:
                jobs[name] = deepcopy(jobs[name])


def _copied(value: Any) -> Any:
    """Copy a value so that changes leave the original alone. A dict of immutable values is copied flat.

    Only the first value of a dict is looked at, as a dict may be large.
    """
    if isinstance(value, dict):
        deep = isinstance(next(iter(value.values()), None), _MUTABLE)
        return {key: deepcopy(each) for key, each in value.items()} if deep else dict(value)
    return deepcopy(value) if isinstance(value, _MUTABLE) else value


def ended(case: WhatIfCase, jobs: Iterable[str]) -> WhatIfCase:
    """Return the case in which these jobs were stopped and their machines are gone."""
    sketch = WhatIfState(case)
    for job in jobs:
        sketch.happens(CancelRequested(request=NOBODY, user=NOBODY, job=job))
        numbers = sketch.state.live.get(job, {})
        row = sketch.state.jobs[job]
        sketch.over(AttemptKey(job, number, row.tasks[number].attempts[-1].number) for number in numbers)
    return sketch.case()


def held_back(case: WhatIfCase, jobs: Iterable[str]) -> WhatIfCase:
    """Return the case in which nothing more of these jobs starts. Running attempts go on."""
    sketch = WhatIfState(case)
    sketch.happens(*(Held(request=NOBODY, user=NOBODY, job=job) for job in jobs))
    return sketch.case()


def asking(case: WhatIfCase, job: str, **fields: Any) -> WhatIfCase:
    """Return the case in which the job has had these fields since it was submitted. It keeps its place."""
    jobs = {**case.state.jobs, job: structs.replace(case.state.jobs[job], **fields)}
    return replace(case, state=structs.replace(case.state, jobs=jobs), changed=case.changed | {job})


def as_it_waits(case: WhatIfCase, job: str) -> WhatIfCase:
    """Return the case in which the job has the shape that it waits for.

    That is the first of its choices that is possible. A job with live attempts stays as it is.
    """
    own = case.state.jobs[job]
    if not own.choices or job in case.state.live:
        return case
    first = next(
        iter(
            possible(
                [amounts(each.demand) for each in own.choices], own.max_tier, current_capacity(case.state, case.inputs)
            )
        ),
        0,
    )
    shape = own.choices[first]
    return asking(case, job, choice=first, resources=shape.resources, replicas=shape.replicas) if first else case


def total_capacity(case: WhatIfCase) -> dict[str, int]:
    """Return the capacity of all tiers together."""
    return current_capacity(case.state, case.inputs).total()


def enlarged(case: WhatIfCase, more: Resources) -> WhatIfCase:
    """Return the case with more machines, which the quota file counts too.

    A share that is a fraction grows with the capacity; one that is an amount stays.
    """
    quota, capacity = case.inputs.quota, case.state.capacity
    assert quota is not None
    total = quota.total()
    named = {kind: n for kind, n in more.items() if kind in total}
    shares = {name: dict(row) for name, row in quota.shares.items()}
    for project, kind in quota.amounts:
        shares[project][kind] *= Fraction(total[kind], total[kind] + named.get(kind, 0))
    quota = replace(quota, tiers=(plus(quota.tiers[0], named), *quota.tiers[1:]), shares=shares)
    for runner, held in capacity.items():
        if held is not None:
            capacity = {**capacity, runner: plus(held, more)}
            break
    state = structs.replace(case.state, capacity=capacity)
    return replace(case, state=state, inputs=replace(case.inputs, quota=quota))


def granted(case: WhatIfCase, project: str, units: Resources, used: Mapping[str, Resources]) -> WhatIfCase:
    """Return the case in which the project is promised this many units of each kind.

    They come first from what no project is promised, then from the projects that leave most of theirs idle; `used` is
    what each project holds. The new shares have six digits, as the quota file will have them. The share that grows is
    rounded up, so that it is enough, and the others are rounded down. So the decision is the one that the bastion will
    make.
    """
    quota, there = case.inputs.quota, total_capacity(case)
    assert quota is not None
    shares = {name: dict(row) for name, row in {project: {}, **quota.shares}.items()}
    for kind, n in units.items():
        idle = {name: row.get(kind, 0) * there[kind] - used.get(name, {}).get(kind, 0) for name, row in shares.items()}
        new = _said(Fraction(n, there[kind]), ceil)
        lack = new - shares[project].get(kind, 0)
        lack -= max(Fraction(0), 1 - sum((row.get(kind, Fraction(0)) for row in shares.values()), Fraction(0)))
        shares[project][kind] = new
        for name in sorted(shares, key=lambda name: (-idle[name], name)):
            if lack > 0 and name != project and (share := shares[name].get(kind)):
                shares[name][kind] = _said(share - min(share, lack), floor)
                lack -= min(share, lack)
    return replace(case, inputs=replace(case.inputs, quota=replace(quota, shares=shares)))


def _said(share: Fraction, rounded: Callable[[Fraction], int]) -> Fraction:
    """Round a share to six digits."""
    return Fraction(rounded(share * _MILLION), _MILLION)


def allowed(case: WhatIfCase, project: str, limits: Resources) -> WhatIfCase:
    """Return the case in which each user of the project may hold this much at once."""
    quota = case.inputs.quota
    assert quota is not None
    new = {**quota.user_limits, project: {**quota.user_limits.get(project, {}), **limits}}
    return replace(case, inputs=replace(case.inputs, quota=replace(quota, user_limits=new)))


def member(case: WhatIfCase, project: str, user: str = NOBODY) -> WhatIfCase:
    """Return the case in which the user belongs to the project."""
    quota = case.inputs.quota
    assert quota is not None
    members = {**quota.members, project: (*quota.members.get(project, ()), user)}
    return replace(case, inputs=replace(case.inputs, quota=replace(quota, members=members)))


def granted_class(case: WhatIfCase, project: str, name: str) -> WhatIfCase:
    """Return the case in which the project may have jobs of this class."""
    quota = case.inputs.quota
    assert quota is not None
    classes = {**quota.classes, project: (*quota.classes.get(project, ()), name)}
    return replace(case, inputs=replace(case.inputs, quota=replace(quota, classes=classes)))
