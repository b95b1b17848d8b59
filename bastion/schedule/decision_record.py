"""One decision of the schedule, as the journal tells it: by who decides, and by who replays what was decided. Pure."""

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
"""When a job is looked at again that could not be placed."""

Seat = tuple[str, int]
"""The runner that an attempt goes to, and of how many hosts it consists there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The stops, moves and starts, in the order of the journal; the marker that stands before them; when to ask again.

    `unseated` are the jobs that would start, were it known on which runner and of how many hosts; and what went wrong.
    """

    marker: Decided
    events: tuple[Stopping | Moved | Started, ...]
    again: datetime | None
    unseated: Mapping[str, Exception] = field(default_factory=dict)

    @property
    def complaints(self) -> list[str]:
        """A line for each job that cannot start for that."""
        return [
            f"{job} would start, and cannot be placed; launch hold it: {error!r}"
            for job, error in self.unseated.items()
        ]


def decided(
    state: State,
    inputs: plan.Inputs,
    now: datetime,
    seat: Callable[[Job, Start], Seat],
    lineup: PendingJobs | None = None,
) -> Decision:
    """Ask the schedule. `seat` says where a start of a job goes; it raises what keeps it from saying so."""
    answer = plan.plan(state, inputs, now, lineup)
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
    """Where each start goes; one of which that cannot be said is in no other's way. Those of an array are mostly equal."""
    seats: dict[Start, Seat] = {}
    unseated: dict[str, Exception] = {}
    for start in dict.fromkeys(starting):
        try:
            runner, hosts = seat(state.jobs[start.job], start)
            seats[start] = runner, range(1, hosts + 1)[-1]  # a number, and one at the least
        except Exception as error:  # whatever it is: the runner may be somebody else's code
            unseated[start.job] = error
    return seats, unseated


def digest(events: Iterable[AnyEvent]) -> str:
    """The first 16 digits of the SHA-256 of these events as they are written; empty for none."""
    lines = [encode(event) for event in events]
    return hashlib.sha256(b",\n".join(lines)).hexdigest()[:16] if lines else ""
