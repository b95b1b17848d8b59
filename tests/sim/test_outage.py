"""The store is away for an hour: what runs goes on, nobody is lost for it, and the logs are caught up without gaps."""

from __future__ import annotations

import re

import pytest

from bastion.journal import logs
from bastion.journal.recover import load
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import Bucket, Machine
from bastion.model.job.spec import new_jobspec
from bastion.model.state.state import AttemptState, JobState
from bastion.model.stored.requests import Submit
from bastion.runners.worker.interfaces import WorkerPace
from bastion.service.tick import Bastion
from tests.sim.test_zombie import Stage, play
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimProcess
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.store import SimBucket

HOUR_S = 3600.0
LINES = 5_000


class Cut(Stage):
    """A stage whose machines have ways of their own to the store, and whose jobs print a line a second."""

    spool_bytes = WorkerPace().spool_bytes

    def __init__(self) -> None:
        super().__init__()
        self.ways: list[SimBucket] = []

    def bastion(self, pid: int) -> Bastion:
        found = super().bastion(pid)
        runner = found.context.runners["local"]
        assert isinstance(runner, SimRunner)
        runner._bucket_of, runner._pace = self.way, WorkerPace(spool_bytes=self.spool_bytes)
        return found

    def way(self, _: Machine) -> Bucket:
        self.ways.append(SimBucket(self.store))
        return self.ways[-1]

    def quick(self, process: SimProcess) -> int:
        for number in range(LINES):
            process.print(f"line {number}\n")
            process.sleep(1)
        return 0

    def jobs(self, number: int) -> None:
        for each in range(number):
            spec = new_jobspec(name=f"j{each}", user="ann", project="red", command="quick", resources={"v4": 1})
            self.bucket.create(layout.request("ann", f"j{each}0000000"), encode(Submit(spec=spec)))

    def cut(self, seconds: float, late_s: float) -> None:
        """The bastion is away from the store for so long, and machines a little longer."""
        self.bucket.cut_until = self.kernel.now + seconds
        for way in self.ways:
            way.cut_until = self.kernel.now + seconds + late_s

    def log(self, machine: Machine) -> str:
        extent = logs.survey(SimBucket(self.store), layout.log(machine.key, 0))
        return b"".join(logs.read(self.bucket, extent.segments)).decode()


@pytest.mark.parametrize(("jobs", "late_s"), [(1, 0.0), (1, 200.0), (3, 0.0), (6, 20.0)])
def test_an_hour_without_the_store_costs_no_job_anything(jobs: int, late_s: float) -> None:
    def story(stage: Cut) -> None:
        bastion = stage.bastion(1)
        stage.jobs(jobs)
        stage.go_on(bastion, 60)
        stage.cut(HOUR_S, late_s)
        stage.go_on(bastion, HOUR_S + 300)
        live = bastion.journal.state.live_attempts()
        assert [(attempt.number, attempt.state) for _, _, attempt in live] == [(0, AttemptState.RUNNING)] * jobs
        assert len(stage.hosts) == jobs
        assert (bastion.journal.epoch, dict(bastion.problems)) == (1, {})
        stage.go_on(bastion, LINES)
        assert {job.state for job in bastion.journal.state.jobs.values()} == {JobState.SUCCEEDED}
        assert len(stage.hosts) == jobs
        for host in stage.hosts.values():
            assert stage.log(host.machine) == "".join(f"line {number}\n" for number in range(LINES))

    play(story, Cut)


def test_a_store_that_is_away_is_told_while_it_is() -> None:
    def story(stage: Cut) -> None:
        bastion = stage.bastion(1)
        stage.go_on(bastion, 20)
        stage.cut(HOUR_S, 0.0)
        stage.go_on(bastion, 60)
        assert bastion.problems["inbox"] == "cut off"
        assert bastion.window.may_act() is False

    play(story, Cut)


def test_a_job_that_was_submitted_while_the_bastion_was_cut_off_runs_after() -> None:
    def story(stage: Cut) -> None:
        bastion = stage.bastion(1)
        stage.go_on(bastion, 20)
        stage.cut(HOUR_S, 0.0)
        other = SimBucket(stage.store)
        stage.kernel.spawn(Life(), lambda: _submit(other), 600)
        stage.go_on(bastion, HOUR_S + 60)
        assert [job.state for job in bastion.journal.state.jobs.values()] == [JobState.RUNNING]
        assert load(other).epoch == 1

    play(story, Cut)


def _submit(bucket: SimBucket) -> None:
    spec = new_jobspec(name="late", user="ann", project="red", command="quick", resources={"v4": 1})
    bucket.create(layout.request("ann", "late0000"), encode(Submit(spec=spec)))


def test_a_spool_that_overflows_drops_the_newest_bytes_and_says_exactly_how_many() -> None:
    class Small(Cut):
        spool_bytes = 4_096

    def story(stage: Cut) -> None:
        bastion = stage.bastion(1)
        stage.jobs(1)
        stage.go_on(bastion, 60)
        stage.cut(HOUR_S, 0.0)
        stage.go_on(bastion, HOUR_S + LINES)
        (host,) = stage.hosts.values()
        told = stage.log(host.machine)
        whole = "".join(f"line {number}\n" for number in range(LINES))
        (found,) = re.finditer(r"\n\[bastion\] dropped (\d+) bytes of output here: .*\n", told)
        before, after = told[: found.start()], told[found.end() :]
        assert whole.startswith(before)
        assert whole.endswith(after)
        assert len(before) + int(found[1]) + len(after) == len(whole)
        assert "line 60\n" in before
        assert after.endswith(f"line {LINES - 1}\n")

    play(story, Small)
