"""Find workers that count as lost, because their heartbeat has not changed for too long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model.interfaces import AttemptKey
from ..model.state.state import State
from ..model.stored.records import BEAT_S
from .observations import SilentWorker

BEATS_MISSED = 3
"""The missed heartbeats, seen in as many listings, after which a worker is lost."""
MANY = 4
"""The number of silent workers that, if they are most of all, point to the store or to the bastion itself."""
DOUBT_MAX_S = 300.0
"""The longest patience with workers after a silence that was not theirs."""
FROZEN_MAX_S = 3600.0
"""Seconds for which most workers may be silent at once before they are lost: an hour's outage costs no job anything."""

_LOST_S = BEATS_MISSED * BEAT_S

WorkerKey = tuple[AttemptKey, int]


def at_work(state: State) -> list[WorkerKey]:
    """List the workers whose process runs, as far as is known: these should send heartbeats."""
    return [
        (key, i)
        for key, _, attempt in state.live_attempts()
        for i, worker in enumerate(attempt.workers)
        if worker.seen and not worker.over and worker.cause is None
    ]


@dataclass(slots=True)
class _Beat:
    version: str
    since: float
    lists: int
    patience: float


class Liveness:
    """A comparison of heartbeat listings by the observer's own clock. Times that objects claim are never trusted."""

    def __init__(self) -> None:
        self._beats: dict[WorkerKey, _Beat] = {}
        self._patience = _LOST_S
        self._at = float("inf")
        self._frozen = False

    def doubt(self, seconds: float) -> None:
        """Begin anew after a time in which no heartbeat could be read, or none could be written.

        All workers get as much time again before they count as lost, at most five minutes: their networks do not come
        back at the same moment as ours.
        """
        self._beats = {}
        self._patience = _as_long_again(seconds)

    def judge(self, live: Iterable[WorkerKey], listed: Mapping[WorkerKey, str], at: float) -> list[SilentWorker]:
        """Return the workers that count as lost, after a good listing taken at monotonic time `at`.

        A silent worker is lost after three missed heartbeats and three good listings. But if many workers, and most of
        all, are silent at once, the cause is the store or the bastion: then only those are lost that have been silent
        for an hour in which the bastion itself read and wrote. When this ends, workers that are still silent get new
        time. A gap between two listings counts as a `doubt`.

        This frees no machine: it stops the attempt, and the runner says when each machine is gone. The reconciler asks
        the runner in each turn about a machine that is not listed, and a machine that is gone counts as lost, no matter
        who is silent.
        """
        if at - self._at > _LOST_S:
            self.doubt(at - self._at)
        self._at = at
        kept: dict[WorkerKey, _Beat] = {}
        for key in live:
            version, beat = listed.get(key, ""), self._beats.get(key)
            if beat is None or beat.version != version:
                kept[key] = _Beat(version, at, 1, self._patience if beat is None else _LOST_S)
            else:
                beat.lists += 1
                kept[key] = beat
        self._beats, self._patience = kept, _LOST_S
        silent = [key for key, beat in kept.items() if at - beat.since > beat.patience and beat.lists >= BEATS_MISSED]
        was_frozen, self._frozen = self._frozen, len(silent) >= MANY and 2 * len(silent) > len(kept)
        if self._frozen:
            silent = [key for key in silent if at - kept[key].since > FROZEN_MAX_S]
        elif was_frozen:
            for key in silent:
                kept[key] = _Beat(kept[key].version, at, 1, _as_long_again(at - kept[key].since))
            silent = []
        return [SilentWorker(key, worker, at - kept[key, worker].since) for key, worker in silent]


def _as_long_again(seconds: float) -> float:
    """Return the seconds to be patient after a silence that was not the workers' own."""
    return min(max(seconds, _LOST_S), DOUBT_MAX_S)
