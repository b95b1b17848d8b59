"""What a submission is checked against is what is in force, also where a file is gone or broken."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import msgspec
import pytest

from bastion.launcher.submit.sending import check, submit_context
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError, SpecError
from bastion.model.settings.config import Config
from bastion.model.stored.events import FileBroken, FileChanged
from tests.support.world import World, spec, status

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
    known = submit_context(world.bucket, Config())
    assert not known.quota.is_open
    with pytest.raises(SpecError, match="mallory belongs to no project"):
        check(spec(user="mallory", project="red"), known)


@pytest.mark.parametrize("seen", [False, True])
def test_where_no_file_ever_was_everybody_may_use_everything(seen: bool) -> None:
    world = World()
    if seen:
        world.ticks()
    assert submit_context(world.bucket, Config()).quota.is_open


def test_a_broken_file_that_never_was_good_admits_nobody() -> None:
    world = World()
    world.bucket.write(layout.QUOTA, b"no toml")
    with pytest.raises(BastionError, match="quota file cannot be used"):
        submit_context(world.bucket, Config())


def test_who_sent_too_much_is_told_before_anything_is_written() -> None:
    world = World()
    said = msgspec.structs.replace(status(world.clock.wall()), limited={"alice": "alice has sent too much"})
    world.bucket.write(layout.STATUS, encode(said))
    known = submit_context(world.bucket, Config())
    with pytest.raises(SpecError, match="alice has sent too much"):
        check(spec(), known)
    check(spec(user="bob"), known)


GPUS, TPUS, ANY = ["cpu", "h100", "memory"], ["v4"], None
REFUSED = pytest.raises(SpecError, match=r"did you mean gpu-h100-16\?")


@pytest.mark.parametrize(
    ("said", "runners", "answer"),
    [
        ({"gce": GPUS}, ["gce"], REFUSED),
        ({"gce": GPUS, "tpu": TPUS}, ["tpu", "gce"], REFUSED),
        ({"gce": GPUS, "slurm": ANY}, ["slurm", "gce"], REFUSED),
        ({"gce": GPUS, "slurm": GPUS}, ["gce", "slurm"], REFUSED),
        ({"gce": GPUS, "slurm": GPUS}, ["slurm", "gce"], nullcontext()),
        ({"slurm": ANY}, ["slurm"], nullcontext()),
        ({"gce": GPUS}, ["slurm", "gce"], nullcontext()),
        ({}, ["gce"], nullcontext()),
    ],
)
def test_what_no_vm_has_is_refused_once_all_runners_are_known_and_gce_would_have_to_give_it(
    said: dict[str, list[str] | None], runners: list[str], answer: AbstractContextManager[object]
) -> None:
    world = World()
    alive = status(world.clock.wall(), capacity={"h100": 64})
    world.bucket.write(layout.STATUS, encode(msgspec.structs.replace(alive, offers=said)))
    known = submit_context(world.bucket, Config(runners=runners))
    check(spec(resources={"h100": 16}), known)
    with answer:
        check(spec(resources={"h100": 12}), known)
