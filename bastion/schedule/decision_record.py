"""Make one decision of the schedule, in the form that the journal stores. Pure.

The bastion uses this to decide, and the replay uses it to decide again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bastion.quota.demand import Start

from ..model.codec import encode
from ..model.state.state import Job, State
from ..model.stored.events import AnyEvent, Decided, Moved, Started, Stopping
from . import plan
from .pending import PendingJobs

AGAIN = timedelta(seconds=60)
"""A job that could not be placed is tried again after this time."""

Seat = tuple[str, int]
"""The runner of an attempt, and the number of its hosts there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One answer of the schedule, ready for the journal.

    marker: the event that stands before the others; it describes the decision.
    events: the stops, then the moves, then the starts, in the order of the journal.
    again: when to ask again; None: no moment is set.
    unseated: the jobs that would start but got no runner or number of hosts, each with the error.
    """

    marker: Decided
    events: tuple[Stopping | Moved | Started, ...]
    again: datetime | None
    unseated: Mapping[str, Exception] = field(default_factory=dict)

    @property
    def complaints(self) -> list[str]:
        """List one line for each job that cannot start because it got no place."""
        return [
            f"{job} may start but cannot be placed; hold it with launch hold: {error!r}"
            for job, error in self.unseated.items()
        ]


def decided(
    state: State,
    inputs: plan.DecisionInputs,
    now: datetime,
    seat: Callable[[Job, Start], Seat],
    pending: PendingJobs | None = None,
) -> Decision:
    """Ask the schedule and return its decision.

    `seat` returns the runner and the number of hosts for a start. Any error that it raises goes to `unseated`. `pending`
    is the index of pending jobs; None: a new one is built.
    """
    answer = plan.plan(state, inputs, now, pending)
    seats, unseated = _seats(state, answer.schedule.starts, seat)
    events: tuple[Stopping | Moved | Started, ...] = (
        *plan.stops(state, answer.schedule, now),
        *plan.moves(state, answer.schedule),
        *plan.starts(state, answer.schedule, seats, now),
    )
    marker = Decided(
        events=len(events),
        digest=digest(events),
        waiting=len(state.pending),
        live=len(state.live),
        now=None if now == state.now else now,
        blind=sorted(inputs.blind),
        rules=inputs.rules,
    )
    again = min(filter(None, (answer.again, now + AGAIN if unseated else None)), default=None)
    return Decision(marker=marker, events=events, again=again, unseated=unseated)


def _seats(
    state: State, starting: Iterable[Start], seat: Callable[[Job, Start], Seat]
) -> tuple[dict[Start, Seat], dict[str, Exception]]:
    """Find the place of each start. A start that cannot be placed does not stop the others.

    The starts of an array are mostly equal, so each different one is asked about once.
    """
    seats: dict[Start, Seat] = {}
    unseated: dict[str, Exception] = {}
    for start in dict.fromkeys(starting):
        try:
            runner, hosts = seat(state.jobs[start.job], start)
            seats[start] = runner, range(1, hosts + 1)[-1]  # raises unless `hosts` is an integer of at least 1
        except Exception as error:  # any error: the runner may come from another package
            unseated[start.job] = error
    return seats, unseated


def digest(events: Iterable[AnyEvent]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of these events as they are written; empty for none."""
    lines = [encode(event) for event in events]
    return hashlib.sha256(b",\n".join(lines)).hexdigest()[:16] if lines else ""
