"""Telling the workers of a task that somebody follows it: one word for all who follow, however many they are."""

from __future__ import annotations

from math import inf

from bastion.model import layout
from bastion.model.interfaces import Bucket, Clock, Stat

WATCH_S = 30.0
"""Between two words. Workers flush fast for twice as long after each."""


class FollowerNotice:
    """Renews the word when it is `WATCH_S` old, unless another follower was faster: then that one's counts.

    How old another's word is, the store's clock and ours say together. If ours is wrong, that costs one word too many
    when we come, or makes our first one late by `WATCH_S`.
    """

    def __init__(self, bucket: Bucket, clock: Clock, job: str, task: int) -> None:
        self._bucket, self._clock = bucket, clock
        self._key = layout.watch(job, task)
        self._looked = self._due = -inf
        self._seen: tuple[str, float] | None = None

    def renew(self) -> None:
        """To be called at every turn: looks when a renewal may be due, and writes if it is. Raises `BucketError`."""
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
        mine = replace(self._key, self._word(), stat.version) if stat else create(self._key, self._word())
        if mine is not None:
            self._seen = mine, now

    def _age(self, stat: Stat, now: float) -> float:
        """Seconds since the word was written. One that is new to us cannot be older than our last look: our time of day
        is wrong if it says so, and then the word counts as written now.
        """
        version, written = self._seen or ("", -inf)
        if version != stat.version:
            told = max(0.0, (self._clock.wall() - stat.modified).total_seconds())
            written = now - told if told <= now - self._looked else now
            self._seen = stat.version, written
        return now - written

    def _word(self) -> bytes:
        """No two are equal: some stores name a version by its content."""
        return self._clock.wall().isoformat().encode()
