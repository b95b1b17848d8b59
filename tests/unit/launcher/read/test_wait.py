"""Waiting ends with the job, outlives a silent store, and says what changes."""

from __future__ import annotations

import pytest

from bastion.launcher.read.job_lookup import find
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.wait_for_end import EndWaiter, wait
from bastion.model.errors import AccessDenied, BucketError
from bastion.model.interfaces import StoredObject
from bastion.model.state.state import Cause, JobState
from bastion.stores.memory import MemoryBucket
from tests.support.world import World


def waited(
    world: World, *, timeout_s: float | None = None, reader: BastionReader | None = None
) -> tuple[int, list[str]]:
    """The exit code, and what was said."""
    notes: list[str] = []
    found = find("j", world.look())
    waiter = EndWaiter(reader or world.reader(), world.clock, found, notes.append)
    return wait(waiter, world.clock, found, timeout_s=timeout_s), notes


def test_the_wait_ends_with_the_job_and_tells_its_states() -> None:
    world = World()
    world.asked()
    job = "j-rrrrrrrr"
    world.clock.script = [
        lambda: world.submitted(),
        lambda: world.runs(job),
        lambda: None,
        lambda: world.ends(world.journal.state.live_attempts()[0][0], Cause.CODE, JobState.FAILED, code=3, reason="exit code 3"),
    ]  # fmt: skip

    code, notes = waited(world)

    assert code == 3
    assert notes[0] == "j is PENDING: the scheduler has not picked it up yet (never active)"
    assert notes[-2:] == ["j is RUNNING", "j is FAILED: exit code 3"]


def test_a_timeout_leaves_the_job_alone() -> None:
    world = World()
    world.asked()

    assert waited(world, timeout_s=10)[0] == 101
    assert 10 <= world.clock.now < 11


def test_a_long_wait_says_the_same_only_now_and_then() -> None:
    world = World()
    world.asked()
    world.ticks()

    _, notes = waited(world, timeout_s=100)

    assert 5 <= len(notes) <= 8, "the age in the reason changes at every look"


class Away(MemoryBucket):
    """A store that answers nothing for a while."""

    times = 20

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """The object, or the fault."""
        if self.times:
            self.times -= 1
            raise BucketError("the store is away")
        return super().read(key, limit)


class Forbidden(MemoryBucket):
    """A store that this user may not read any more."""

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """No object, ever."""
        raise AccessDenied("permission denied; ask for the right to read")


def test_who_may_not_read_is_told_at_once_and_does_not_wait_without_end() -> None:
    world = World()
    world.runs(world.submitted())

    with pytest.raises(AccessDenied, match="ask for the right to read"):
        waited(world, reader=BastionReader(Forbidden(world.bucket.url), world.clock, world.tasks), timeout_s=3600)


def test_a_store_that_is_away_is_waited_for() -> None:
    world = World()
    world.ends(world.runs(world.submitted()), Cause.OK, JobState.SUCCEEDED, code=0)

    code, notes = waited(world, reader=BastionReader(Away(world.bucket.url), world.clock, world.tasks))

    assert code == 0
    assert notes == ["the store is away; retrying", "j is SUCCEEDED"]
