"""The only slice of a fleet falls silent as a whole: who is gone is lost at once, who is there is waited for, for an hour."""

from __future__ import annotations

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.job.spec import new_jobspec
from bastion.model.state.state import AttemptState, Cause
from bastion.model.stored.requests import Submit
from bastion.service.liveness import FROZEN_MAX_S
from bastion.service.tick import Bastion
from tests.sim.test_outage import Cut
from tests.sim.test_zombie import play

HOSTS = 4


class Slice(Cut):
    """One job on four hosts, and nothing else."""

    def begins(self) -> Bastion:
        bastion = self.bastion(1)
        spec = new_jobspec(name="j", user="ann", project="red", command="quick", resources={"v4": 1}, replicas=HOSTS)
        self.bucket.create(layout.request("ann", "j0000000"), encode(Submit(spec=spec)))
        self.go_on(bastion, 60)
        assert self.attempts(bastion) == [AttemptState.RUNNING]
        assert len(self.hosts) == HOSTS
        return bastion

    def attempts(self, bastion: Bastion) -> list[AttemptState]:
        (job,) = bastion.journal.state.jobs.values()
        return [attempt.state for attempt in job.tasks[0].attempts]

    def silent(self, seconds: float) -> None:
        """Its hosts are cut off from the store, and nobody else is."""
        for way in self.ways:
            way.cut_until = self.kernel.now + seconds


def test_hosts_that_are_gone_are_lost_at_once_although_all_are_silent() -> None:
    def story(stage: Slice) -> None:
        bastion = stage.begins()
        for host in list(stage.hosts.values()):
            host.kill()
        stage.go_on(bastion, 60)
        assert stage.attempts(bastion) == [AttemptState.ENDED, AttemptState.RUNNING]

    play(story, Slice)


def test_hosts_that_are_there_are_waited_for() -> None:
    def story(stage: Slice) -> None:
        bastion = stage.begins()
        stage.silent(FROZEN_MAX_S - 120)
        stage.go_on(bastion, FROZEN_MAX_S)
        assert stage.attempts(bastion) == [AttemptState.RUNNING]
        assert len(stage.hosts) == HOSTS

    play(story, Slice)


def test_hosts_that_are_silent_for_more_than_an_hour_are_stopped_and_replaced_when_they_are_gone() -> None:
    def story(stage: Slice) -> None:
        bastion = stage.begins()
        old = set(stage.hosts)
        stage.silent(10 * FROZEN_MAX_S)
        stage.go_on(bastion, FROZEN_MAX_S - 60)
        assert stage.attempts(bastion) == [AttemptState.RUNNING]
        bastion.context.runners["local"].blind = True  # type: ignore[attr-defined]
        stage.go_on(bastion, 600)
        assert stage.attempts(bastion) == [AttemptState.STOPPING], "nothing is free that is not known to be gone"
        bastion.context.runners["local"].blind = False  # type: ignore[attr-defined]
        stage.go_on(bastion, 120)
        assert stage.attempts(bastion) == [AttemptState.ENDED, AttemptState.RUNNING]
        assert not any(stage.hosts[name].there for name in old)
        (job,) = bastion.journal.state.jobs.values()
        assert job.tasks[0].attempts[0].stopping is Cause.LOST

    play(story, Slice)
