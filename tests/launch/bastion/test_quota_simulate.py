"""`bastion quota simulate`: what a bastion really did, once more under its quota file and under another one."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from bastion.cli.bastion.parts import quota_simulate
from bastion.model import layout
from bastion.model.state.state import Cause
from bastion.model.stored.journal_object import Gaps
from bastion.platform.system import ThreadTasks
from bastion.simulate.workload import WorkPace
from bastion.stores.counting import CountingBucket
from tests.support.bench import QUOTA, Bench
from tests.support.clients import Asked
from tests.support.world import NOON

SINCE = "--since=2026-01-01T00:00:00Z"
PATH = "project-quotas/project-quotas.config"


def shares(nlp: float, vision: float) -> str:
    """The bench's quota file with other shares."""
    text = QUOTA.replace("[project_resources.nlp]\nv4 = 0.5", f"[project_resources.nlp]\nv4 = {nlp}")
    return text.replace("[project_resources.vision]\nv4 = 0.5", f"[project_resources.vision]\nv4 = {vision}")


@pytest.fixture
def town() -> Asked:
    """Alice's job had the whole fleet until bob's took back his half; when that had ended, hers ran to its end."""
    town = Asked((PATH, QUOTA))
    town.ticks(2)
    hers = town.submits(name="hers", user="alice", project="nlp", resources={"v4": 8})
    town.ticks(3)
    first = town.runs(hers)
    town.ticks(10, every=100.0)
    his = town.submits(name="his", user="bob", project="vision", resources={"v4": 4})
    town.ticks(60, every=2.0)
    town.ends(first, Cause.PREEMPTED)
    second = town.runs(his)
    town.ticks(6, every=100.0)
    town.ends(second, Cause.OK, 0)
    again = town.runs(hers, attempt=1)  # from its beginning: it saved nothing
    town.ticks(12, every=100.0)
    town.ends(again, Cause.OK, 0)
    return town


@pytest.fixture
def proposed(tmp_path: Path) -> Path:
    """All for nlp."""
    path = tmp_path / "proposed.toml"
    path.write_text(shares(1.0, 0.0))
    return path


def test_the_past_comes_again_under_both_files(town: Asked, proposed: Path) -> None:
    said = town.run("bastion", "quota", "simulate", str(proposed), SINCE, "--resource=v4", "--json").json
    now, then = said["present"], said["proposed"]

    assert (said["resource"], said["unfinished_tasks"], said["jobs_that_never_ran"]) == ("v4", 0, 0)
    assert (now["jobs"], now["preemptions"], now["by_project"]["nlp"]["preemptions"]) == (2, 1, 1)
    assert (then["jobs"], then["preemptions"]) == (2, 0)
    assert now["by_project"]["vision"]["wait_h"]["p95"] == pytest.approx(90 / 3600, abs=1e-3)
    assert then["by_project"]["vision"]["wait_h"]["p95"] > now["by_project"]["vision"]["wait_h"]["p95"]
    assert now["lost_gpu_hours"] > then["lost_gpu_hours"] == 0
    assert now["wait_h_by_size"]["4"].keys() == {"p50", "p95", "max"}
    assert then["wait_h_by_size"]["4"]["max"] > now["wait_h_by_size"]["4"]["max"] == pytest.approx(90 / 3600, abs=1e-3)


def test_the_same_file_changes_nothing(town: Asked, tmp_path: Path) -> None:
    (tmp_path / "same.toml").write_text(QUOTA)
    said = town.run("bastion", "quota", "simulate", str(tmp_path / "same.toml"), SINCE, "--resource=v4", "--json").json

    assert said["present"] == said["proposed"]


def test_the_table_has_both_and_how_they_differ(town: Asked, proposed: Path) -> None:
    numbers, sizes = town.run("bastion", "quota", "simulate", str(proposed), SINCE, "--resource=v4").out.split("\n\n")
    heads, *lines = numbers.splitlines()
    rows = dict(re.split(r" {2,}", line, maxsplit=1) for line in lines)

    assert re.split(r" {2,}", heads) == ["NUMBER", "present", "proposed", "CHANGE"]
    assert rows["preemptions"].split() == ["1", "0", "-1", "(-100%)"]
    assert rows["vision: preemptions"].split() == ["0", "0", "="]
    assert {"nlp: hours waited, mean", "vision: hours waited, p95", "v4-hours of shares violated", "v4 in use"} <= set(
        rows
    )
    heads, *lines = sizes.splitlines()
    assert re.split(r" {2,}", heads) == ["HOURS WAITED", "present: p50", "p95", "max", "proposed: p50", "p95", "max"]
    assert [line.split()[:3] for line in lines] == [["4", "v4", "0.03"], ["8", "v4", "0.17"]]


def test_what_still_runs_and_what_never_ran_is_said(town: Asked, proposed: Path) -> None:
    running = town.submits(name="runs", user="alice", project="nlp", resources={"v4": 8})
    town.ticks(3)
    town.runs(running)
    town.submits(name="waits", user="alice", project="nlp", resources={"v4": 8})
    town.ticks(10, every=10.0)
    said = town.run("bastion", "quota", "simulate", str(proposed), SINCE, "--resource=v4")

    assert "1 tasks still run; they count with their running time so far" in said.out
    assert "1 jobs are left out: they never ran, so their running time is not known" in said.out


def test_a_trace_may_stand_for_the_past(town: Asked, proposed: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("submit_s,duration_s,gpus,project\n0,7200,8,nlp\n1000,3600,4,vision\n")
    words = (str(proposed), f"--trace={trace}", "--resource=v4")
    said = town.run("bastion", "quota", "simulate", *words, "--json").json

    assert (said["trace"], said["present"]["preemptions"], said["proposed"]["preemptions"]) == (str(trace), 1, 0)
    both = town.run("bastion", "quota", "simulate", *words, SINCE)
    assert (both.code, "--trace replaces the journal" in both.err) == (2, True)


def test_the_plot_has_both(town: Asked, proposed: Path, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    said = town.run("bastion", "quota", "simulate", str(proposed), SINCE, "--resource=v4", f"--plot={page}")
    text = page.read_text()

    assert said.err == f"plotted in {page}\n"
    assert re.findall("<h2>([^<]*)</h2>", text) == ["present", "proposed"]
    assert "<script" not in text


def test_who_is_no_member_under_the_proposed_file_is_counted(town: Asked, tmp_path: Path) -> None:
    path = tmp_path / "proposed.toml"
    path.write_text(QUOTA.replace('vision = ["bob"]', 'vision = ["carol"]'))
    said = town.run("bastion", "quota", "simulate", str(path), SINCE, "--resource=v4", "--json").json

    assert said["proposed"]["unrunnable"]["not_a_member"] == 1
    assert said["present"]["unrunnable"]["not_a_member"] == 0


def test_it_asks_for_each_journal_object_once_and_for_little_else(town: Asked) -> None:
    bucket = CountingBucket(town.bucket.inner)
    objects = sum(1 for _ in bucket.list(layout.JOURNAL))
    bucket.counts.clear()

    quota_simulate.read_replay(
        bucket, NOON - timedelta(days=1), WorkPace(timedelta(minutes=10)), ThreadTasks().map, Gaps(), print
    )
    assert bucket.counts["read"] <= objects + 16
    assert bucket.counts["list"] <= 6


def test_a_bastion_without_a_past_has_nothing_to_simulate(bench: Bench, proposed: Path) -> None:
    said = bench.bastion("quota", "simulate", str(proposed), "--resource=v4")

    assert said.code == 1
    assert "no job ran that could be simulated; look further back with --since, or use --trace=FILE" in said.err
