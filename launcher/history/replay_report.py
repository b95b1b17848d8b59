"""The replay report: how many decisions came out equal when taken again, and the first others in full. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from bastion.model.state.state import State
from bastion.model.stored.events import Started, Stopping
from bastion.schedule.replay import DecisionDifference, RepeatedDecision

from ..read.job_rows import Row, rfc3339
from .decision_basis import DecisionBasis, told

SHOWN = 3
"""Most decisions that differ and are shown."""


@dataclass(slots=True, kw_only=True)
class ReplayReport:
    """The result of a replay. Mutable.

    version: version of this program.
    every: describe every decision in full, also equal ones.
    decisions: decisions that this version took.
    equal: those of them that came out equal.
    others: decisions of other versions, which may differ.
    others_equal: those of them that came out equal.
    starts: starts in all recorded answers.
    stops: stops in all recorded answers; a move to another tier is none.
    first: time of the first decision; None: there was none.
    last: time of the last decision; None: there was none.
    told: decisions described in full.
    """

    version: str
    every: bool = False
    decisions: int = 0
    equal: int = 0
    others: int = 0
    others_equal: int = 0
    starts: int = 0
    stops: int = 0
    first: datetime | None = None
    last: datetime | None = None
    told: list[DecisionBasis] = field(default_factory=list)

    def take(self, each: RepeatedDecision, state: State) -> None:
        """Count a decision, and describe it if it is to be shown. `state` is the one on which it was taken."""
        same = each.difference is DecisionDifference.NONE
        self.first, self.last = self.first or each.now, each.now
        self.starts += sum(isinstance(event, Started) for event in each.written)
        self.stops += sum(isinstance(event, Stopping) for event in each.written)
        if each.version == self.version:
            self.decisions += 1
            self.equal += same
        else:
            self.others += 1
            self.others_equal += same
        if self.every or (not same and len(self.told) < SHOWN):
            self.told.append(told(each, state))

    @property
    def proven(self) -> bool:
        """True if each decision of this version came out equal."""
        return self.equal == self.decisions

    def row(self) -> Row:
        """Return the report for scripts."""
        return {
            "version": self.version,
            "decisions": self.decisions,
            "equal": self.equal,
            "different": self.decisions - self.equal,
            "others": {"decisions": self.others, "equal": self.others_equal},
            "starts": self.starts,
            "stops": self.stops,
            "first": rfc3339(self.first),
            "last": rfc3339(self.last),
            "told": [one.row for one in self.told],
        }

    def lines(self) -> Iterator[str]:
        """Yield the report for people."""
        for number, one in enumerate(self.told):
            yield from one.lines if not number else ("", *one.lines)
        if self.every:
            return
        yield from [""] * bool(self.told)
        if self.first is None:
            yield "no decision is recorded in this window; older versions did not record them"
            return
        number, window = self.decisions + self.others, f"{rfc3339(self.first)} to {rfc3339(self.last)}"
        yield f"{number} decision{'s' * (number != 1)} of {window}: {self.starts} starts, {self.stops} stops"
        yield f"{self.equal} of {self.decisions} are equal, bit for bit"
        if self.others:
            who = f"{self.others} were taken by another version than {self.version}, which may decide otherwise"
            yield f"{who}: {self.others_equal} of them are equal"
