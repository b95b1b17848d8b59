"""What is asked of jobs that are there, on a real fleet: hold, update, pause; and a job from a file."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator

import pytest

from tests.support.fleet import PATIENCE_S, Fleet, until

ME = getpass.getuser()


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A fleet of 8 v4 whose admin is this user."""
    here = Fleet(tmp_path_factory.mktemp("mine"))
    here.create()
    yield here
    here.close()


def test_a_held_job_starts_after_its_release_and_not_before(mine: Fleet) -> None:
    assert mine.run("bastion", "pause").returncode == 0
    held, free = mine.submit("held", run="true"), mine.submit("free", run="true")
    assert mine.run("launch", "hold", "held").stdout == "held\n"
    assert mine.run("bastion", "resume").returncode == 0
    assert mine.wait(free) == 0
    shown = mine.job(held)
    assert (shown["state"], shown["attempts"]) == ("PENDING", [])
    assert shown["reason"].startswith(f"held by {ME} since 20")
    assert mine.run("launch", "release", "held").returncode == 0
    assert mine.wait(held) == 0


def test_a_new_command_runs_where_the_old_one_ran_though_others_wait(mine: Fleet) -> None:
    old = "trap 'echo notice; exit 3' TERM; echo old; while true; do sleep 0.05; done"
    job = mine.submit("long", "--resources=v4=8", run=old)
    until(lambda: "old" in mine.log(job))
    waits = mine.submit("waits", "--resources=v4=8", run="true")
    go = mine.folder / "go-long"
    new = f'echo "new because of $BASTION_RESTART_REASON"; while [ ! -e {go} ]; do sleep 0.05; done'
    said = mine.run("launch", "update", "long", "--bundler_type=none", "--", new)
    assert said.returncode == 0, said
    until(lambda: "new because of user" in mine.log(job, "--attempt=1"))
    assert mine.job(waits)["attempts"] == []
    go.touch()
    assert (mine.wait(job), mine.wait(waits)) == (0, 0)
    shown = mine.job(job)
    assert [(row["cause"], row["exit_code"]) for row in shown["attempts"]] == [("updated", 3), ("ok", 0)]
    assert (shown["spec"]["command"], shown["spec"]["max_tries"]) == (new, 1)
    assert "notice" in mine.log(job, "--attempt=0")


def test_a_paused_bastion_is_paused_after_its_restart_and_stops_what_is_asked(mine: Fleet) -> None:
    runs = mine.submit("runs", run="sleep 1000")
    mine.await_state(runs, "RUNNING")
    assert mine.run("bastion", "pause").stdout.startswith("bastion demo is paused: no job starts")
    mine.run("bastion", "stop")
    mine.create()
    waits = mine.submit("waits", run="true")
    until(lambda: mine.job(waits)["reason"].startswith(f"paused by {ME} since 20"))
    assert mine.ask("bastion", "status")["paused"]["user"] == ME
    assert f"paused by {ME}" in mine.run("launch", "ls").stdout.splitlines()[-1]
    assert mine.run("launch", "stop", "runs", "--wait").returncode == 0
    assert mine.job(waits)["attempts"] == []
    assert mine.run("bastion", "resume").returncode == 0
    assert mine.wait(waits) == 0


def test_what_a_dry_run_prints_is_the_same_job_from_standard_input(mine: Fleet) -> None:
    words = ("--name=filed", "--env=A=x y", "--resources=v4=2", "--bundler_type=none")
    printed = mine.run("launch", *words, "--dry_run", "--", 'echo "$A"; exit 0').stdout
    with mine.popen("launch", "--spec=-", "--wait", stdin=-1) as process:
        out, err = process.communicate(printed, timeout=PATIENCE_S)
    assert (process.returncode, out.splitlines()[-1]) == (0, "filed"), err
    assert mine.log("filed") == "x y\n"
    assert mine.job("filed")["resources"] == json.loads(printed)["resources"] == {"v4": 2}
