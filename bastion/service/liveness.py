"""Signs of life: a worker whose beat stands still for too long counts as lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model.interfaces import AttemptKey
from ..model.state.state import State
from ..model.stored.records import BEAT_S
from .observations import Silent

BEATS_MISSED = 3
MANY = 4
DOUBT_MAX_S = 300.0
FROZEN_MAX_S = 3600.0
"""So long most workers may be silent at once before it is held against them: an hour's outage costs no job anything."""

_LOST_S = BEATS_MISSED * BEAT_S

WorkerKey = tuple[AttemptKey, int]


def at_work(state: State) -> list[WorkerKey]:
    """The workers whose process runs, as far as is known: they ought to beat."""
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
    """Compares listings of beats on the observer's own clock; ages in objects are never trusted."""

    def __init__(self) -> None:
        self._beats: dict[WorkerKey, _Beat] = {}
        self._patience = _LOST_S
        self._at = float("inf")
        self._frozen = False

    def doubt(self, seconds: float) -> None:
        """For so long nothing was heard, or nothing could have been: listen anew, and be patient with all for as long again,
        at most for five minutes. The networks of workers do not come back at the same moment as ours.
        """
        self._beats = {}
        self._patience = _as_long_again(seconds)

    def judge(self, live: Iterable[WorkerKey], listed: Mapping[WorkerKey, str], at: float) -> list[Silent]:
        """Who counts as lost, after a good listing taken at monotonic time `at`.

        Silent workers are lost after three missed beats and three good listings; but if many, and most of all, are
        silent at once, then it is the store or ourselves, and nobody is but who has been silent for an hour, in which we read
        and wrote ourselves. When that ends, those who are silent still are listened to anew. A gap between two listings is as
        good as a doubt.

        Nothing is free by this verdict: it stops the attempt, and the runner says of each machine when it is gone. Of a machine
        that is not listed it is asked at each turn, and whoever is gone is lost, whatever is silent.
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
        return [Silent(key, worker, at - kept[key, worker].since) for key, worker in silent]


def _as_long_again(seconds: float) -> float:
    """How long to be patient after a silence that was not theirs."""
    return min(max(seconds, _LOST_S), DOUBT_MAX_S)
