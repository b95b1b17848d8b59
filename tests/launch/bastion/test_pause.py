"""`bastion pause` and `resume`, as people and programs see them."""

from __future__ import annotations

import pytest

from tests.support.clients import Asked


@pytest.fixture
def town() -> Asked:

    town = Asked()
    town.ticks()
    return town


def test_it_is_asked_of_one_that_is_not_at_work_and_done_once_it_is(town: Asked) -> None:
    said = town.run("bastion", "pause", "--user_id=root")
    assert (said.code, said.err) == (0, "")
    assert said.out == "bastion b is not running; the request is stored and takes effect when it starts\n"
    job = town.submits()
    town.ticks(8)
    again = town.run("bastion", "pause", "--user_id=root")
    assert again.out.startswith(
        "bastion b is paused: no job starts, and running jobs continue (by root since 2026-01-31T"
    )
    assert "paused by root since 2026-01-31T" in town.launch("ls").out.splitlines()[-1]
    assert town.launch("show", job, "--json").json["reason"].startswith("paused by root since 2026-01-31T")
    page = town.run("bastion", "status").out.splitlines()
    assert any(line.startswith("paused     by root since 2026-01-31T") for line in page)
    shown = town.run("bastion", "status", "--json").json["paused"]
    assert shown["user"] == "root"
    assert town.run("bastion", "resume", "--user_id=root", "--json").json == {
        "schema": 1, "name": "b", "paused": shown, "heard": False
    }  # fmt: skip
    town.ticks()
    assert town.run("bastion", "resume", "--user_id=root").out == "bastion b is not paused: it starts jobs\n"
    assert "paused" not in town.launch("ls").out


def test_who_is_no_admin_is_refused_and_nothing_is_written(town: Asked) -> None:
    said = town.run("bastion", "pause", "--user_id=alice", "--json")
    assert (said.code, said.out) == (1, "")
    assert said.error == "alice is not an admin of the bastion, and may not pause it; ask one of root"
    assert town.inbox() == []
