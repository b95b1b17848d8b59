"""A word on the command line names one job, read or unread, and maybe one task of it."""

from __future__ import annotations

import pytest

from bastion.launcher.read.job_lookup import find, one_task
from bastion.model.errors import JobNotFound, UsageError
from tests.support.world import World


def test_an_id_is_found_before_a_name() -> None:
    world = World()
    first = world.submitted("a" * 32, name="train")
    world.submitted("b" * 32, name=first)

    assert find(first, world.look()).id == first


def test_a_name_is_the_newest_job_of_it() -> None:
    world = World()
    world.submitted("a" * 32, name="train")
    newest = world.submitted("b" * 32, name="train")

    assert find("train", world.look()).id == newest


def test_what_the_bastion_has_not_read_is_newer_still() -> None:
    world = World()
    world.submitted("a" * 32, name="train")
    world.asked("c" * 32, name="train")

    found = find("train", world.look())

    assert (found.id, found.job) == ("train-cccccccc", None)


def test_a_task_is_named_in_brackets() -> None:
    world = World()
    world.submitted(name="sweep", count=20)

    assert find("sweep[17]", world.look()).task == 17
    assert find("sweep", world.look(), task=3).task == 3


def test_a_task_that_there_is_not_is_not_found() -> None:
    world = World()
    world.submitted(name="sweep", count=20)

    with pytest.raises(JobNotFound, match="sweep has no task 20; its tasks are 0 to 19"):
        find("sweep[20]", world.look())


def test_an_unknown_word_is_answered_with_the_nearest() -> None:
    world = World()
    world.submitted(name="sweep-small")

    with pytest.raises(JobNotFound, match="no job 'sweep-smal'; did you mean sweep-small"):
        find("sweep-smal", world.look())
    with pytest.raises(JobNotFound, match="see launch ls --all"):
        find("zzz", world.look())


def test_one_task_of_several_has_to_be_named() -> None:
    world = World()
    world.submitted("a" * 32, name="sweep", count=2)
    world.submitted("b" * 32, name="plain")

    with pytest.raises(UsageError, match=r"sweep has 2 tasks; name one, as in 'sweep\[0\]'"):
        one_task(find("sweep", world.look()))
    assert one_task(find("sweep[1]", world.look())) == 1
    assert one_task(find("plain", world.look())) == 0
