"""Notify the workers of a task that its log is followed. All followers of a task share one notice."""

from __future__ import annotations

from math import inf

from bastion.model import layout
from bastion.model.interfaces import Bucket, Clock, Stat

WATCH_S = 30.0
"""Seconds between two notices. Workers upload fast for twice as long after each."""


class FollowerNotice:
    """A notice that is renewed when it is `WATCH_S` old, unless another follower renewed it earlier. Mutable.

    The age of another follower's notice comes from the store's clock and ours. If ours is wrong, we write one notice
    too many at the start, or our first one comes `WATCH_S` late.
    """

    def __init__(self, bucket: Bucket, clock: Clock, job: str, task: int) -> None:
        self._bucket, self._clock = bucket, clock
        self._key = layout.watch(job, task)
        self._looked = self._due = -inf
        self._seen: tuple[str, float] | None = None

    def renew(self) -> None:
        """Write the notice if it is due. To be called at every turn. Raises `BucketError`."""
        now = self._clock.monotonic()
        if now < self._due:
            return
        self._due = now + WATCH_S
        stat = next((stat for stat in self._bucket.list(self._key) if stat.key == self._key), None)
        age = WATCH_S if stat is None else self._age(stat, now)
        self._looked = now
        if age < WATCH_S:
            self._due = now + WATCH_S - age
            return
        create, replace = self._bucket.create, self._bucket.replace
        # If another follower was faster, the write is refused, and its notice serves as ours.
        mine = replace(self._key, self._word(), stat.version) if stat else create(self._key, self._word())
        if mine is not None:
            self._seen = mine, now

    def _age(self, stat: Stat, now: float) -> float:
        """Return the seconds since the notice was written.

        A version that is new to us was written after our last look. If our wall clock says otherwise, it is wrong, and
        the notice counts as written now.
        """
        version, written = self._seen or ("", -inf)
        if version != stat.version:
            told = max(0.0, (self._clock.wall() - stat.modified).total_seconds())
            written = now - told if told <= now - self._looked else now
            self._seen = stat.version, written
        return now - written

    def _word(self) -> bytes:
        """Return the content of a notice. No two are equal, as some stores derive the version from the content."""
        return self._clock.wall().isoformat().encode()
