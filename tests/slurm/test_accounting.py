"""A real Slurm with accounting: what it refuses and holds back is told, and nothing that it does loses a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.journal import logs
from bastion.model import layout
from bastion.model.state.state import Cause
from bastion.testing.stage import HELLO, KEY, SAVES, Stage
from tests.slurm.accounting import Accounted
from tests.slurm.cluster import cluster
from tests.slurm.fleet import SlurmFleet
from tests.slurm.team import start
from tests.slurm.test_runner import refusal, said, wanted
from tests.support.fleet import until


@pytest.fixture(scope="module")
def slurm() -> Iterator[Accounted]:
    """A Slurm that knows accounts, and enforces their limits."""
    with cluster(Accounted) as running:
        yield running


def ended(slurm: Accounted, job: str) -> str:
    """How Slurm's accounting says that a job ended."""
    return slurm.say("sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={job}", "--format=State").strip()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"account": "nix"}, ("nvalid account", "change account or partition of [runner_options.slurm]")),
        ({"account": "ml", "qos": "nix"}, ("nvalid qos", "change qos")),
    ],
)
def test_an_account_or_a_qos_that_is_not_there_is_told(
    tmp_path: Path, slurm: Accounted, options: dict[str, str], words: tuple[str, str]
) -> None:
    told = refusal(SlurmFleet(tmp_path, slurm, **options), wanted(KEY))
    assert [word for word in words if word not in told] == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"account": "small"}, "its account or user is at a limit of Slurm's (AssocGrpCpuLimit)"),
        (
            {"account": "ml", "qos": "short", "sbatch": ["--time=5"]},
            "its QOS is at a limit of Slurm's (QOSMaxWallDurationPerJobLimit)",
        ),
    ],
)
def test_a_limit_that_holds_a_job_back_is_told_and_the_job_can_be_deleted(
    tmp_path: Path, slurm: Accounted, options: dict[str, str], words: str
) -> None:
    fleet = SlurmFleet(tmp_path, slurm, **options)
    fleet.runner.create(wanted(KEY, cpu=2))
    fleet.until(lambda: words in said(fleet), "a reason")
    (machine,) = fleet.runner.list()
    assert not machine.seen
    fleet.runner.delete(machine.id)
    fleet.until(lambda: fleet.runner.list() == [], "its end")


def test_slurms_books_say_how_jobs_ended(fleet: SlurmFleet, slurm: Accounted) -> None:
    stage = Stage(fleet)
    done = stage.running(HELLO).id.split("/")[0]
    slurm.until(lambda: ended(slurm, done) == "COMPLETED", "its end in the books")  # of what is not deleted before
    assert stage.ended().cause is Cause.OK
    fleet = SlurmFleet(fleet.folder / "again", slurm)
    machine = Stage(fleet).running(SAVES)
    fleet.runner.delete(machine.id)
    # The step is killed first: the script of the job may have ended by that before the job itself is cancelled.
    ways = ("CANCELLED", "FAILED")
    slurm.until(lambda: ended(slurm, machine.id.split("/")[0]).startswith(ways), "its end in the books")


def test_an_accounting_that_is_away_is_not_missed(fleet: SlurmFleet, slurm: Accounted) -> None:
    slurm.kill("accounting")
    try:
        stage = Stage(fleet)
        job = stage.running(HELLO).id.split("/")[0]
        stage.fleet.until(lambda: logs.survey(stage.bucket, layout.log(KEY, 0)).ended, "its end")
    finally:
        slurm.start_daemon()
    slurm.until(lambda: ended(slurm, job) == "COMPLETED", "its end in the books")
    assert stage.ended().cause is Cause.OK


def test_a_job_waits_for_its_accounts_limit_says_so_and_runs_when_it_is_lifted(
    tmp_path: Path, slurm: Accounted
) -> None:
    here = start(tmp_path, slurm, account="small")
    try:
        job = here.submit("wide", "--resources=cpu=2", run="echo ran")
        until(lambda: "at a limit of Slurm's (AssocGrpCpuLimit)" in here.run("launch", "why", job).stdout)
        slurm.say("sacctmgr", "-i", "modify", "account", "small", "set", "GrpTRES=cpu=-1")
        assert here.wait(job) == 0
        assert here.log(job) == "ran\n"
        assert len(here.job(job)["attempts"]) == 1
    finally:
        slurm.say("sacctmgr", "-i", "modify", "account", "small", "set", "GrpTRES=cpu=1")
        here.close()
