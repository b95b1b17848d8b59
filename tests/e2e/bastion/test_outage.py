"""The store is away, and comes back: the job goes on, its log has no gap, commands say what is, and SIGTERM is heeded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bastion.platform import host
from tests.support.fleet import Fleet, until


@pytest.fixture
def away(fleet: Fleet) -> Fleet:
    """A fleet whose job prints numbered lines, and whose bucket has just gone."""
    fleet.create()
    counting = f"i=0; while [ ! -e {fleet.folder}/go ]; do echo line $i; i=$((i+1)); sleep 0.02; done"
    job = fleet.submit("steady", run=counting)
    fleet.await_state(job, "RUNNING")
    until(lambda: "line 5\n" in fleet.log(job))
    fleet.bucket.rename(fleet.folder / "elsewhere")
    return fleet


def back(fleet: Fleet) -> None:
    (fleet.folder / "elsewhere").rename(fleet.bucket)


def test_what_runs_goes_on_and_the_log_is_caught_up(away: Fleet) -> None:
    for tool, *words in (
        ("bastion", "status"),
        ("launch", "ls"),
        ("launch", "show", "steady"),
        ("launch", "--", "true"),
    ):
        said = away.run(tool, *words)
        assert said.returncode == 1
        assert said.stderr.count("\n") == 1
        assert f"file://{away.bucket}: there is no such folder" in said.stderr
    assert away.processes("steady"), "it runs on"
    back(away)
    (away.folder / "go").touch()
    assert away.wait("steady") == 0
    lines = away.log("steady").splitlines()
    assert lines == [f"line {number}" for number in range(len(lines))]
    assert len(away.job("steady")["attempts"]) == 1
    until(lambda: away.problems() == [])
    assert away.ask("bastion", "status")["epoch"] == 1


def test_a_bastion_that_cannot_say_that_it_ends_ends_nevertheless_and_another_goes_on(away: Fleet) -> None:
    bastion = json.loads((away.folder / "elsewhere" / "demo" / "status.json").read_bytes())["pid"]
    os.kill(bastion, signal.SIGTERM)
    until(lambda: not host.is_alive(bastion))
    back(away)
    away.create()
    (away.folder / "go").touch()
    assert away.wait("steady") == 0
    lines = away.log("steady").splitlines()
    assert lines == [f"line {number}" for number in range(len(lines))]
    assert len(away.job("steady")["attempts"]) == 1


def test_a_mount_that_drops_leaves_an_empty_folder_that_nobody_writes_into_and_all_is_whole_when_it_is_back(
    tmp_path: Path,
) -> None:
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    said = subprocess.run(
        [*unshare, sys.executable, "-m", "tests.e2e.dropping", str(tmp_path)], capture_output=True, text=True
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert list((tmp_path / "bucket").iterdir()) == [], "nor outside of it"
