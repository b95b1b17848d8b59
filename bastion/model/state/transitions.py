"""Which state may follow which, and what uses up a try: the tables that the fold holds every event to. Pure."""

from __future__ import annotations

from .state import ENDED, AttemptState, Cause, JobState

S = JobState
A = AttemptState

MOVES: dict[JobState, frozenset[JobState]] = {
    S.PENDING: frozenset({S.PROVISIONING, S.CANCELLED, S.TIMEOUT, S.FAILED}),
    S.PROVISIONING: frozenset({S.RUNNING, S.PREEMPTING, S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.RUNNING: frozenset({S.PREEMPTING, S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.PREEMPTING: frozenset({S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.CANCELLING: frozenset(ENDED - {S.REJECTED}),
    **{state: frozenset() for state in ENDED},
}
"""Which state of a task may follow which. The fold refuses anything else."""

ATTEMPT_MOVES: dict[AttemptState, frozenset[AttemptState]] = {
    A.STARTING: frozenset({A.RUNNING, A.STOPPING, A.ENDED}),
    A.RUNNING: frozenset({A.STOPPING, A.ENDED}),
    A.STOPPING: frozenset({A.ENDED}),
    A.ENDED: frozenset(),
}

FAILURES = frozenset({Cause.CODE, Cause.SIGNAL, Cause.OOM, Cause.SETUP, Cause.STRAGGLED})
"""The causes that use up one of the user's tries; infrastructure never does."""
