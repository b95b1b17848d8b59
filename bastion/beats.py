"""Signs of life: a worker whose beat stands still for too long counts as lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bastion.observe import Silent
from bastion.ports import AttemptKey
from bastion.records import BEAT_S

BEATS_MISSED = 3
MANY = 4

WorkerKey = tuple[AttemptKey, int]


@dataclass(slots=True)
class _Beat:
    version: str
    since: float
    lists: int


class Watch:
    """Compares listings of beats on the observer's own clock; ages in objects are never trusted."""

    def __init__(self) -> None:
        self._beats: dict[WorkerKey, _Beat] = {}

    def judge(self, live: Iterable[WorkerKey], listed: Mapping[WorkerKey, str], at: float) -> list[Silent]:
        """Who counts as lost, after a good listing taken at monotonic time `at`.

        Silent workers are lost after three missed beats and three good listings; but if many, and most of all, are
        silent at once, then it is the store or ourselves, and nobody is.
        """
        kept: dict[WorkerKey, _Beat] = {}
        for key in live:
            version, beat = listed.get(key, ""), self._beats.get(key)
            if beat is None or beat.version != version:
                kept[key] = _Beat(version, at, 1)
            else:
                beat.lists += 1
                kept[key] = beat
        self._beats = kept
        silent = [
            key for key, beat in kept.items() if at - beat.since > BEATS_MISSED * BEAT_S and beat.lists >= BEATS_MISSED
        ]
        if len(silent) >= MANY and 2 * len(silent) > len(kept):
            return []
        return [Silent(key, worker, at - kept[key, worker].since) for key, worker in silent]
