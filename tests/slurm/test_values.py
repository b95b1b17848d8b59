"""What the runner of Slurm is told and tells, as values: options, names, what Slurm's commands print."""

from __future__ import annotations

import re
from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, CommandResult, Placement
from bastion.runners.slurm import parse, render
from bastion.runners.slurm.commands import SlurmRefused, _answer
from bastion.runners.slurm.render import SlurmJobName, SlurmNode
from bastion.runners.slurm.settings import SlurmSettings, faults

KEY = AttemptKey("train-12345678", 4, 1)
NAME = SlurmJobName("team:a-12345678", KEY, 7, "c0ffee")


def job(
    state: str = "RUNNING", reason: str = "(None)", name: str = str(NAME), code: str = "0", gres: str = "N/A"
) -> str:
    words = ["17", state, "main", "2", "4", gres, code, "no python", reason, "ada", name]
    return "".join(f"{word:<20}|" for word in words) + "\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"partition": "main; rm"}, "partition is 'main; rm'"),
        ({"account": "-A b"}, "account is '-A b'"),
        ({"constraint": "a100&ib|(x*2)"}, ""),
        ({"constraint": "a b"}, "constraint is 'a b'"),
        ({"ssh": "-oProxyCommand=x", "python": "/p"}, "ssh is '-oProxyCommand=x'"),
        ({"ssh": "ada@login"}, "ssh needs python too"),
        ({"ssh": "ada@login", "python": "/p/python"}, ""),
        ({"python": "python3"}, "python is 'python3'"),
        ({"work": "/scratch\n/x"}, "work is"),
        ({"gres": {"h100": "gpu:h100"}}, ""),
        ({"gres": {"h100": "gpu h100"}}, "gres of h100 is 'gpu h100'"),
        ({"sbatch": ["--time=3-00", "--exclusive"]}, ""),
        ({"sbatch": ["-t", "3"]}, "sbatch has '-t'"),
        ({"sbatch": ["--wrap=x"]}, "sbatch has --wrap, which the runner sets itself"),
        ({"sbatch": ["--x"] * 33}, "sbatch has 33 flags"),
        ({"notice_s": 5}, "notice_s is 5"),
        ({"poll_s": float("nan")}, "poll_s is nan"),
        ({"poll_s": 0.1}, "poll_s is 0.1"),
        ({"partiton": "main"}, "partiton is no option; use partition,"),
        ({"sbatch": "--exclusive"}, "sbatch is of a wrong type: Expected `array`"),
        ({"observe_foreign": True}, ""),
    ],
)
def test_options_are_checked(options: dict[str, Any], said: str) -> None:
    found = faults(options)
    assert said in found[0] if said else found == [], found


def test_names_and_ids_say_what_they_are_of() -> None:
    assert render.name_of(str(NAME)) == NAME
    assert render.node_of(str(SlurmNode(17, 1, "c0ffee"))) == SlurmNode(17, 1, "c0ffee")
    assert render.node_of(str(SlurmNode(17, 1, "c0ffee", NAME))) == SlurmNode(17, 1, "c0ffee", NAME)
    for strange in ("", "sh", "a:b/c/d@e.f", "17/1", f"{NAME} "):
        assert render.name_of(strange) is None
        assert render.node_of(strange) is None


def test_nothing_of_a_setting_or_a_job_is_run_by_the_shell() -> None:
    settings = SlurmSettings(work="/w'; touch x; '")
    placement = Placement(key=KEY, resources={"gpu": 1}, replicas=1, workers=1, tier=0, epoch=7)
    text = render.script(settings, "/p $(x)", NAME, placement, {"bucket": "file:///b `x`"})
    assert "\ntrap 'scancel --signal=URG \"$SLURM_JOB_ID\"' TERM\n" in text
    worker = render._worker(settings, "/p $(x)", NAME, {"gpu": 1}, {"bucket": "file:///b `x`"})
    assert """work='/w'"'"'; touch x; '"'"''""" in worker
    assert "'/p $(x)' -I -m bastion worker" in worker
    assert "--bucket='file:///b `x`'" in worker


def test_the_wish_is_told_in_slurms_words() -> None:
    settings = SlurmSettings(partition="main", qos="high", gres={"v100": "gpu:tesla"}, sbatch=["--time=1-0"])
    wanted = {"cpu": 8, "memory": 32, "v100": 2, "h100": 1, "gpu": 0}
    placement = Placement(key=KEY, resources=wanted, replicas=3, workers=3, tier=0, epoch=7)
    argv = render.sbatch(settings, NAME, placement)
    assert {"--nodes=3", "--cpus-per-task=8", "--mem=32G", "--gres=gpu:tesla:2,gpu:h100:1"} <= set(argv)
    assert {"--partition=main", "--qos=high", "--no-requeue", "--time=1-0", f"--job-name={NAME}"} <= set(argv)
    assert not [word for word in argv if word.startswith(("--account", "--reservation", "--constraint"))]


def test_what_a_job_claims_to_be_is_in_its_name_and_who_made_it_beside_it() -> None:
    (found,) = parse.jobs_of(job())
    rows = [(m.id, m.key, m.worker, m.epoch, m.seen) for m in found.machines(ours=True)]
    assert rows == [(f"17/0/{NAME}", KEY, 0, 7, True), (f"17/1/{NAME}", KEY, 1, 7, True)]
    without_proof = list(found.machines(ours=False))
    assert [(m.id, m.ours, m.origin) for m in without_proof][1] == ("17/1/c0ffee", False, "Slurm job 17 of ada")
    assert parse.scope_of([found], "team:a-12345678") == {17: found}
    assert parse.scope_of([found], "team") == {}
    (stranger,) = parse.jobs_of(job(name="train | my | net"))
    assert (stranger.name, list(stranger.machines(ours=True))) == (None, [])
    assert list(parse.jobs_of("slurm_load_jobs error\n\n17|RUNNING|\n")) == []


@pytest.mark.parametrize(
    ("state", "alive", "seen"),
    [("PENDING", True, False), ("CONFIGURING", True, False), ("COMPLETING", True, True), ("SUSPENDED", True, True)]
    + [
        (state, False, False)
        for state in ("COMPLETED", "NODE_FAIL", "PREEMPTED", "TIMEOUT", "CANCELLED", "OUT_OF_MEMORY")
    ]
    + [("NEVER_HEARD_OF", True, True)],
)
def test_only_states_that_are_known_to_be_ends_are_ends(state: str, alive: bool, seen: bool) -> None:
    (found,) = parse.jobs_of(job(state))
    assert found.alive is alive
    assert [machine.seen for machine in found.machines(ours=True)] == ([seen] * 2 if alive else [])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (job("PENDING"), ""),
        (job("PENDING", "(Resources)"), "Slurm job 17: Slurm has no free nodes for it (Resources)"),
        (job("PENDING", "(ReqNodeNotAvail, UnavailableNodes:n1)"), "(ReqNodeNotAvail, UnavailableNodes:n1)"),
        (job("PENDING", "(Prolog)"), "Slurm job 17 waits (Prolog)"),
        (job("PENDING", "(AssocGrpGRES)"), "Slurm job 17: its account or user is at a limit of Slurm's (AssocGrpGRES)"),
        (job("PENDING", "(QOSMaxJobsPerUserLimit)"), "its QOS is at a limit of Slurm's (QOSMaxJobsPerUserLimit)"),
        (job("PENDING", "(QOSNotAllowed)"), "its QOS may not use its partition (QOSNotAllowed)"),
        (job("CONFIGURING"), "its nodes are being set up"),
        (job("RUNNING"), ""),
        (job("FAILED", code="17920"), "could not start the worker: no python"),
        (job("FAILED", code="70:0"), "could not start the worker: no python"),
        (job("FAILED", code="18688"), "has no folder on its nodes"),
        (job("FAILED", code="256"), ""),
    ],
)
def test_what_a_job_waits_for_is_told_in_words(row: str, said: str) -> None:
    (found,) = parse.jobs_of(row)
    told = parse.said_of(found)
    assert said in told if said else told == ""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Unable to contact slurm controller (connect failure)", "Slurm does not answer sbatch: "),
        ("Incompatible versions of client and server code", "Slurm does not answer sbatch: "),
        ("Slurm backup controller in standby mode", "Slurm does not answer sbatch: "),
        ("Invalid partition name specified", "change partition of"),
        ("Invalid account or account/partition combination specified", "change account or partition of"),
        (
            "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
            "change account or qos of",
        ),
        (
            "Requested time limit is invalid (missing or exceeds some limit)",
            "Slurm refuses: Requested time limit is invalid",
        ),
    ],
)
def test_who_does_not_answer_and_who_refuses_are_told_apart(said: str, told: str) -> None:
    answer = CommandResult(1, "", f"sbatch: error: Batch job submission failed: {said}\n")
    with pytest.raises(RunnerError, match=re.escape(told)) as found:
        _answer(["sbatch"], answer)
    assert isinstance(found.value, SlurmRefused) is not told.startswith("Slurm does not answer")


def test_accelerators_are_counted_by_their_kinds() -> None:
    assert parse.gpus_of("gpu:h100:8(S:0-1),gpu:2,shard:4", {}) == {"h100": 8, "gpu": 2}
    assert parse.gpus_of("gpu:tesla:4(IDX:0,2-3)", {"v100": "gpu:tesla"}) == {"v100": 4}
    assert parse.gpus_of("gpu:a100:8", {"gpu": "gpu"}) == {"gpu": 8}
    assert parse.gpus_of("gres:gpu:2", {}) == {"gpu": 2}
    assert parse.gpus_of("(null)", {}) == parse.gpus_of("N/A", {}) == {}


def test_only_nodes_in_service_and_of_the_partition_count() -> None:
    rows = [("main*", "idle"), ("main*", "mixed"), ("main*", "drained"), ("main*", "down*"), ("main*", "idle*")]
    text = "".join(f"{of:<9}|n  |8 |65536 |{state:<9}|gpu:h100:8 |\n" for of, state in [*rows, ("other", "idle")])
    assert parse.capacity_of(text, "main", {}) == {"cpu": 24, "memory": 192, "h100": 24}
    assert parse.capacity_of(text, "", {}) == parse.capacity_of(text, "main", {})
    assert parse.capacity_of(text, "other", {}) == {"cpu": 8, "memory": 64, "h100": 8}
    assert parse.capacity_of(text, "nix", {}) is None


def test_strangers_jobs_count_and_ours_do_not() -> None:
    rows = list(parse.jobs_of(job(gres="gpu:h100:4", name="theirs") + job(gres="gpu:h100:4")))
    assert parse.used_by_strangers(rows, NAME.scope, "main", {}) == {"cpu": 4, "h100": 8}
    assert parse.used_by_strangers(rows, NAME.scope, "other", {}) == {}
