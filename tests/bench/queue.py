"""A state in which very many jobs wait and many run, to decide about."""

from __future__ import annotations

import time
from collections import deque
from datetime import UTC, datetime, timedelta
from functools import cache
from random import Random

from bastion.journal.fold import apply
from bastion.launcher.explain.start_estimate import outlook
from bastion.launcher.explain.what_if_decision import WhatIfDecisions
from bastion.launcher.explain.what_if_state import WhatIfCase
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import JobSpec
from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import AnyEvent, CapacityChanged, Claimed, Exited, Gone, Submitted
from bastion.quota.quota_file import parse
from bastion.schedule.decision_record import decided
from bastion.schedule.lifecycle import settle_one
from bastion.schedule.pending import PendingJobs
from bastion.schedule.plan import DecisionInputs, plan
from tests.bench import jobs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT_ONCE = 1_000
UNITS_A_JOB = {"v4": 7, "v5": 7, "h100": 7, "cpu": 14}
"""A fleet that has so much for every tenth job: of 100,000 that wait about 10,000 run."""


class Crowd:
    """`pending` jobs wait, and some run, on a fleet that is full."""

    def __init__(self, pending: int) -> None:
        capacity = {kind: units * pending // 10 for kind, units in UNITS_A_JOB.items()}
        self._inputs = DecisionInputs(quota=parse(jobs.quota(capacity)), config=Config())
        self._state, self._pending, self._rng = State(now=NOW), PendingJobs(), Random(1)
        self._number = self._index = 0
        self._live: deque[tuple[str, int]] = deque()
        self._now = NOW
        self._add(CapacityChanged(runner="local", resources=capacity))
        while len(self._state.pending) < pending:
            self._submit(pending - len(self._state.pending))
            self._decide()

    @property
    def running(self) -> int:
        """So many jobs run."""
        return len(self._state.live)

    def cold(self) -> None:
        """A decision by who knows nothing yet."""
        plan(self._state, self._inputs, self._now)

    def account(self) -> int:
        """What would start the job that came last, as `launch why` tells it: so many decisions were taken."""
        case = WhatIfCase(state=self._state, inputs=self._inputs, now=self._now)
        job = self._state.jobs[next(reversed(self._state.pending))]
        asked = WhatIfDecisions.about(job, self._state)
        return outlook(case, job, asked.plan(case), asked).decisions

    def steady(self, changes: int) -> float:
        """The seconds of the processor that a decision takes after so many ends and submissions."""
        self._now += timedelta(seconds=1)
        self._state.now = self._now
        self._state.seq, self._index = self._state.seq + 1, 0
        for _ in range(changes):
            self._end(*self._live.popleft())
        self._submit(changes)
        return self._decide()

    def _decide(self) -> float:
        began = time.process_time()
        answer = decided(self._state, self._inputs, self._now, lambda _job, _start: ("local", 1), self._pending)
        taken = time.process_time() - began
        for event in answer.events:
            self._add(event)
            self._add(Claimed(job=event.job, task=event.task, attempt=event.attempt, worker=0, machine="m"))
            self._live.append((event.job, event.task))
        return taken

    def _end(self, job_id: str, task: int) -> None:
        job = self._state.jobs[job_id]
        attempt = job.tasks[task].attempts[-1]
        self._add(Exited(job=job_id, task=task, attempt=attempt.number, worker=0, cause=Cause.OK, exit_code=0))
        self._add(Gone(job=job_id, task=task, attempt=attempt.number, worker=0))
        key = AttemptKey(job_id, task, attempt.number)
        for event in settle_one(self._state, key, job, attempt, self._now):
            self._add(event)

    def _submit(self, count: int) -> None:
        for _ in range(count):
            self._number += 1
            user = self._rng.randrange(jobs.USERS)
            spec = _spec(user, self._rng.randrange(jobs.SHAPES), self._rng.randint(1, 5))
            name = f"job-{self._number}"
            self._add(Submitted(request=name, job=name, spec=spec))

    def _add(self, event: AnyEvent) -> None:
        if self._index == AT_ONCE:
            self._state.seq, self._index = self._state.seq + 1, 0
        apply(self._state, event, self._state.seq, self._index)
        self._pending.note(self._state, event)
        self._index += 1


@cache
def _spec(user: int, shape: int, priority: int) -> JobSpec:
    return JobSpec(
        name="job",
        user=f"u{user}",
        project=f"p{user % jobs.PROJECTS}",
        command=["train"],
        resources=jobs.shape(shape),
        priority=priority,
    )
