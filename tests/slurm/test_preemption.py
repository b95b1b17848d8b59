"""A real Slurm that preempts our jobs for others', starts one again, and ends what has reached its partition's time limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause
from bastion.testing.stage import KEY, SAVES, WAIT, Stage, order
from tests.slurm.cluster import Cluster
from tests.slurm.fleet import SlurmFleet
from tests.slurm.test_runner import wanted

TAKEN = "the machine is being taken away"


@pytest.fixture(autouse=True)
def nothing_is_left(slurm: Cluster) -> Iterator[None]:
    """Whatever a test comes to, the next one has all nodes."""
    yield
    slurm.clear()


@pytest.mark.parametrize("partition", ["cancelled", "requeued"])
def test_who_makes_way_for_others_has_notice_and_grace_and_is_never_started_again(
    tmp_path: Path, slurm: Cluster, partition: str
) -> None:
    fleet = SlurmFleet(tmp_path, slurm, partition=partition)
    stage = Stage(fleet)
    machine = stage.running(SAVES)
    slurm.say("sbatch", "--partition=first", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 600")
    facts = stage.ended()
    assert (facts.cause, facts.exit_code, facts.message) == (Cause.LOST, 9, TAKEN)
    assert "saved" in stage.log().splitlines()  # a shell may say of its sleep, too, that it was ended
    number = machine.id.split("/")[0]
    assert number not in slurm.say("squeue", "--noheader", "--states=PD,R", "--format=%i").split()


def test_a_gang_that_makes_way_has_notice_on_each_of_its_nodes(tmp_path: Path, slurm: Cluster) -> None:
    fleet = SlurmFleet(tmp_path, slurm, partition="cancelled")
    stage = Stage(fleet)
    stage.bucket.write(layout.order(KEY), encode(order(KEY, SAVES, 2)))
    fleet.runner.create(wanted(KEY, 2))
    stage.meet(2)
    fleet.until(lambda: all(stage.log(worker=n) for n in range(2)), "both words")
    slurm.say("sbatch", "--partition=first", "--nodes=4", "--exclusive", "--output=/dev/null", "--wrap=sleep 600")
    assert [(facts.cause, facts.exit_code) for facts in (stage.ended(worker=n) for n in range(2))] == [
        (Cause.LOST, 9)
    ] * 2


def test_a_partitions_time_limit_gives_notice(tmp_path: Path, slurm: Cluster) -> None:
    fleet = SlurmFleet(tmp_path, slurm, partition="brief")  # of a minute, and notice comes a minute before
    stage = Stage(fleet)
    stage.running(SAVES)
    facts = stage.ended()
    assert (facts.cause, facts.exit_code, facts.message) == (Cause.LOST, 9, TAKEN)


def test_a_worker_that_an_administrator_has_started_again_meets_the_claim_of_the_first(
    fleet: SlurmFleet, slurm: Cluster
) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    number = machine.id.split("/")[0]
    refused = slurm.run(["scontrol", "requeue", number], limit_s=60)
    assert "disabled" in refused.err
    claim = stage.claim()
    slurm.say("scontrol", "update", f"jobid={number}", "requeue=1")
    slurm.say("scontrol", "requeue", number)
    slurm.until(lambda: "Restarts=1" in slurm.say("scontrol", "show", "job", number), "its place in the queue")

    def is_over() -> bool:
        slurm.run(["scontrol", "update", f"jobid={number}", "starttime=now"], limit_s=60)  # not in two minutes
        return not stage.machines()

    slurm.until(is_over, "the end of the second start")
    assert "JobState=COMPLETED" in slurm.say("scontrol", "show", "job", number)
    assert stage.ended().cause is Cause.LOST
    assert (stage.claim(), stage.log()) == (claim, "started\n")
