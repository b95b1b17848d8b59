"""What workers say of their checkpoints, against what the journal foresees: only what it does not is told. Pure but for itself.

A job that saves every ten minutes is told twice and never again: when it first did, and how often it does. It is told
anew when a checkpoint comes clearly earlier or later than foreseen, or does not come: three times, and then once in two
hours (`CALM`), for there may be no rhythm. After a missing one the next is told. So an attempt has two events if it is
regular, and never more than 8 and 24 a day.
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
"""Between two comparisons; also how late the facts of a checkpoint may be."""

SLACK_S = 60.0
"""By how much a checkpoint may miss its time, or a quarter of their interval if that is more."""

BREAKS = 3
"""How often in a row it is told at once that the rhythm of an attempt is another."""

CALM = timedelta(hours=2)
"""After that it is told once in so long."""

SMOOTHING = 4
"""The interval is an average in which the newest one counts a quarter: pauses and jitter level out."""


@dataclass(slots=True)
class _Heard:
    """Of one attempt: its workers' last checkpoints, as told and by our clock; the oldest of these; how often it moves.

    `breaks` says of how many breaks of its rhythm it was told of late; one in `CALM` is forgotten, from `since` on.
    """

    workers: dict[int, tuple[datetime, datetime]] = field(default_factory=dict)
    at: datetime | None = None
    every_s: float | None = None
    breaks: float = 0.0
    since: datetime | None = None

    def may_break(self, now: datetime) -> bool:
        """Take note of a break of its rhythm. False if there were too many of late."""
        forgotten = (now - (self.since or now)) / CALM
        self.breaks, self.since = max(0.0, self.breaks - forgotten), now
        if self.breaks > BREAKS - 1:
            return False
        self.breaks += 1
        return True


class Checkpoints:
    """Remembers what was heard of the attempts that run. Forgetting all of it, as a restart does, costs an event each."""

    def __init__(self) -> None:
        self._heard: dict[AttemptKey, _Heard] = {}
        self._looked: datetime | None = None

    def news(self, state: State, facts: Iterable[FactsRead], now: datetime) -> list[Saved]:
        """Take in these facts. What the journal has to be told, once a minute."""
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
    """Whole seconds, for nobody needs more. A worker's clock may be anything: not before its attempt, and not after now."""
    return min(max(said.replace(microsecond=0), attempt.started), now)


def _judge(key: AttemptKey, attempt: Attempt, heard: _Heard, now: datetime) -> Saved | None:
    """What is to be told of an attempt, if anything."""
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
    """Whether a checkpoint that was foreseen is missing, and whether the newest came at another time than any of these.

    `came_s` is the newest one and `now_s` is now, both in seconds since the one that the others were foreseen from.
    """
    slack_s = max(SLACK_S, every_s / 4)
    due_s = (now_s - LOOK.total_seconds() - slack_s) // every_s * every_s
    off_s = abs(came_s - max(0, round(came_s / every_s)) * every_s)
    return came_s < max(0.0, due_s) - slack_s, off_s > slack_s
