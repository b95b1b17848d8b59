"""A real bastion while its Slurm preempts, loses a node, is away, or forgets all: every job has its reason, and none is lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.team import start
from tests.support.fleet import Fleet, until

SAVES = "trap 'echo saved; exit 9' TERM; echo try $BASTION_ATTEMPT; while [ ! -e go ]; do sleep 0.05; done"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, slurm: Cluster) -> Iterator[Fleet]:
    """A bastion whose jobs Slurm may preempt."""
    here = start(tmp_path_factory.mktemp("team"), slurm, partition="cancelled")
    yield here
    here.close()
    slurm.clear()


def go(team: Fleet) -> None:
    """Let what runs come to its end."""
    for code in team.folder.glob("work/*/jobs/*/code"):
        (code / "go").touch()


def why(team: Fleet, job: str) -> str:
    return team.run("launch", "why", job).stdout


def test_who_makes_way_in_slurm_uses_up_no_try_and_says_what_it_waits_for(team: Fleet, slurm: Cluster) -> None:
    job = team.submit("lent", "--resources=gpu=2", "--max_tries=1", run=SAVES)
    until(lambda: "try 0" in team.log(job))
    wrap = "--wrap=sleep 600"
    slurm.say(
        "sbatch", "--partition=first", "--job-name=theirs", "--nodes=4", "--exclusive", "--output=/dev/null", wrap
    )
    until(lambda: "Slurm has no free nodes for it (Resources)" in why(team, job))
    slurm.say("scancel", "--name=theirs")
    until(lambda: "try 1" in team.log(job))
    assert "saved" in team.log(job, "--attempt=0")
    first = team.job(job)["attempts"][0]
    assert (first["cause"], first["exit_code"]) == ("lost", 9)
    go(team)
    assert team.wait(job) == 0


def test_a_node_that_is_lost_uses_up_no_try(team: Fleet, slurm: Cluster) -> None:
    job = team.submit("unlucky", "--resources=gpu=2", "--max_tries=1", run=SAVES)
    until(lambda: "try 0" in team.log(job))
    node = slurm.say("squeue", "-h", "-o", "%N").strip()
    slurm.crash_node(node)
    slurm.say("scontrol", "update", f"nodename={node}", "state=down", "reason=test")  # as after SlurmdTimeout
    try:
        until(lambda: "try 1" in team.log(job))
        go(team)
        assert team.wait(job) == 0
        assert [attempt["cause"] for attempt in team.job(job)["attempts"]] == ["lost", "ok"]
    finally:
        slurm.return_node(node)


def test_while_slurm_is_away_jobs_run_on_and_who_waits_says_so_and_what_slurm_forgot_is_tried_again(
    team: Fleet, slurm: Cluster
) -> None:
    done = team.submit("done", "--resources=gpu=1", run="while [ ! -e go ]; do sleep 0.05; done; echo ran")
    until(lambda: team.job(done)["state"] == "RUNNING")
    slurm.stop_controller()
    waiting = team.submit("waits", "--resources=gpu=1", run=SAVES)
    until(lambda: "the runner slurm has not answered since" in why(team, waiting))
    assert "Slurm does not answer squeue" in why(team, waiting)
    until(lambda: any(line.startswith("the runner slurm has not answered since") for line in team.problems()))
    go(team)
    until(lambda: team.log(done) == "ran\n")
    assert team.job(done)["state"] == "RUNNING"
    slurm.start_controller()
    assert team.wait(done) == 0
    until(lambda: "try 0" in team.log(waiting))
    slurm.stop_controller()
    slurm.forget()
    slurm.start_controller()
    until(lambda: "try 1" in team.log(waiting))
    assert [attempt["cause"] for attempt in team.job(waiting)["attempts"]][:1] == ["lost"]
    go(team)
    assert team.wait(waiting) == 0
