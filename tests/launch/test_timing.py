"""`--after`, `--begin`, `--deadline` and their like, from the command line to what people and programs are told."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bastion.model.state.state import Cause, JobState
from tests.support.bench import Said
from tests.support.clients import Asked

S = JobState


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Asked:
    town = Asked()
    monkeypatch.setattr("bastion.cli.common.command_context.SystemClock", lambda: town.clock)
    return town


def submit(town: Asked, *flags: str) -> Said:
    return town.launch(*flags, "--bundler_type=none", "--", "true")


def ran(town: Asked, name: str, cause: Cause = Cause.OK, code: int = 0) -> str:
    job = town.submits(name=name)
    town.ticks()
    town.ends(town.runs(job), cause, code)
    return job


def spec(town: Asked, name: str) -> Any:
    return town.launch("show", name, "--json").json["spec"]


def test_names_become_ids_when_the_job_is_submitted(town: Asked) -> None:
    old, first = town.submits(name="prep"), town.submits(name="sweep", count=20)
    town.ticks()
    new = town.submits(name="prep")
    said = submit(town, "--name=eval", "--after=prep", "--after", f"any:sweep[17], fail:{old}")
    assert (said.code, said.out) == (0, "eval\n")
    after = [f"ok:{new}", f"any:{first}[17]", f"fail:{old}"]
    assert f" starts after {', '.join(after)}\n" in said.err
    assert spec(town, "eval")["after"] == after
    town.ticks()
    (row,) = town.launch("ls", "--json", "-s", "PENDING").json["jobs"][-1:]
    assert row["reason"] == (f"waits for ok:{new} (PENDING), any:{first}[17] (PENDING), fail:{old} (PROVISIONING)")


def test_two_jobs_of_one_breath(town: Asked) -> None:
    first = submit(town, "--name=prep", "--json").json["id"]
    then = submit(town, "--name=eval", "--after=prep", "--json").json["id"]
    town.ticks()
    assert (town.job(first).state, town.job(then).after) == (S.PROVISIONING, (f"ok:{first}",))


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (("--after=nobody",), 102, "no job 'nobody'"),
        (("--after=good or bad",), 1, "--after is 'good or bad'; use ok:JOB"),
        (("--after=when:good",), 1, "use ok:JOB, any:JOB or fail:JOB"),
        (("--after=",), 1, "--after is ''"),
        (("--after=bad",), 1, "can never be met: it ended as FAILED (exit code 7)"),
        (("--after=fail:good",), 1, "can never be met: it ended as SUCCEEDED"),
        (("--after=good[2]",), 102, "good has no task 2; its tasks are 0 to 0"),
        (("--after=refused",), 1, "was rejected, so no job can wait for it"),
        (("--begin=soon",), 2, "--begin is 'soon'; use +2h, 14:00"),
        (("--deadline=2020-01-01T00:00:00Z",), 2, "--deadline is 2020-01-01 00:00 UTC, 2222d"),
        (("--begin=+2h", "--deadline=+2h"), 1, "not after begin"),
        (("--max_parallel=0",), 1, "max_parallel is 0; use 1 to 100000"),
        (("--class=best",), 1, "job_class is 'best'; use urgent, standard, scavenger"),
        (("--max_tier=-1",), 1, "max_tier is -1; use 0 to 63"),
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_written(
    town: Asked, flags: tuple[str, ...], code: int, told: str
) -> None:
    ran(town, "good")
    ran(town, "bad", Cause.CODE, 7)
    town.submits(name="refused", resources={"v4": 9})
    town.ticks()
    before = town.inbox()
    said = submit(town, *flags, "--json")
    assert (said.code, said.out) == (code, "")
    assert told in said.error
    assert town.inbox() == before


def test_a_job_that_left_long_ago_is_judged_by_its_trace(town: Asked) -> None:
    for name, cause in (("good", Cause.OK), ("bad", Cause.CODE)):
        ran(town, name, cause, int(cause is Cause.CODE))
    town.ticks(2, every=31 * 86_400)
    town.ticks(5, every=3_700)
    assert town.bastion.journal.state.jobs == {}
    assert submit(town, "--name=eval", "--after=good", "--after=any:bad").code == 0
    assert spec(town, "eval")["after"] == []
    assert "ended as FAILED" in submit(town, "--after=bad", "--json").error


def test_moments_are_said_in_any_way_and_told_in_one(town: Asked) -> None:
    said = submit(town, "--name=night", "--begin=+2h", "--deadline=2026-02-01T09:00:00+01:00")
    assert " starts not before 14:00 UTC, in 2h; ends by 2026-02-01 08:00 UTC, in 20h\n" in said.err
    assert (spec(town, "night")["begin"], spec(town, "night")["deadline"]) == (
        "2026-01-31T14:00:00Z", "2026-02-01T08:00:00Z",
    )  # fmt: skip
    town.ticks()
    assert "begins at 14:00 UTC, in 1h59m" in town.launch("ls").out
    why = town.launch("why", "night").out
    assert "begins    14:00 UTC, in 1h59m, not before\n" in why
    assert "deadline  2026-02-01 08:00 UTC, in 19h59m: what has not ended by then is stopped\n" in why
    timing = town.launch("why", "night", "--json").json["timing"]
    assert timing == {
        "after": [], "begin": "2026-01-31T14:00:00.000Z", "deadline": "2026-02-01T08:00:00.000Z", "max_parallel": None,
        "live": 0,
    }  # fmt: skip


def test_why_tells_of_each_end_that_is_still_to_come(town: Asked) -> None:
    one, two = town.submits(name="one"), town.submits(name="two", user="bob", count=3)
    town.ticks()
    town.submits(name="then", after=[f"ok:{one}", f"fail:{two}[2]"])
    town.submits(name="wide", count=5, max_parallel=1, resources={"v4": 1})
    town.ticks()
    why = town.launch("why", "then").out
    assert f"after     ok:{one}: it is PROVISIONING, of alice\n" in why
    assert town.launch("why", "then", "--json").json["timing"]["after"] == [
        {"condition": f"ok:{one}", "job": one, "task": None, "user": "alice", "state": "PROVISIONING"},
        {"condition": f"fail:{two}[2]", "job": two, "task": 2, "user": "bob", "state": "PROVISIONING"},
    ]
    assert "at once   1 of at most 1 tasks hold resources\n" in town.launch("why", "wide").out
    assert "4 of 5 tasks wait: 1 of at most 1 tasks at once hold resources" in town.launch("ls").out


def test_how_it_ended_without_having_begun(town: Asked) -> None:
    first = town.submits(name="first")
    town.ticks()
    then = town.submits(name="then", after=[f"ok:{first}"])
    late = town.submits(name="late", resources={"v4": 8, "cpu": 8}, deadline=town.clock.wall() + timedelta(seconds=9))
    town.ticks()
    town.ends(town.runs(first), Cause.CODE, 3)
    told = f"ok:{first} can never be met: it ended as FAILED (exit code 3)"
    assert f"{then} of alice in default is CANCELLED" in town.launch("why", "then").out
    assert f": {told}\n" in town.launch("why", "then").out
    assert "to do     launch it again with conditions that can be met\n" in town.launch("why", "then").out
    assert (
        f"PENDING -> CANCELLED  its waiting tasks end as CANCELLED: {told}" in town.run("launch", "history", "then").out
    )
    assert town.run("launch", "wait", "then").code == 103
    assert "to do     launch it again with a later --deadline\n" in town.launch("why", late).out
    assert town.run("launch", "wait", late).code == 124


def test_an_update_changes_all_of_it(town: Asked) -> None:
    first = town.submits(name="first", resources={"v4": 8})
    town.ticks()
    job = town.submits(name="then", begin=town.clock.wall() + timedelta(hours=1), count=3)
    town.ticks()
    said = town.launch(
        "update", "then", "--after=any:first", "--begin=none", "--deadline=+1d", "--max_parallel=2", "--class=scavenger",
        "--max_tier=1",
    )  # fmt: skip
    told = f"tasks at once 2, class scavenger, worst tier 1, no begin, deadline 2026-02-01T12:00:02Z, conditions any:{first}"
    assert sorted(said.err.strip().removeprefix(f"{job}: ").split(", ")) == sorted(told.split(", "))
    town.ticks()
    shown = spec(town, "then")
    assert {name: shown[name] for name in ("after", "begin", "max_parallel", "job_class", "max_tier")} == {
        "after": [f"any:{first}"], "begin": None, "max_parallel": 2, "job_class": "scavenger", "max_tier": 1,
    }  # fmt: skip
    assert f"waits for any:{first} (PROVISIONING)" in town.launch("ls").out
    assert town.launch("update", "then", "--after=none", "--deadline=none").code == 0
    town.ticks()
    assert (spec(town, "then")["after"], spec(town, "then")["deadline"]) == ([], None)


@pytest.mark.parametrize(
    ("flags", "code", "told"),
    [
        (("--after=then",), 1, "would wait for itself"),
        (("--after=last",), 1, "would wait for itself, through ok:last"),
        (("--after=nobody",), 102, "no job 'nobody'"),
        (("--begin=+9h",), 1, "not after begin"),
        (("--begin=later",), 2, "--begin is 'later'"),
    ],
)
def test_what_an_update_cannot_mean(town: Asked, flags: tuple[str, ...], code: int, told: str) -> None:
    full = town.submits(name="full", resources={"v4": 8})
    town.ticks()
    then = town.submits(name="then", after=[f"ok:{full}"], deadline=town.clock.wall() + timedelta(hours=5))
    town.ticks()
    town.submits(name="last", after=[f"any:{then}"])
    town.ticks()
    said = town.launch("update", "then", "--json", *flags)
    assert (said.code, said.out) == (code, "")
    assert told in said.error


def test_a_file_says_it_too_and_a_rerun_begins_anew(town: Asked, tmp_path: Path) -> None:
    first = town.submits(name="prep")
    town.ticks()
    file = tmp_path / "job.toml"
    file.write_text(
        'name = "eval"\ncommand = "true"\nafter = ["prep", "fail:prep"]\nbegin = 2090-01-31T12:00:00+01:00\n'
        'max_parallel = 2\njob_class = "scavenger"\nmax_tier = 1\ncount = 3\n[bundle]\ntype = "none"\n'
    )
    assert town.launch(f"--spec={file}").code == 0
    shown = spec(town, "eval")
    assert (shown["after"], shown["begin"]) == ([f"ok:{first}", f"fail:{first}"], "2090-01-31T12:00:00+01:00")
    assert json.loads(town.launch(f"--spec={file}", "--after=any:prep", "--dry_run").out)["after"] == [f"any:{first}"]
    town.ticks()
    again = town.launch("rerun", "eval", "--dry_run").json
    assert {name: again[name] for name in ("after", "begin", "deadline", "max_parallel", "job_class", "max_tier")} == {
        "after": [], "begin": None, "deadline": None, "max_parallel": 2, "job_class": "scavenger", "max_tier": 1,
    }  # fmt: skip
