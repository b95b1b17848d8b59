"""What a real Slurm does to our jobs, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence, Placement
from bastion.model.state.state import Cause
from bastion.testing.stage import HELLO, KEY, OTHER, SAVES, WAIT, Stage, order
from tests.slurm.cluster import Cluster
from tests.slurm.fleet import SlurmFleet


def wanted(key: AttemptKey, workers: int = 1, **resources: int) -> Placement:
    return Placement(key=key, resources=resources, replicas=workers, workers=workers, tier=0, epoch=1)


def start(fleet: SlurmFleet, command: str, placement: Placement) -> Stage:
    """Have a command run on nodes with these resources."""
    stage = Stage(fleet)
    stage.bucket.write(layout.order(placement.key), encode(order(placement.key, command, placement.workers)))
    fleet.runner.create(placement)
    return stage


def said(fleet: SlurmFleet, key: AttemptKey = KEY) -> str:
    """What an attempt waits for, as Slurm says now."""
    fleet.runner.list()
    return fleet.runner.waiting().get(key, "")


def refusal(fleet: SlurmFleet, placement: Placement) -> str:
    """What is said of an attempt that Slurm will not have."""
    with pytest.raises(NotReady):
        fleet.runner.create(placement)
    return said(fleet, placement.key)


def test_jobs_on_one_node_have_a_gpu_each_and_who_wants_none_has_none(fleet: SlurmFleet, slurm: Cluster) -> None:
    fleet = SlurmFleet(fleet.folder, slurm, sbatch=["--nodelist=n3"])
    show = "echo has=$CUDA_VISIBLE_DEVICES; exec sleep 600"
    stages = [(key, start(fleet, show, wanted(key, gpu=1))) for key in (KEY, OTHER)]
    fleet.until(lambda: all(stage.log(key) for key, stage in stages), "both words")
    assert {stage.log(key) for key, stage in stages} == {"has=0\n", "has=1\n"}
    fleet.close()
    third = AttemptKey("third-00000000", 0, 0)
    stage = start(fleet, show, wanted(third))
    fleet.until(lambda: bool(stage.log(third)), "its word")
    assert stage.log(third) == "has=\n"


def test_what_slurm_takes_away_is_not_the_jobs_fault(fleet: SlurmFleet, slurm: Cluster) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)  # ends of the signal at once, before its worker has understood
    slurm.say("scancel", machine.id.split("/")[0])
    facts = stage.ended()
    assert (facts.cause, facts.exit_code, facts.message) == (Cause.LOST, 143, "the machine is being taken away")


def test_a_notice_reaches_the_worker_and_not_the_jobs_own_processes(fleet: SlurmFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    stage.running(f"trap 'echo heard' TERM; echo started; until [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 3")
    stage.stop(Cause.PREEMPTED, grace_s=600.0)
    fleet.until(lambda: "heard" in stage.log(), "its answer")
    (tmp_path / "go").touch()
    assert stage.ended().cause is Cause.PREEMPTED
    assert stage.log().count("heard") == 1


def test_slurms_time_limit_gives_notice(fleet: SlurmFleet, slurm: Cluster) -> None:
    stage = Stage(fleet)
    machine = stage.running(SAVES)
    assert any("--signal=B:TERM@60" in argv for argv in slurm.asked)
    slurm.say("scancel", "--signal=TERM", "--batch", machine.id.split("/")[0])  # what that has Slurm do
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)


@pytest.mark.parametrize(
    ("options", "resources", "words"),
    [
        ({"partition": "nix"}, {}, ("nvalid partition", "change partition of [runner_options.slurm]")),
        ({"constraint": "nix"}, {}, ("nvalid feature", "change constraint")),
        ({"reservation": "nix"}, {}, ("reservation is invalid", "change reservation")),
        ({}, {"gpu": 3}, ("node configuration is not available", "ask for what its nodes have")),
        ({"sbatch": ["--nix"]}, {}, ("unrecognized option '--nix'", "change sbatch")),
    ],
)
def test_what_slurm_refuses_is_told_with_what_to_change(
    tmp_path: Path, slurm: Cluster, options: dict[str, object], resources: dict[str, int], words: tuple[str, str]
) -> None:
    fleet = SlurmFleet(tmp_path, slurm, **options)
    told = refusal(fleet, wanted(KEY, **resources))
    assert [word for word in words if word not in told] == []
    asked = len(slurm.asked)
    refusal(fleet, wanted(KEY, **resources))
    assert [argv[0] for argv in slurm.asked[asked:]] == ["squeue"]  # Slurm is not asked for it again at once


def test_what_a_job_waits_for_in_slurm_is_told(fleet: SlurmFleet) -> None:
    fleet.runner.create(wanted(KEY, 4, gpu=2))
    fleet.until(lambda: bool(fleet.runner.list()) and not said(fleet), "the first job's nodes")
    fleet.runner.create(wanted(OTHER, 4, gpu=2))
    fleet.until(lambda: "Slurm has no free nodes for it (Resources" in said(fleet, OTHER), "a reason")
    assert [machine.seen for machine in fleet.runner.list() if machine.key == OTHER] == [False] * 4


def test_more_nodes_than_there_are_is_told(fleet: SlurmFleet) -> None:
    fleet.runner.create(wanted(KEY, 9))
    fleet.until(lambda: "its partition has not so many nodes" in said(fleet), "a reason")


def test_a_python_that_is_not_there_is_told(fleet: SlurmFleet) -> None:
    fleet.runner.python = "/nix/python"
    fleet.runner.create(wanted(KEY))
    fleet.until(lambda: "could not start the worker" in said(fleet), "a reason")
    assert "/nix/python: not found; see python of [runner_options.slurm]" in said(fleet)
    assert fleet.runner.list() == []


def test_a_gang_is_deleted_when_this_was_asked_for_each_node(fleet: SlurmFleet) -> None:
    fleet.runner.create(wanted(KEY, 2))
    stage = Stage(fleet)
    fleet.until(lambda: all(stage.claim(worker=n) for n in range(2)), "two workers")
    first, second = fleet.runner.list()
    fleet.runner.delete(first.id)
    assert [fleet.runner.look(machine.id) for machine in (first, second)] == [MachineExistence.THERE] * 2
    fleet.runner.delete(second.id)
    fleet.until(lambda: fleet.runner.list() == [], "their end")


def test_a_job_that_slurm_forgot_is_gone(fleet: SlurmFleet, slurm: Cluster) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    stage.stop(Cause.CANCELLED, 0.0)
    stage.ended()
    number = machine.id.split("/")[0]
    fleet.until(lambda: "Invalid job id" in slurm.run(["squeue", "-j", number], limit_s=60).err, "Slurm to forget")
    assert fleet.runner.look(machine.id) is MachineExistence.GONE
    fleet.runner.delete(machine.id)


def test_a_node_that_crashed_is_gone_when_slurm_says_so(fleet: SlurmFleet, slurm: Cluster) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    node = slurm.say("squeue", "-h", "-o", "%N").strip()
    slurm.crash_node(node)
    try:
        assert stage.machines() == [machine]  # nobody knows yet
        slurm.say("scontrol", "update", f"nodename={node}", "state=down", "reason=test")  # as after SlurmdTimeout
        fleet.until(lambda: fleet.runner.look(machine.id) is MachineExistence.GONE, "the loss")
        assert stage.machines() == []
        assert fleet.runner.capacity() == {"cpu": 6, "memory": 6, "gpu": 6}
        stage.start(HELLO, OTHER)
        assert stage.ended(OTHER).cause is Cause.OK
    finally:
        slurm.return_node(node)


def test_a_restarted_slurmd_loses_nothing(fleet: SlurmFleet, slurm: Cluster) -> None:
    stage = Stage(fleet)
    machine = stage.running(SAVES)
    node = slurm.say("squeue", "-h", "-o", "%N").strip()
    slurm.kill(node)
    slurm.start_node(node)
    assert stage.machines() == [machine]
    slurm.until(lambda: "idle" not in slurm.say("sinfo", "-h", "-n", node, "-p", "main", "-o", "%T"), "the node")
    stage.stop(Cause.PREEMPTED, grace_s=60)
    assert stage.ended().exit_code == 9


def test_jobs_of_strangers_take_part_of_the_capacity(fleet: SlurmFleet, slurm: Cluster) -> None:
    watching = SlurmFleet(fleet.folder, slurm, observe_foreign=True)
    assert fleet.runner.capacity() == {"cpu": 8, "memory": 8, "gpu": 8}
    assert watching.runner.capacity() == {"cpu": 8, "memory": 8, "gpu": 8}
    slurm.say("sbatch", "--nodes=2", "--gres=gpu:2", "--output=/dev/null", "--wrap=sleep 600")
    slurm.until(lambda: "R" in slurm.say("squeue", "-h", "-o", "%t").split(), "the stranger's start")
    watching.runner.create(wanted(KEY, gpu=1))
    assert watching.runner.capacity() == {"cpu": 6, "memory": 8, "gpu": 4}
    assert fleet.runner.capacity() == {"cpu": 8, "memory": 8, "gpu": 8}
    asked = len(slurm.asked)
    assert {machine.key for machine in watching.runner.list()} == {KEY}
    watching.runner.capacity()
    assert [argv[0] for argv in slurm.asked[asked:]] == ["squeue", "squeue"]


def test_forty_jobs_run_once_each_and_a_pass_asks_once(fleet: SlurmFleet, slurm: Cluster) -> None:
    keys = [AttemptKey(f"many-{n:08x}", 0, 0) for n in range(40)]
    begin = fleet.folder / "begin"
    stages = [start(fleet, f"until [ -e {begin} ]; do sleep 0.2; done; echo ran", wanted(key)) for key in keys]
    asked = len(slurm.asked)
    assert {machine.key for machine in fleet.runner.list()} == set(keys)
    fleet.runner.capacity()
    fleet.runner.waiting()
    assert [argv[0] for argv in slurm.asked[asked:]] == ["squeue", "sinfo"]
    begin.touch()
    fleet.until(lambda: fleet.runner.list() == [], "the end of all")
    assert [stage.log(key) for key, stage in zip(keys, stages, strict=True)] == ["ran\n"] * 40


def test_a_job_that_gives_itself_another_name_is_there_and_no_other_is_cancelled_for_it(
    fleet: SlurmFleet, slurm: Cluster
) -> None:
    stage = Stage(fleet)
    machine = stage.running(WAIT)
    number = machine.id.split("/")[0]
    for name in ("innocent", f"test-12345678:{OTHER}@1.dead", "another-12345678:a-00000000/0/0@1.dead"):
        slurm.say("scontrol", "update", f"jobid={number}", f"jobname={name}")
        fleet.runner.list()
        assert fleet.runner.look(machine.id) is MachineExistence.THERE
        with pytest.raises(RunnerError, match=f"Slurm job {number} has another name now"):
            fleet.runner.delete(machine.id)
        assert fleet.runner.look(machine.id) is MachineExistence.THERE
    slurm.say("scancel", number)
    stage.gone(machine.id)
