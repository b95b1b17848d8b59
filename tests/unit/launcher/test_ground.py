"""What a submission is checked against is what is in force, also where a file is gone or broken."""

from __future__ import annotations

import msgspec
import pytest

from bastion import layout
from bastion.codec import encode
from bastion.errors import BastionError, SpecError
from bastion.events import FileBroken, FileChanged
from launcher.submit import check, ground
from tests.unit.launcher.world import World, spec, status

QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
red = ["alice"]
[project_resources.red]
v4 = 0.5
"""


def test_a_quota_file_that_was_deleted_leaves_the_last_good_one_in_force() -> None:
    world = World()
    world.happens(FileChanged(file="quota", version="1", text=QUOTA))
    world.happens(FileBroken(file="quota", version="", problem="it was deleted"))
    world.bucket.write(layout.STATUS, encode(msgspec.structs.replace(status(world.clock.wall()), quota=True)))
    known = ground(world.bucket)
    assert not known.quota.is_open
    with pytest.raises(SpecError, match="mallory belongs to no project"):
        check(spec(user="mallory", project="red"), known)


@pytest.mark.parametrize("seen", [False, True])
def test_where_no_file_ever_was_everybody_may_use_everything(seen: bool) -> None:
    world = World()
    if seen:
        world.ticks()
    assert ground(world.bucket).quota.is_open


def test_a_broken_file_that_never_was_good_admits_nobody() -> None:
    world = World()
    world.bucket.write(layout.QUOTA, b"no toml")
    with pytest.raises(BastionError, match="quota file cannot be used"):
        ground(world.bucket)


def test_who_sent_too_much_is_told_before_anything_is_written() -> None:
    world = World()
    said = msgspec.structs.replace(status(world.clock.wall()), limited={"alice": "alice has sent too much"})
    world.bucket.write(layout.STATUS, encode(said))
    known = ground(world.bucket)
    with pytest.raises(SpecError, match="alice has sent too much"):
        check(spec(), known)
    check(spec(user="bob"), known)
