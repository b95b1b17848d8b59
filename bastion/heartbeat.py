"""Beats and facts of all workers: two listings a heartbeat, and a read for each fact that changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bastion import layout
from bastion.at_once import Map
from bastion.beats import WorkerKey
from bastion.desired import Desired
from bastion.errors import BucketError, Newer
from bastion.observe import FactsRead
from bastion.ports import Bucket, Clock
from bastion.reconcile import read_facts


@dataclass(frozen=True, slots=True)
class Heard:
    """What a good pair of listings showed, begun at monotonic time `at`: beats by version, facts, and all keys."""

    at: float
    beats: dict[WorkerKey, str]
    facts: list[FactsRead]
    keys: dict[str, WorkerKey]


class Ear:
    """Listens to all workers; remembers the versions of facts that it has read."""

    def __init__(self, bucket: Bucket, clock: Clock, rows: Callable[[], tuple[Desired, ...]], at_once: Map) -> None:
        self._bucket, self._clock, self._rows, self._at_once = bucket, clock, rows, at_once
        self._read: dict[WorkerKey, str] = {}

    def listen(self) -> Heard:
        """One heartbeat's listings. Raises `BucketError`: a listing that failed says nothing about anybody."""
        at = self._clock.monotonic()
        beats = self._list(layout.BEATS)
        facts = self._list(layout.FACTS)
        live = {row.key: row for row in self._rows()}
        self._read = {named: version for named, version in self._read.items() if named in facts}
        news = [
            named
            for named, version in facts.items()
            if named[0] in live and named[1] < len(live[named[0]].posts) and self._read.get(named) != version
        ]
        read = [seen for seen in self._at_once(self._facts, news) if seen is not None]
        self._read |= {(seen.key, seen.worker): facts[seen.key, seen.worker] for seen in read}
        keys = {layout.beat(*named): named for named in beats} | {layout.facts(*named): named for named in facts}
        return Heard(at, beats, read, keys)

    def _facts(self, named: WorkerKey) -> FactsRead | None:
        """Facts that are new; None if they cannot be known now: they are asked for again at the next heartbeat."""
        try:
            return FactsRead(*named, read_facts(self._bucket, *named))
        except (BucketError, Newer):
            return None

    def _list(self, prefix: str) -> dict[WorkerKey, str]:
        return {named: stat.version for stat in self._bucket.list(prefix) if (named := layout.worker_of(stat.key))}
