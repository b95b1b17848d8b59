"""`launch stop` of several: shown and asked first, all or none, by name, pattern, state, user and project."""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from bastion.model.state.state import Cause
from tests.support.clients import Asked


@pytest.fixture
def town() -> Asked:
    """Two sweeps of alice's, of which one task runs, one of bob's, and a job that has ended."""
    town = Asked()
    done = town.submits(name="sweep-0")
    town.ticks()
    town.ends(town.runs(done), Cause.OK, 0)
    running = town.submits(name="sweep-1", resources={"cpu": 8})
    town.ticks()
    town.runs(running)
    town.submits(name="sweep-2", resources={"v4": 1, "cpu": 1}, project="nlp")
    town.submits(name="other", labels={"team": "rl"})
    town.submits(name="sweep-3", user="bob")
    town.ticks()
    town.submits(name="sweep-4")  # not read yet
    return town


class Terminal(StringIO):
    """Standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def stopped(town: Asked) -> set[str]:
    town.ticks()
    jobs = town.bastion.journal.state.jobs.values()
    return {job.name for job in jobs if job.cancelled_by}


@pytest.mark.parametrize(
    ("argv", "names"),
    [
        (["sweep-*"], {"sweep-1", "sweep-2", "sweep-4"}),
        (["sweep-?", "-s", "pending"], {"sweep-2", "sweep-4"}),
        (["sweep-[!1x]"], {"sweep-2", "sweep-4"}),
        (["sweep-1", "other"], {"sweep-1", "other"}),
        (["sweep-*", "sweep-2"], {"sweep-1", "sweep-2", "sweep-4"}),
        (["-s", "RUNNING"], {"sweep-1"}),
        (["-p", "nlp"], {"sweep-2"}),
        (["--label=team=rl"], {"other"}),
        (["sweep-1", "other", "-s", "PENDING"], {"other"}),
    ],
)
def test_who_is_stopped(town: Asked, argv: list[str], names: set[str]) -> None:
    said = town.launch("stop", "--yes", *argv)
    assert (said.code, set(said.out.split())) == (0, names)
    assert stopped(town) == names


def test_an_admin_stops_everybodys(town: Asked) -> None:
    assert town.launch("stop", "--yes", "--all", "sweep-*", user="root").code == 0
    assert stopped(town) == {"sweep-1", "sweep-2", "sweep-3", "sweep-4"}


def test_somebody_elses_among_them_stops_none(town: Asked) -> None:
    said = town.launch("stop", "--yes", "--all", "sweep-*", "--json")
    assert said.code == 1
    assert "belongs to bob; only bob and admins may stop it" in said.error
    assert stopped(town) == set()


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (["sweep-*"], 2, "stop 3 jobs (sweep-1-"),
        (["other", "sweep-1"], 2, "use --yes to do it without a question"),
        (["-s", "pending"], 2, "stop 3 jobs"),
        ([], 2, "no job is named"),
        (["--all"], 2, "no job is named"),
        (["-s", "pendign"], 2, "did you mean PENDING?"),
        (["-s", "failed", "--yes"], 2, "a job that is FAILED has ended"),
        (["-u", "bob", "--yes"], 1, "belongs to bob; only bob and admins may stop it"),
        (["sweep-[a-z]", "--yes"], 102, "matches 'sweep-[a-z]'"),
        (["x-*", "--yes"], 102, "matches 'x-*'"),
        (["x-*", "sweep-*", "--yes"], 102, "matches 'x-*'"),
        (["*" * 201, "--yes"], 2, "a pattern of 201 characters"),
        (["-p", "visoin", "--yes"], 102, "no job of alice that has not ended matches"),
        (["sweep-*", "--task=0", "--yes"], 2, "--task goes with one job"),
        (["other", "--task=1"], 102, "other has no task 1"),
    ],
)
def test_what_is_refused_writes_nothing(town: Asked, argv: list[str], code: int, told: str) -> None:
    before = town.inbox()
    said = town.launch("stop", "--json", *argv)
    assert (said.code, said.out) == (code, "")
    assert told in said.error
    assert town.inbox() == before


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("n\n", 1), ("", 1)])
def test_who_sits_at_a_terminal_is_shown_the_jobs_and_asked(
    town: Asked, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    said = town.launch("stop", "sweep-*")
    assert said.code == code
    first, *_ = said.err.splitlines()
    assert first.split()[0].startswith("sweep-1-")
    assert first.split()[1:] == ["alice", "default", "RUNNING"]
    assert "[y/N]" in said.err
    assert stopped(town) == ({"sweep-1", "sweep-2", "sweep-4"} if code == 0 else set())


def test_one_exact_name_is_stopped_without_being_asked(town: Asked) -> None:
    assert town.launch("stop", "sweep-1", "--json").json["name"] == "sweep-1"
    assert town.launch("stop", "sweep-0", "--json").json["name"] == "sweep-0"
    assert stopped(town) == {"sweep-1"}


def test_several_are_a_list_for_programs_and_ended_ones_are_no_failure(town: Asked) -> None:
    said = town.launch("stop", "--yes", "sweep-0", "sweep-1", "--json")
    assert [job["name"] for job in said.json["jobs"]] == ["sweep-0", "sweep-1"]
    assert said.json["schema"] == 1
    assert stopped(town) == {"sweep-1"}


def test_patterns_and_filters_choose_for_hold_and_release_too(town: Asked) -> None:
    assert set(town.launch("hold", "sweep-*", "-s", "PENDING").out.split()) == {"sweep-2", "sweep-4"}
    town.ticks()
    held = {job.name for job in town.bastion.journal.state.jobs.values() if job.held}
    assert held == {"sweep-2", "sweep-4"}
    assert town.launch("release", "*-4").out == "sweep-4\n"
