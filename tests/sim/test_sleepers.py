"""Who sleeps for a month and wakes does no harm: bastions, machines, and clients, when all that knew them is forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.cli.bastion.delete import purge
from bastion.journal import snapshot, tombstones
from bastion.journal.recover import load, objects
from bastion.journal.retirement import KEEP
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import LeadershipLost
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.job.spec import new_jobspec
from bastion.model.layout import job_id
from bastion.model.state.state import JobState
from bastion.model.stored.events import RequestRejected, Started
from bastion.model.stored.requests import Submit
from bastion.schedule.desired import first_order
from bastion.service.tick import Bastion
from tests.sim.test_zombie import Stage, play
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimProcess
from tests.simulation.scene import QUOTA

MONTH_S = (KEEP + timedelta(days=1)).total_seconds()


class Months(Stage):
    """A stage whose commands count their runs; time passes on it by months."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []

    def quick(self, process: SimProcess) -> int:
        self.runs.append(process.env["BASTION_JOB"])
        process.print("done\n")
        return 0

    def job(self, bastion: Bastion, name: str) -> str:
        """A job that runs and ends."""
        spec = new_jobspec(name=name, user="ann", project="red", command="quick", resources={"v4": 1})
        self.bucket.create(layout.request("ann", f"{name}0000000"), encode(Submit(spec=spec)))
        self.go_on(bastion, 60)
        job = job_id(name, f"{name}0000000")
        assert bastion.journal.state.jobs[job].state is JobState.SUCCEEDED
        return job

    def forget(self, bastion: Bastion, job: str) -> None:
        """A month goes by, and nobody knows the job any more."""
        self.kernel.sleep(MONTH_S)
        self.go_on(bastion, 3_700)
        state = bastion.journal.state
        assert job not in state.jobs
        assert not any(name.startswith("ann/") for name in state.requests)
        left = [key for key in self.store.objects if job in key and not key.startswith((layout.ENDED, layout.LOGS))]
        assert left == []

    def comes_late(self, job: str, epoch: int) -> SimRunner:
        """A machine of the job's attempt that was asked for a month ago."""
        runner = SimRunner(self.kernel, lambda _: self.bucket, self.scripts(), self.hosts)
        key = AttemptKey(job, 0, 0)
        runner.create(Placement(key=key, resources={"v4": 1}, replicas=1, workers=1, tier=0, epoch=epoch))
        return runner


def story(tell: object) -> None:
    play(tell, Months)  # type: ignore[arg-type]


def test_a_machine_that_comes_when_its_claim_and_order_are_removed_runs_nothing_and_ends() -> None:
    def tell(stage: Months) -> None:
        bastion = stage.bastion(1)
        job = stage.job(bastion, "first")
        stage.forget(bastion, job)
        stage.comes_late(job, epoch=1)
        stage.kernel.sleep(30)
        assert stage.runs == [job]
        assert not any(host.there for host in stage.hosts.values()), "nobody had to end it"

    story(tell)


def test_not_even_if_a_bastion_that_slept_writes_the_order_anew() -> None:
    def tell(stage: Months) -> None:
        bastion = stage.bastion(1)
        job = stage.job(bastion, "first")
        stage.forget(bastion, job)
        spec = new_jobspec(name="first", user="ann", project="red", command="quick", resources={"v4": 1})
        key = AttemptKey(job, 0, 0)
        stage.bucket.create(layout.order(key), encode(first_order(key, spec, workers=1)))
        stage.comes_late(job, epoch=1)
        stage.kernel.sleep(60)
        assert stage.runs == [job]

    story(tell)


def test_a_machine_that_slept_through_the_end_of_its_job_ends_when_it_wakes() -> None:
    def tell(stage: Months) -> None:
        bastion = stage.bastion(1)
        stage.submit("first")
        stage.go_on(bastion, 20)
        (host,) = stage.hosts.values()
        assert host.process is not None
        job = host.machine.key.job
        wakes = stage.kernel.now + 2 * MONTH_S
        host.worker.paused_until = host.process.life.paused_until = wakes
        tombstones.leave(stage.bucket, bastion.journal.state.jobs[job])  # the runner said that it was gone: it lied
        stage.bucket.delete([layout.claim(host.machine.key, 0), layout.order(host.machine.key)])
        stage.kernel.sleep(2 * MONTH_S + 60)
        assert not host.there

    story(tell)


def test_a_bastion_that_slept_for_a_month_is_deposed_before_it_touches_anything() -> None:
    def tell(stage: Months) -> None:
        old = stage.bastion(1)
        stage.go_on(old, 20)
        new = stage.bastion(2)
        job = stage.job(new, "first")
        stage.forget(new, job)
        late = stage.comes_late(job, epoch=2)
        before = {key: value for key, value in stage.store.objects.items() if not key.startswith(layout.INBOX)}
        with pytest.raises(LeadershipLost):
            stage.go_on(old, 60)
        assert {key: value for key, value in stage.store.objects.items() if key in before} == before
        stage.kernel.sleep(30)
        assert late.listings == 0
        assert stage.runs == [job]

    story(tell)


def test_a_request_that_is_sent_again_when_its_job_is_forgotten_makes_no_second_one() -> None:
    def tell(stage: Months) -> None:
        bastion = stage.bastion(1)
        job = stage.job(bastion, "first")
        stage.forget(bastion, job)
        spec = new_jobspec(name="first", user="ann", project="red", command="quick", resources={"v4": 1})
        stage.bucket.create(layout.request("ann", "first0000000"), encode(Submit(spec=spec)))
        stage.go_on(bastion, 60)
        assert stage.runs == [job]
        told = [event.reason for record in objects(stage.bucket, 0) for event in record.events
                if isinstance(event, RequestRejected)]  # fmt: skip
        assert told == ["a job of this id was here before and ended long ago; submit it again"]
        assert stage.job(bastion, "other") in stage.runs

    story(tell)


@pytest.mark.parametrize("again", [False, True], ids=["purged", "purged and created again"])
def test_a_bastion_that_slept_through_a_purge_of_the_journal_is_fenced_off(again: bool) -> None:
    def tell(stage: Months) -> None:
        old = stage.bastion(1)
        stage.submit("first")
        stage.go_on(old, 20)
        for host in stage.hosts.values():
            host.kill()
        new = stage.bastion(2)
        stage.go_on(new, 200)
        new.close()
        purge(stage.bucket)
        assert len(stage.store.objects) == 2
        stage.store.put("write", layout.QUOTA, QUOTA)
        other = stage.bastion(3) if again else None
        if other is not None:
            assert other.journal.epoch == 4
            assert not other.journal.state.jobs
            stage.go_on(other, 20)
        stage.kernel.sleep(MONTH_S)
        if other is not None:
            stage.go_on(other, 10)
        machines = len(stage.hosts)
        with pytest.raises(LeadershipLost):
            stage.go_on(old, 200)
        stage.kernel.sleep(60)
        assert len(stage.hosts) == machines, "it has begun nothing"
        assert not any(host.there for host in list(stage.hosts.values())[machines:])
        if other is not None:
            stage.go_on(other, 30)
            stage.job(other, "later")
        assert load(stage.bucket).epoch == (4 if again else 3)

    story(tell)


def test_a_bastion_begins_where_a_purge_ended_whatever_its_journal_was() -> None:
    def tell(stage: Months) -> None:
        first = stage.bastion(1)
        stage.job(first, "first")
        first.close()
        end = first.journal.state.seq
        stage.bucket.delete([layout.STATUS, layout.journal(0)])  # a hole: nothing of it could be folded
        kept = snapshot.end_for_good(stage.bucket)
        assert kept[0] == layout.snapshot(end + 1)
        stage.bucket.delete([stat.key for stat in stage.bucket.list("") if stat.key not in kept])
        second = stage.bastion(2)
        assert second.journal.epoch > 1
        assert second.journal.state.seq > end
        assert not [event for record in objects(stage.bucket, end + 1) for event in record.events
                    if isinstance(event, Started)]  # fmt: skip

    story(tell)
