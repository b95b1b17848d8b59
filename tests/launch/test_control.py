"""`launch hold` and its like: several jobs at once, all or none of them, and what people and programs are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.model.state.state import Cause
from bastion.model.stored.events import Topped
from bastion.model.stored.requests import Hold
from tests.support.clients import Asked


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
    why = town.launch("why", "one").out
    assert "held by alice" in why
    assert "held: no more of it starts" in why
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
    assert "its running attempts continue, but do not start again before the release" in town.launch("hold", "j").err
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
        (("hold", "mine", "theirs"), 1, "belongs to bob; only bob and admins may hold it"),
        (("release", "mine", "locked"), 1, "is held by root since"),
        (("hold", "mine", "done"), 1, "has ended; there is nothing to hold"),
        (("hold", "mine", "nine"), 102, "did you mean mine?"),
        (("hold", "mine", "sweep[3]"), 2, "leave out [3]"),
        (("hold",), 2, "no job is named"),
        (("hold", "-s", "FAILED"), 2, "a job that is FAILED has ended"),
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


def test_the_top_one_is_said_to_be_first_among_whom(town: Asked) -> None:
    job = town.submits(name="j", priority=2)
    town.asks(Hold(job=job))
    town.ticks()
    said = town.launch("top", "j")
    assert (said.code, said.out) == (0, "j\n")
    assert said.err == f"{job}: first of the pending jobs of alice in default with priority 2\n"
    town.ticks()
    assert any(isinstance(event, Topped) for event in town.journal())


def test_an_update_is_shown_and_told(town: Asked) -> None:
    job = town.submits(time_limit_s=60.0)
    town.asks(Hold(job=job))
    town.ticks()
    said = town.launch(
        "update",
        "j",
        "--priority=2",
        "--max-tries=3",
        "--time_limit=none",
        "--retry_interval=0",
        "--grace=2m",
        "--finish_timeout=0",
        "--no_crash_guard",
    )
    told = "priority 2, tries 3, retry interval 0 s, grace 120 s, no time limit, finish timeout 0 s, no crash guard"
    assert (said.code, said.out, said.err) == (0, "j\n", f"{job}: {told}\n")
    town.ticks()
    spec = town.launch("show", "j", "--json").json["spec"]
    assert (spec["priority"], spec["max_tries"], spec["time_limit_s"], spec["grace_s"]) == (2, 3, None, 120)
    assert f"updated: {told}" in town.launch("why", "j").out


def test_a_new_command_brings_its_code_and_the_next_attempt_runs_it(
    town: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("print('hi')\n")
    monkeypatch.chdir(tmp_path)
    job = town.submits()
    town.ticks()
    key = town.runs(job)
    said = town.launch("update", "j", "--", "python", "train.py", "--steps=3")
    assert said.code == 0
    assert "the next one starts at once on the same resources" in said.err
    town.ticks(2)
    town.ends(key, Cause.UPDATED, 143)
    shown = town.launch("show", "j", "--json").json
    assert shown["spec"]["command"] == ["python", "train.py", "--steps=3"]
    assert shown["spec"]["bundle"]["type"] == "tar"
    assert [(row["state"], row["cause"]) for row in shown["attempts"]] == [("ENDED", "updated"), ("STARTING", None)]


@pytest.mark.parametrize(
    ("argv", "code", "told"),
    [
        (("update", "j"), 2, "no change is given"),
        (("update", "j", "--priority=9"), 1, "priority is 9; use 1 to 5"),
        (("update", "j", "--priority=high"), 2, "use a whole number"),
        (("update", "j", "--grace=soon"), 2, "--grace is 'soon'"),
        (("update", "j", "--grace=none"), 2, "--grace is 'none'"),
        (("update", "j", "--time_limit=5m"), 1, "its worker keeps the time limit that it began with"),
        (("update", "j", "--bundler_type=none"), 2, "code is bundled only for a new command"),
        (("update", "j", "--bundler_type=zip", "--", "x"), 2, "--bundler_type is 'zip'"),
        (("update", "j", "--time_limti=5m"), 2, "did you mean --time_limit?"),
        (("top", "j"), 1, "is not waiting"),
    ],
)
def test_what_cannot_be_updated_is_said_and_nothing_is_written(
    town: Asked, argv: tuple[str, ...], code: int, told: str
) -> None:
    job = town.submits()
    town.ticks()
    town.runs(job)
    before = [stat.key for stat in town.bucket.inner.list("")]
    said = town.launch(*argv[:2], "--json", *argv[2:])
    assert (said.code, said.out) == (code, "")
    assert told in said.error
    assert [stat.key for stat in town.bucket.inner.list("")] == before
