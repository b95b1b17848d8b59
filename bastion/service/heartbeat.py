"""Read the heartbeats and facts of all workers: two listings each time, and a read for each fact that changed."""

from __future__ import annotations

from collections.abc import Callable

from ..model import layout
from ..model.errors import BucketError, NewerVersion
from ..model.interfaces import Bucket, Clock, Map
from ..schedule.desired import Desired
from .liveness import WorkerKey
from .observations import FactsRead
from .reconcile import read_facts
from .task_results import BeatsRead


class BeatReader:
    """The reader of all workers' heartbeats. It remembers which versions of facts it has read."""

    def __init__(self, bucket: Bucket, clock: Clock, rows: Callable[[], tuple[Desired, ...]], at_once: Map) -> None:
        self._bucket, self._clock, self._rows, self._at_once = bucket, clock, rows, at_once
        self._read: dict[WorkerKey, str] = {}

    def listen(self) -> BeatsRead:
        """Make the listings of one heartbeat. Raises `BucketError`: a failed listing says nothing about any worker."""
        at = self._clock.monotonic()
        beats = self._list(layout.BEATS)
        facts = self._list(layout.FACTS)
        self._read = {named: version for named, version in self._read.items() if named in facts}
        machines = {(row.key, i): post.machine for row in self._rows() for i, post in enumerate(row.posts)}
        # Skip workers without a known claim: it is not clear yet whether facts in their name are their own.
        news = [named for named, v in facts.items() if machines.get(named) and self._read.get(named) != v]
        read = [seen for seen in self._at_once(self._facts, news) if seen is not None]
        other = [seen for seen in read if seen.facts and seen.facts.machine != machines[seen.key, seen.worker]]
        read = [seen for seen in read if seen not in other]
        self._read |= {(seen.key, seen.worker): facts[seen.key, seen.worker] for seen in read}
        keys = {layout.beat(*named): named for named in beats} | {layout.facts(*named): named for named in facts}
        return BeatsRead(at, beats, read, keys, [_refusal(seen, machines[seen.key, seen.worker]) for seen in other])

    def _facts(self, named: WorkerKey) -> FactsRead | None:
        """Read new facts. Return None if that is not possible now: the next heartbeat asks again."""
        try:
            return FactsRead(*named, read_facts(self._bucket, *named))
        except (BucketError, NewerVersion):
            return None

    def _list(self, prefix: str) -> dict[WorkerKey, str]:
        return {named: stat.version for stat in self._bucket.list(prefix) if (named := layout.worker_of(stat.key))}


def _refusal(seen: FactsRead, machine: str) -> str:
    assert seen.facts is not None
    name = layout.facts(seen.key, seen.worker)
    return f"{name} is not used: it names the machine {seen.facts.machine[:200]!r}, but its worker is on {machine!r}"
