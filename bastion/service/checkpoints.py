"""Report checkpoints of workers to the journal, but only those that it does not foresee. Pure but for itself.

A job that saves every ten minutes causes two events and no more: one for its first checkpoint, and one for its
interval. A new event follows when a checkpoint comes clearly earlier or later than foreseen, or is missing: three times
at once, and then once in two hours (`CALM`), for there may be no rhythm. After a missing one the next is reported, too.
So an attempt has two events if it is regular, and otherwise never more than 8, and 24 more a day.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..model.interfaces import AttemptKey
from ..model.state.state import Attempt, AttemptState, State
from ..model.stored.events import Saved
from .observations import FactsRead

LOOK = timedelta(seconds=60)
"""Time between two comparisons; the facts of a checkpoint may also be late by this much."""

SLACK_S = 60.0
"""Seconds by which a checkpoint may miss its time; or a quarter of the interval, if that is more."""

BREAKS = 3
"""The number of changes in an attempt's rhythm that are reported at once."""

CALM = timedelta(hours=2)
"""Time between two reports of further changes."""

SMOOTHING = 4
"""The interval is an average in which the newest one counts a quarter. This levels out pauses and jitter."""


@dataclass(slots=True)
class _Heard:
    """The checkpoints of one attempt.

    workers: each worker's last checkpoint: its time as reported, and by our clock.
    at: the oldest of these, by our clock.
    every_s: smoothed seconds between two checkpoints; None: not known yet.
    breaks: changes of its rhythm that were reported lately; one is forgotten in each `CALM`.
    since: when `breaks` was last brought up to date.
    """

    workers: dict[int, tuple[datetime, datetime]] = field(default_factory=dict)
    at: datetime | None = None
    every_s: float | None = None
    breaks: float = 0.0
    since: datetime | None = None

    def may_break(self, now: datetime) -> bool:
        """Count a change of its rhythm. Return False if there were too many lately."""
        forgotten = (now - (self.since or now)) / CALM
        self.breaks, self.since = max(0.0, self.breaks - forgotten), now
        if self.breaks > BREAKS - 1:
            return False
        self.breaks += 1
        return True


class Checkpoints:
    """The checkpoints of live attempts. A restart forgets them, which costs one event for each attempt."""

    def __init__(self) -> None:
        self._heard: dict[AttemptKey, _Heard] = {}
        self._looked: datetime | None = None

    def news(self, state: State, facts: Iterable[FactsRead], now: datetime) -> list[Saved]:
        """Take in these facts. Once a minute, return the events that the journal needs."""
        for seen in facts:
            self._hear(state, seen, now)
        if self._looked and now - self._looked < LOOK:
            return []
        self._looked = now
        live = [(key, heard, attempt) for key, heard in self._heard.items() if (attempt := _live(state, key))]
        self._heard = {key: heard for key, heard, _ in live}
        running = (row for row in live if row[2].state is AttemptState.RUNNING)
        return [saved for key, heard, attempt in running if (saved := _judge(key, attempt, heard, now))]

    def _hear(self, state: State, seen: FactsRead, now: datetime) -> None:
        attempt = _live(state, seen.key)
        said = seen.facts.checkpoint_at if seen.facts else None
        if attempt is None or said is None:
            return
        heard = self._heard.setdefault(seen.key, _Heard(every_s=attempt.every_s))
        if seen.worker in heard.workers and heard.workers[seen.worker][0] == said:
            return
        heard.workers[seen.worker] = said, _by_our_clock(said, attempt, now)
        oldest = min(at for _, at in heard.workers.values())
        if heard.at and oldest > heard.at:
            interval_s = (oldest - heard.at).total_seconds()
            before_s = heard.every_s or interval_s
            heard.every_s = before_s + (interval_s - before_s) / SMOOTHING
        heard.at = oldest


def _live(state: State, key: AttemptKey) -> Attempt | None:
    attempt = state.attempt(key)
    return attempt if attempt and attempt.state is not AttemptState.ENDED else None


def _by_our_clock(said: datetime, attempt: Attempt, now: datetime) -> datetime:
    """Return the time in whole seconds, not before the attempt and not after now: a worker's clock may be wrong."""
    return min(max(said.replace(microsecond=0), attempt.started), now)


def _judge(key: AttemptKey, attempt: Attempt, heard: _Heard, now: datetime) -> Saved | None:
    """Return the event that the journal needs for an attempt, if any."""
    assert heard.at is not None
    every_s = max(1.0, round(heard.every_s, 1)) if heard.every_s else None
    if attempt.saved is not None:
        came_s = (heard.at - attempt.saved).total_seconds()
        if attempt.every_s is None:
            if abs(came_s) <= SLACK_S:
                return None
        else:
            is_missing, is_off = _broken(came_s, (now - attempt.saved).total_seconds(), attempt.every_s)
            if not (is_missing or is_off) or not heard.may_break(now):
                return None
            every_s = None if is_missing else every_s
    return Saved(job=key.job, task=key.task, attempt=key.attempt, at=heard.at, every_s=every_s)


def _broken(came_s: float, now_s: float, every_s: float) -> tuple[bool, bool]:
    """Return whether a foreseen checkpoint is missing, and whether the newest one came at a time that was not foreseen.

    `came_s` is the time of the newest one and `now_s` is now, both in seconds after the checkpoint that the others are
    foreseen from.
    """
    slack_s = max(SLACK_S, every_s / 4)
    due_s = (now_s - LOOK.total_seconds() - slack_s) // every_s * every_s
    off_s = abs(came_s - max(0, round(came_s / every_s)) * every_s)
    return came_s < max(0.0, due_s) - slack_s, off_s > slack_s
