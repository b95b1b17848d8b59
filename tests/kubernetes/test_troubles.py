"""A cluster that refuses, goes away, or becomes another: each a reason on the job, no job lost, no pod doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence, Placement
from bastion.model.state.state import Cause
from bastion.runners.kubernetes.listing import AGAIN_S, ANEW_S, LATE_S
from bastion.runners.kubernetes.runner import PAUSE_S
from bastion.testing.stage import KEY, OTHER, Stage, placement
from tests.kubernetes.fake.kubelet import Node
from tests.kubernetes.fleet import KubernetesFleet
from tests.kubernetes.test_runner import NoClock

Make = Callable[..., KubernetesFleet]


@pytest.fixture
def clock() -> NoClock:
    return NoClock()


@pytest.fixture
def make(tmp_path: Path, clock: NoClock) -> Iterator[Make]:
    """Fleets by a clock that stands still, in a cluster without nodes."""
    fleets = []

    def maker(**more: Any) -> KubernetesFleet:
        fleet = KubernetesFleet(tmp_path / str(len(fleets)), **more)
        fleets.append(fleet)
        fleet.cluster.without_nodes()
        fleet.runner = fleet.by(clock)
        return fleet

    yield maker
    for fleet in fleets:
        fleet.close()


def reason(fleet: KubernetesFleet, key: AttemptKey = KEY) -> str:
    fleet.runner.list()
    return fleet.runner.waiting().get(key, "")


@pytest.mark.parametrize(
    ("code", "message", "advice"),
    [
        (403, "exceeded quota: team, requested: count/jobsets=1, used: 5, limited: 5", "; wait until other pods end"),
        (400, 'admission webhook "policy.example" denied the request: no team label', ""),
        (422, 'JobSet "x" is invalid: spec.template.spec.containers[0].image: Required value', ""),
        (404, 'namespaces "ml" not found', "; ask an admin of the cluster to create it"),
        (403, 'jobsets is forbidden: User "u" cannot create resource "jobsets"', "; ask an admin of the cluster for"),
    ],
)
def test_what_is_refused_says_why_and_is_asked_for_again_in_a_minute(
    make: Make, clock: NoClock, code: int, message: str, advice: str
) -> None:
    fleet = make()
    fleet.cluster.fails("POST .*jobsets", code, message=message)
    with pytest.raises(RunnerError, match="Kubernetes refuses POST"):
        fleet.runner.create(placement(KEY))
    assert f": {message}{advice}" in reason(fleet)
    asked = fleet.client.asked
    with pytest.raises(NotReady):
        fleet.runner.create(placement(KEY))
    assert fleet.client.asked == asked
    clock.now += PAUSE_S
    fleet.runner.create(placement(KEY))
    assert reason(fleet).startswith("Unschedulable")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'pods "NAME" is forbidden: exceeded quota: team, requested: cpu=8',
            "forbidden: exceeded quota: team, requested: cpu=8",
        ),
        (
            'pods "NAME" is forbidden: violates PodSecurity "restricted:latest"',
            'forbidden: violates PodSecurity "restricted:latest"',
        ),
        ('Pod "NAME" is invalid: spec.priority: Forbidden', "invalid: spec.priority: Forbidden"),
        ('admission webhook "w" denied the request: no', 'admission webhook "w" denied the request: no'),
    ],
)
@pytest.mark.parametrize("jobset", [True, False])
def test_pods_that_the_cluster_does_not_make_say_why(
    make: Make, clock: NoClock, said: str, told: str, jobset: bool
) -> None:
    fleet = make(jobset=jobset)
    fleet.cluster.refuse_pods(said)
    fleet.runner.create(placement(KEY, workers=2))
    assert reason(fleet) == "the cluster has not created its pods yet"
    clock.now += LATE_S
    assert reason(fleet) == f"the cluster refuses its pods: {told}"
    asked = fleet.client.asked
    assert reason(fleet) == f"the cluster refuses its pods: {told}"
    assert fleet.client.asked == asked + 2
    fleet.cluster.refuse_pods("")
    clock.now += AGAIN_S
    assert reason(fleet).startswith("worker 0: Unschedulable")


def test_events_that_may_not_be_read_are_in_nobodys_way(make: Make, clock: NoClock) -> None:
    fleet = make()
    fleet.cluster.forbidden.add(("list", "events"))
    fleet.cluster.refuse_pods("no")
    fleet.runner.create(placement(KEY))
    fleet.runner.list()
    clock.now += LATE_S
    assert reason(fleet) == "the cluster has not created its pods yet"


def test_a_cluster_that_is_away_for_ten_minutes_costs_nobody_anything(make: Make, clock: NoClock) -> None:
    fleet = make()
    stage = Stage(fleet)
    with fleet.cluster.changed() as kubelet:
        kubelet.nodes = {"node-1": Node(pods=1)}
    machine = stage.running("echo started; while [ ! -e go ]; do sleep 0.05; done")
    fleet.runner.create(placement(OTHER))
    waits = reason(fleet, OTHER)
    with fleet.cluster.away():
        while clock.now < 600:
            with pytest.raises(RunnerError, match="Kubernetes does not answer at http://"):
                fleet.runner.list()
            assert fleet.runner.look(machine.id) is MachineExistence.UNREACHABLE
            assert fleet.runner.waiting() == {OTHER: waits}
            clock.now += fleet.runner.pace_s
    assert [one.id for one in stage.machines()] == [machine.id]
    assert fleet.runner.look(machine.id) is MachineExistence.THERE
    assert len(fleet.cluster.rows("JobSet")) == 2
    (code,) = (fleet.folder / "pods" / machine.id.split("/")[2]).rglob("code")
    (code / "go").touch()
    assert stage.ended().cause is Cause.OK
    fleet.until(lambda: any(one.seen for one in stage.machines(OTHER)), "the other's pod")


def test_jobsets_that_come_while_jobs_run_are_used_and_the_jobs_are_still_seen(make: Make, clock: NoClock) -> None:
    fleet = make(jobset=False)
    fleet.runner.create(placement(KEY))
    slices = Placement(key=OTHER, resources={"v5p": 16}, replicas=2, workers=4, tier=0, epoch=1)
    with pytest.raises(RunnerError, match="install JobSet"):
        fleet.runner.create(slices)
    (before,) = fleet.runner.list()
    with fleet.cluster.away():
        fleet.cluster.jobset = True
    clock.now += max(ANEW_S, PAUSE_S)
    assert [one.id for one in fleet.runner.list()] == [before.id]
    assert [one.id for one in fleet.runner.list()] == [before.id]
    fleet.runner.create(placement(KEY))
    fleet.runner.create(slices)
    assert len(fleet.runner.list()) == 5
    assert [len(fleet.cluster.rows(kind)) for kind in ("JobSet", "Job")] == [1, 3]
    fleet.runner.delete(before.id)
    assert len(fleet.runner.list()) == 4
    asked = fleet.client.asked
    fleet.runner.list()
    assert fleet.client.asked == asked + 2


def test_a_bastion_that_starts_anew_sees_jobs_from_before_there_were_jobsets(make: Make, clock: NoClock) -> None:
    fleet = make(jobset=False, options={"queue": "team"}, kueue=True)
    fleet.runner.create(placement(KEY))
    fleet.cluster.jobset = True
    runner = fleet.by(clock)
    (machine,) = runner.list()
    assert (machine.key, machine.seen, runner.look(machine.id)) == (KEY, False, MachineExistence.THERE)
    runner.create(placement(KEY))
    assert fleet.cluster.rows("JobSet") == []
    runner.delete(machine.id)
    assert list(runner.list()) == []
    runner.create(placement(KEY))
    assert len(fleet.cluster.rows("JobSet")) == 1


def test_jobsets_that_are_gone_are_jobs_from_then_on(make: Make, clock: NoClock) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY))
    fleet.runner.list()
    with fleet.cluster.changed():
        fleet.cluster.jobset = False
        for row in fleet.cluster.store.of("JobSet"):
            fleet.cluster.store.drop(row)
    with pytest.raises(RunnerError, match="could not find the requested resource"):
        fleet.runner.list()
    assert list(fleet.runner.list()) == []
    fleet.runner.create(placement(KEY))
    assert [one.key for one in fleet.runner.list()] == [KEY]


def test_a_gang_that_loses_a_pod_before_it_began_is_made_anew(make: Make) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY, workers=2))
    first, second = fleet.runner.list()
    fleet.cluster.evict(second.id.split("/")[0])
    assert [one.id for one in fleet.runner.list()] == [first.id]
    with pytest.raises(NotReady, match="created again"):
        fleet.runner.create(placement(KEY, workers=2))
    assert list(fleet.runner.list()) == []
    fleet.runner.create(placement(KEY, workers=2))
    found = fleet.runner.list()
    assert [one.worker for one in found] == [0, 1]
    assert not {first.id, second.id} & {one.id for one in found}
