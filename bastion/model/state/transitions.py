"""The state transitions that the fold allows, and the causes that use up a try. Pure."""

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
"""The states of a task that may follow each state. The fold refuses all other transitions."""

ATTEMPT_MOVES: dict[AttemptState, frozenset[AttemptState]] = {
    A.STARTING: frozenset({A.RUNNING, A.STOPPING, A.ENDED}),
    A.RUNNING: frozenset({A.STOPPING, A.ENDED}),
    A.STOPPING: frozenset({A.ENDED}),
    A.ENDED: frozenset(),
}
"""The states of an attempt that may follow each state."""

FAILURES = frozenset({Cause.CODE, Cause.SIGNAL, Cause.OOM, Cause.SETUP, Cause.STRAGGLED})
"""The causes that use up one of the user's tries. Failures of infrastructure never do."""
