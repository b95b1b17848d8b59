"""`launch hold` and its like: several jobs at once, all or none of them, and what people and programs are told."""

from __future__ import annotations

import pytest

from bastion.state import Cause
from tests.launch.town import Asked


@pytest.fixture
def town() -> Asked:
    return Asked()


def test_several_jobs_are_held_and_released(town: Asked) -> None:
    one, two = town.submits(name="one"), town.submits(name="two")
    town.submits(name="three")
    said = town.launch("hold", "one", two)
    assert (said.code, said.out, said.err) == (0, "one\ntwo\n", f"{one}: held\n{two}: held\n")
    town.ticks()
    assert [bool(town.job(job).held) for job in (one, two)] == [True, True]
    assert "held by alice since 2026-01-31T" in town.launch("ls").out
    assert town.launch("why", "one").out.count("held by alice") == 2
    assert town.launch("release", "one", "two", "three", "--json").json == {
        "schema": 1,
        "jobs": [
            {"id": town.launch("show", name, "--json").json["id"], "name": name} for name in ("one", "two", "three")
        ],
    }
    town.ticks()
    assert not any(job.held for job in town.bastion.journal.state.jobs.values())


def test_a_running_job_is_said_to_run_on(town: Asked) -> None:
    job = town.submits()
    town.ticks()
    town.runs(job)
    assert "what runs of it goes on, and is not started again until its release" in town.launch("hold", "j").err
    town.ticks()
    shown = town.launch("show", "j", "--json").json
    assert (shown["state"], shown["reason"][:28]) == ("RUNNING", "runs on, and is not started ")


def test_a_job_that_is_not_read_yet_is_held_before_it_can_start(town: Asked) -> None:
    town.submits(name="new")
    assert town.launch("hold", "new").code == 0
    assert town.launch("hold", "new", user="bob").code == 1
    town.ticks(3)
    assert town.launch("show", "new", "--json").json["state"] == "PENDING"


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (("hold", "mine", "theirs"), 1, "is bob's; only they and admins may hold it"),
        (("release", "mine", "locked"), 1, "is held by root since"),
        (("hold", "mine", "done"), 1, "has ended; there is nothing to hold"),
        (("hold", "mine", "nine"), 102, "did you mean mine?"),
        (("hold", "mine", "sweep[3]"), 2, "leave out [3]"),
        (("hold",), 2, "launch hold needs JOB..."),
        (("hodl", "mine"), 2, "did you mean hold?"),
    ],
)
def test_all_or_nothing(town: Asked, argv: tuple[str, ...], code: int, told: str) -> None:
    done = town.submits(name="done")
    town.ticks()
    town.ends(town.runs(done), Cause.OK, 0)
    town.submits(name="mine")
    town.submits(name="theirs", user="bob")
    town.submits(name="locked")
    town.submits(name="sweep", count=5)
    town.launch("hold", "locked", user="root")
    town.ticks()
    said = town.launch(*argv, "--json")
    assert (said.code, said.out) == (code, "")
    assert told in said.error
    assert town.inbox() == []
