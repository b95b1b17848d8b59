"""A real bastion on a real Slurm: projects lend their share and take it back, and a bastion that falls loses nothing."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster
from tests.slurm.team import start
from tests.support.fleet import QUICK, Fleet, until

QUOTA = """
[toml-schema]
version = "1"
[total_resources]
gpu = 8
[project_membership]
nlp = ["alice"]
vision = ["bob"]
[project_resources.nlp]
gpu = 0.5
[project_resources.vision]
gpu = 0.5
"""


@pytest.fixture
def team(tmp_path: Path, slurm: Cluster) -> Iterator[Fleet]:
    """A bastion whose only runner is slurm."""
    here = start(tmp_path, slurm)
    yield here
    here.close()
    slurm.clear()


def test_a_project_takes_its_nodes_back_and_the_borrower_resumes(team: Fleet, slurm: Cluster) -> None:
    team.set_quota(QUOTA)
    program = "trap 'echo saved; exit 1' TERM; echo try $BASTION_ATTEMPT; while :; do sleep 0.05; done"
    borrower = team.submit("big", "--user_id=alice", "--resources=gpu=2", "--num_replicas=4", run=program)
    until(lambda: "try 0" in team.log(borrower))
    owner = team.submit("mine", "--user_id=bob", "--resources=gpu=2", "--num_replicas=2", run="echo ran $RANK")
    assert team.wait(owner) == 0
    assert "ran 1" in team.log(owner)
    until(lambda: "try 1" in team.log(borrower))
    assert "saved" in team.log(borrower, "--attempt=0")
    first = team.job(borrower)["attempts"][0]
    assert first["cause"] == "preempted"
    assert team.run("launch", "stop", borrower, "--user_id=alice").returncode == 0
    until(lambda: team.job(borrower)["state"] == "CANCELLED")
    slurm.until(lambda: not slurm.say("squeue", "-h", "-o", "%i").split(), "the end of all jobs")


def test_a_bastion_that_was_killed_finds_its_jobs_again(team: Fleet, slurm: Cluster) -> None:
    job = team.submit("long", "--resources=gpu=2", "--count=2", run="echo ran; while [ ! -e go ]; do sleep 0.05; done")
    until(lambda: all("ran" in team.log(f"{job}[{task}]") for task in range(2)))
    os.kill(pid_of(team), signal.SIGKILL)
    team.ask("bastion", "create")
    assert len(slurm.say("squeue", "-h", "-o", "%i").split()) == 2
    for code in team.folder.glob("work/*/jobs/*/code"):
        (code / "go").touch()
    assert team.wait(job) == 0
    assert [team.log(f"{job}[{task}]") for task in range(2)] == ["ran\n"] * 2
    assert len(team.job(job)["attempts"]) == 2


def test_a_job_that_calls_others_like_ours_deposes_no_bastion_and_keeps_none_from_its_start(
    team: Fleet, slurm: Cluster
) -> None:
    name = "name=$(squeue --me -h -o %j | head -n 1)"
    calls = 'sbatch --job-name="${name%@*}@999999999.dead" --output=/dev/null --wrap="exec sleep 600"'
    flags = (f"--env=SLURM_CONF={slurm.conf}", "--resources=gpu=1")
    job = team.submit("calls", *flags, run=f"{name}; {calls}; echo called; exec sleep 600")
    until(lambda: "called" in team.log(job))
    before = pid_of(team)
    until(lambda: any(f"has the name of worker 0 of {job}/0/0, but this bastion" in line for line in team.problems()))
    assert pid_of(team) == before
    assert team.run("bastion", "stop").returncode == 0
    team.ask("bastion", "create")
    with team.running("bastion", "start", "--takeover", "--poll=0.1") as third:
        until(lambda: pid_of(team) == third.pid)
        other = team.submit("other", "--resources=gpu=1", run="echo ran")
        assert team.wait(other) == 0
        assert team.run("launch", "stop", job, "--wait").returncode == 0
        until(lambda: any("and epoch" in line or "did not create it" in line for line in team.problems()))
        assert "@999999999.dead" in slurm.say("squeue", "-h", "-o", "%j")
        slurm.say("scancel", *slurm.say("squeue", "-h", "-o", "%i").split())


def pid_of(team: Fleet) -> int:
    """The bastion's process."""
    return int(team.ask("bastion", "status")["pid"])


def test_one_command_makes_a_bastion_for_a_cluster_that_is_there(tmp_path: Path, slurm: Cluster) -> None:
    here = Fleet(tmp_path)
    here.environ |= {"SLURM_CONF": str(slurm.conf), "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    for name in ("BASTION_NAME", "BASTION_BUCKET"):
        here.environ.pop(name)
    try:
        said = here.run("bastion", "create", "--runner=slurm", "--partition=main", *QUICK)
        assert said.returncode == 0, said
        assert "is active, so launch needs no flags" in said.stderr
        said = here.run("launch", "--bundler_type=none", "--follow", "--", "echo", "on Slurm")
        assert (said.returncode, said.stdout.splitlines()[0]) == (0, "on Slurm"), said
    finally:
        here.run("bastion", "delete", "--force", "--purge", "--yes")
        slurm.clear()
