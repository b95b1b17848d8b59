"""How long the bastion thinks: one decision over all that waits, a tick in which nothing happens, and membership."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from statistics import median
from uuid import uuid4

from bastion.model.interfaces import Bucket, Stat, StoredObject
from bastion.quota.quota_file import parse
from bastion.stores.memory import MemoryBucket
from tests.bench import jobs, stage
from tests.bench.queue import Crowd
from tests.bench.rows import Row, thought, typical

CHANGES = 5
READ_S, WRITE_S = 0.03, 0.06


class Distant:
    """A `Bucket` in front of another, as far away as the store that the incumbent was measured on."""

    def __init__(self, inner: Bucket) -> None:
        self.url = inner.url
        self._inner = inner

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        time.sleep(READ_S)
        return self._inner.read(key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        time.sleep(WRITE_S)
        return self._inner.create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        time.sleep(WRITE_S)
        return self._inner.replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        time.sleep(WRITE_S)
        return self._inner.write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        time.sleep(WRITE_S)
        self._inner.delete(keys)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        time.sleep(READ_S)
        return self._inner.list(prefix, after=after)


def rows() -> list[Row]:
    """100 projects, 1,000 users, 64 shapes."""
    decisions = [row for pending, theirs in INCUMBENT.items() for row in _decisions(pending, theirs)]
    return [*decisions, _tick(1_000), *_membership(1_000, 5_000)]


INCUMBENT = {1_000: "", 10_000: "290", 100_000: "3,600", 1_000_000: ""}


def _decisions(pending: int, incumbent: str) -> Iterator[Row]:
    """By who has just been started, and by who has seen all but what changed since the last one."""
    crowd, laps = Crowd(pending), 9 if pending <= 100_000 else 3
    cold, steady = 1_000 * thought(crowd.cold, laps // 3), 1_000 * median(crowd.steady(CHANGES) for _ in range(laps))
    goals = (1_000.0, 100.0) if pending == 100_000 else (0.0, 0.0)
    yield Row(f"a decision, {pending:,} wait, {crowd.running:,} run", cold, "ms CPU", goals[0], incumbent=incumbent)
    yield Row(f"  the next ones, {CHANGES} jobs ended and {CHANGES} came", steady, "ms CPU", goals[1])
    if pending <= 100_000:
        yield Row("  what would start the last of them, for launch why", thought(crowd.account, 1), "s CPU")


def _tick(pending: int) -> Row:
    """Nothing happens, far away from the store."""
    near = MemoryBucket(f"memory://{uuid4()}")
    bastion = stage.begin(Distant(near), jobs.CAPACITY, jobs.quota())
    jobs.fill(near, jobs.specs(pending))
    state = bastion.journal.state
    stage.run_until(bastion, lambda: len(state.jobs) == pending and next(near.list("inbox/"), None) is None)
    time.sleep(bastion.poll)
    bastion.poll_s = 0.0  # from here on every tick looks into the inbox
    steady = typical(bastion.tick, 21)
    bastion.context.tasks.close()
    what = f"one steady tick, {pending:,} jobs, {1000 * READ_S:.0f} ms a read and {1000 * WRITE_S:.0f} ms a write"
    return Row(what, steady, "s", 0.5, incumbent="77")


def _membership(patterns: int, asked: int) -> list[Row]:
    """Every job's user against its project, with patterns that were never used, and once more."""
    lines = ["[toml-schema]", 'version = "1"', "[total_resources]", "v4 = 8", "[project_membership]"]
    for project in range(100):
        own = ", ".join(f'"team{number}-[a-z]+[0-9]?"' for number in range(project, patterns, 100))
        lines.append(f"p{project} = [{own}]")
    quota = parse("\n".join(lines))
    users = [f"team{number % patterns}-{'abcde'[number % 5]}" for number in range(asked)]

    def check() -> None:
        assert all(quota.admits(user, f"p{int(user[4:-2]) % 100}") for user in users)

    first, again = thought(check, 1), thought(check)
    return [
        Row(
            f"membership, {patterns:,} patterns x {asked:,} jobs, again",
            1_000 * again,
            "ms CPU",
            50,
            incumbent="124,000",
        ),
        Row("  the first time, every user and pattern new", 1_000 * first, "ms CPU"),
    ]
