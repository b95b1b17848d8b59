"""A job is seen by every reader from the moment its request is stored, and never twice."""

from __future__ import annotations

from bastion.launcher.read.reader import BastionReader
from bastion.model import layout
from bastion.model.interfaces import StoredObject
from bastion.model.stored.events import Submitted
from bastion.stores.memory import MemoryBucket
from tests.support.world import World, spec


def test_an_unread_request_is_seen_as_a_job() -> None:
    world = World()
    world.asked(name="new")

    (unread,) = world.look().unread

    assert (unread.id, unread.spec.user) == ("new-rrrrrrrr", "alice")


def test_a_request_that_was_read_but_not_removed_yet_is_seen_once() -> None:
    world = World()
    world.asked()
    world.submitted()

    view = world.look()

    assert view.unread == ()
    assert list(view.state.jobs) == ["j-rrrrrrrr"]


class Taken(MemoryBucket):
    """The bastion takes the request between a reader's list and its read of it: journal first, then delete."""

    def __init__(self, world: World) -> None:
        super().__init__(world.bucket.url)
        self._world = world

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """As it is, after the bastion came by."""
        if key.startswith(layout.INBOX):
            self._world.happens(Submitted(request="alice/" + "r" * 32, job="j-rrrrrrrr", spec=spec()))
            self.delete([key])
        return super().read(key, limit)


def test_a_request_that_is_taken_while_we_look_is_found_in_the_journal() -> None:
    world = World()
    world.asked()

    view = BastionReader(Taken(world), world.clock, world.tasks).look()

    assert view.unread == ()
    assert list(view.state.jobs) == ["j-rrrrrrrr"]


class Busy(MemoryBucket):
    """The bastion comes by at every third read of a request, and takes the one that is about to be read."""

    def __init__(self, world: World) -> None:
        super().__init__(world.bucket.url)
        self._world, self._reads = world, 0

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """As it is, after the bastion may have come by."""
        if key.startswith(layout.INBOX):
            if self._reads % 3 == 0:
                self._world.submitted(key.rpartition("/")[2].removesuffix(".json"))
                self.delete([key])
            self._reads += 1
        return super().read(key, limit)


def test_requests_that_are_taken_one_after_the_other_hide_none_of_those_that_wait() -> None:
    world = World()
    for letter in "abc":
        world.asked(letter * 32)

    view = BastionReader(Busy(world), world.clock, world.tasks).look()

    seen = [*view.state.jobs, *(unread.id for unread in view.unread)]
    assert sorted(seen) == ["j-aaaaaaaa", "j-bbbbbbbb", "j-cccccccc"]


def test_requests_that_make_no_sense_are_no_jobs_and_hide_none() -> None:
    world = World()
    world.bucket.create("inbox/eve/x.json", b"\xff{")
    world.bucket.create("inbox/eve/y.json", b'{"kind": "cancel", "job": "z"}')
    world.bucket.create("inbox/odd", b"")
    world.asked()

    assert [unread.id for unread in world.look().unread] == ["j-rrrrrrrr"]


def test_a_reader_of_one_user_asks_for_no_other_requests() -> None:
    world = World()
    world.asked(user="bob")

    assert BastionReader(world.bucket, world.clock, world.tasks, user="alice").look().unread == ()


def test_looking_again_sees_what_is_new() -> None:
    world = World()
    reader = world.reader()
    world.asked("a" * 32)
    assert len(reader.look().unread) == 1

    world.submitted("a" * 32)
    world.asked("b" * 32)
    view = reader.look()

    assert list(view.state.jobs) == ["j-aaaaaaaa"]
    assert [unread.id for unread in view.unread] == ["j-bbbbbbbb"]
