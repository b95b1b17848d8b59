"""Keep what was used: the decayed usage of each user, and the work of each project. Pure but for the state it changes.

The fold keeps both up to date, and the policy asks for them. The work begins with the first decision by the rules that
need it (`bastion.quota.demand.OVERTAKEN`), and ends with one by older rules: an older version may have made snapshots
since then. So every fold of the same journal keeps the same work, from whatever snapshot it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bastion.quota.demand import CLASSES, OVERTAKEN
from bastion.quota.project_work import hold, rank_number
from bastion.quota.resources import Resources

from ..model.errors import BastionError
from ..model.settings.config import parse
from ..model.state.decayed_usage import DecayedUsage, UserUsage
from ..model.state.state import Attempt, Job, State

Who = tuple[str, str]
"""A project and a user of it."""


def begins(state: State, job: Job, attempt: Attempt) -> None:
    """Note that an attempt begins to hold the demand of its job."""
    _hold(state, job, +1)
    _work(state, job, attempt, +1)


def ends(state: State, job: Job, attempt: Attempt) -> None:
    """Note that an attempt is about to give back what it holds."""
    _hold(state, job, -1)
    _work(state, job, attempt, -1)


def change(state: State, job: Job, values: Mapping[str, Any]) -> None:
    """Set fields of a job. What its attempts do from now on is the work of its new class and priority."""
    live = [job.tasks[number].attempts[-1] for number in state.live.get(job.id, ())]
    for attempt in live:
        _work(state, job, attempt, -1)
    for name, value in values.items():
        setattr(job, name, value)
    for attempt in live:
        _work(state, job, attempt, +1)


def decided(state: State) -> None:
    """Note that a decision was taken by `state.rules`. With the first that needs the work, the work begins."""
    if state.rules < OVERTAKEN:
        state.work = None
    if state.rules < OVERTAKEN or state.work is not None:
        return
    state.work = {}
    for _, job, attempt in sorted(state.live_attempts(), key=lambda row: (row[2].started, row[0])):
        _work(state, job, attempt, +1)


def apply_settings(state: State, settings: str) -> None:
    """Let usage decay by the half-life of new settings from now on. Settings that cannot be read change nothing."""
    half_life_s = _half_life_s(settings)
    if half_life_s is not None and state.now is not None:
        _used(state).change_half_life(half_life_s, state.now)


class RecentUsage(Mapping[Who, float]):
    """Each user's decayed usage of a project: a part of the capacity times hours, for the kind where that is largest.

    Values are computed when they are asked for, because a decision asks for few. Kinds that the capacity no longer has
    do not count.
    """

    def __init__(self, used: DecayedUsage, capacity: Resources, now: datetime) -> None:
        self._used, self._capacity, self._now = used, capacity, now
        self._known: dict[Who, float] = {}

    def __getitem__(self, who: Who) -> float:
        if who not in self._known:
            self._known[who] = self._part(self._used.rows["/".join(who)])
        return self._known[who]

    def __iter__(self) -> Iterator[Who]:
        for row in self._used.rows:
            project, _, user = row.partition("/")
            yield project, user

    def __len__(self) -> int:
        return len(self._used.rows)

    def _part(self, use: UserUsage) -> float:
        hours = use.hours_at(self._now, self._used.half_life_s)
        return max(
            (amount / self._capacity[kind] for kind, amount in hours.items() if self._capacity.get(kind)), default=0.0
        )


def past(state: State, capacity: Resources, now: datetime) -> RecentUsage:
    """Return the usage of all users as it counts now, including what they hold. `capacity` is the total of all tiers."""
    return RecentUsage(_used(state), capacity, now)


def lighter(state: State, job: Job, past: Mapping[Who, float]) -> list[tuple[str, float]]:
    """Return the other users with pending tasks in the job's project who used less than its user, least usage first."""
    own = past.get((job.project, job.user), 0.0)
    users = {other.user for other in map(state.jobs.__getitem__, state.pending) if other.project == job.project}
    rows = [(user, past.get((job.project, user), 0.0)) for user in users - {job.user}]
    return sorted((row for row in rows if row[1] < own), key=lambda row: (row[1], row[0]))


def _hold(state: State, job: Job, sign: int) -> None:
    assert state.now is not None
    _used(state).hold(_row(job), job.demand, sign, state.now)


def _work(state: State, job: Job, attempt: Attempt, sign: int) -> None:
    if state.work is None:
        return
    assert state.now is not None
    hold(
        state.work,
        job.project,
        job.demand,
        sign,
        rank=rank_number(CLASSES.index(job.job_class), job.priority),
        order=job.entered,
        start=attempt.started,
        now=state.now,
    )


def _row(job: Job) -> str:
    return f"{job.project}/{job.user}"


def _used(state: State) -> DecayedUsage:
    """Return the usage in the state.

    A snapshot of an older version has none. Then it is computed from the attempts in the state.
    """
    if state.used is None:
        state.used = DecayedUsage()
        settings = state.files.get("config")
        half_life_s = _half_life_s(settings.text) if settings and settings.text else None
        state.used.half_life_s = state.used.half_life_s if half_life_s is None else half_life_s
        for moment, sign, job in sorted(_attempts(state), key=lambda row: row[0]):
            state.used.hold(_row(job), job.demand, sign, moment)
    return state.used


def _attempts(state: State) -> Iterator[tuple[datetime, int, Job]]:
    for job in state.jobs.values():
        for task in job.tasks.values():
            for attempt in task.attempts:
                yield attempt.started, +1, job
                if attempt.ended:
                    yield attempt.ended, -1, job


def _half_life_s(settings: str) -> float | None:
    try:
        return parse(settings).usage_half_life
    except BastionError:
        return None
