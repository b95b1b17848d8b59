"""What happens to attempts in a cluster, and what is said of it. Requests go over real HTTP; most pods never start."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence, Placement
from bastion.model.state.state import Cause
from bastion.runners.kubernetes import client as http
from bastion.runners.kubernetes.interface import ApiError, Expired
from bastion.runners.kubernetes.runner import DELETE_S, LEAVE_S
from bastion.testing.stage import HELLO, KEY, SAVES, WAIT, Stage, placement
from tests.kubernetes.fake.kubelet import Node
from tests.kubernetes.fleet import KubernetesFleet

Make = Callable[..., KubernetesFleet]


class NoClock:
    """Its sleeps are over at once, and kept."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self.now = 0.0

    def wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.now)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    fleets: list[KubernetesFleet] = []

    def maker(idle: bool = True, **more: Any) -> KubernetesFleet:
        fleet = KubernetesFleet(tmp_path / str(len(fleets)), **more)
        fleets.append(fleet)
        if idle:
            fleet.cluster.without_nodes()
        return fleet

    yield maker
    for fleet in fleets:
        fleet.close()


def key(number: int) -> AttemptKey:
    return AttemptKey(f"job-{number:08d}", 0, 0)


def test_what_cannot_be_scheduled_says_so_and_is_not_seen(make: Make) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY, workers=2))
    assert fleet.runner.waiting()[KEY] == "the cluster has not created its pods yet"
    assert [machine.seen for machine in fleet.runner.list()] == [False, False]
    said = fleet.runner.waiting()[KEY]
    assert said.startswith("worker 0: Unschedulable: 0/1 nodes are available")
    before = fleet.client.asked
    fleet.runner.create(placement(KEY, workers=2))
    assert fleet.client.asked == before
    for machine in fleet.runner.list():
        fleet.runner.delete(machine.id)
    assert list(fleet.runner.list()) == []


def test_an_image_that_cannot_be_pulled_says_so(make: Make) -> None:
    fleet = make(idle=False, options={"image": "registry.example/none:1"})
    fleet.runner.create(placement(KEY))
    fleet.runner.list()
    assert fleet.runner.waiting()[KEY] == ('ImagePullBackOff: Back-off pulling image "registry.example/none:1"')


def test_what_kueue_holds_says_so_and_can_be_deleted(make: Make) -> None:
    fleet = make(options={"queue": "team"}, kueue=True)
    fleet.runner.create(placement(KEY, workers=2))
    machines = fleet.runner.list()
    assert [(machine.worker, machine.seen) for machine in machines] == [(0, False), (1, False)]
    assert fleet.runner.waiting()[KEY].startswith("Kueue: Pending: couldn't assign flavors")
    assert {fleet.runner.look(machine.id) for machine in machines} == {MachineExistence.THERE}
    fleet.runner.delete(machines[0].id)
    assert fleet.runner.look(machines[1].id) is MachineExistence.GONE
    assert list(fleet.runner.list()) == []
    fleet.runner.delete(machines[1].id)


def test_what_kueue_admits_gets_its_pods(make: Make) -> None:
    fleet = make(options={"queue": "team"}, kueue=True)
    fleet.runner.create(placement(KEY))
    fleet.runner.list()
    fleet.cluster.admit()
    assert "/" in fleet.runner.list()[0].id
    assert fleet.runner.waiting()[KEY].startswith("Unschedulable")


def test_a_cluster_without_jobset_gets_a_job(make: Make) -> None:
    fleet = make(jobset=False)
    fleet.runner.create(placement(KEY, workers=3))
    assert [machine.worker for machine in fleet.runner.list()] == [0, 1, 2]
    assert [row["kind"] for row in fleet.cluster.rows("Job")] == ["Job"]
    slices = Placement(key=key(1), resources={"v5p": 16}, replicas=2, workers=4, tier=0, epoch=1)
    with pytest.raises(RunnerError, match="install JobSet"):
        fleet.runner.create(slices)
    assert "install JobSet" in fleet.runner.waiting()[key(1)]


def test_jobset_that_is_removed_is_asked_about_anew(make: Make) -> None:
    fleet = make()
    fleet.runner.list()
    fleet.cluster.jobset = False
    with pytest.raises(ApiError):
        fleet.runner.list()
    assert list(fleet.runner.list()) == []
    fleet.runner.create(placement(KEY))
    assert len(fleet.runner.list()) == 1


def test_a_workers_number_is_that_of_its_slice_and_host(make: Make) -> None:
    fleet = make()
    wish = Placement(key=KEY, resources={"v5p": 16}, replicas=2, workers=4, tier=0, epoch=1)
    fleet.runner.create(wish)
    assert sorted(machine.worker for machine in fleet.runner.list()) == [0, 1, 2, 3]


@pytest.mark.parametrize("resource", ["jobsets", "namespace"])
def test_what_is_forbidden_is_a_reason_and_is_not_asked_again_at_once(make: Make, resource: str) -> None:
    fleet = make(options={"namespace": "elsewhere"} if resource == "namespace" else {})
    fleet.cluster.forbidden.add(("create", "jobsets"))
    with pytest.raises(ApiError, match='cannot create resource "jobsets"'):
        fleet.runner.create(placement(KEY))
    said = fleet.runner.waiting()[KEY]
    assert "system:serviceaccount:ml:bastion" in said
    assert "docs/fleets/kubernetes.md" in said
    before = fleet.client.asked
    with pytest.raises(NotReady):
        fleet.runner.create(placement(KEY))
    assert fleet.client.asked == before


def test_a_manifest_that_is_refused_is_a_reason(make: Make) -> None:
    fleet = make(options={"pod": {"spec": {"hostNetwrok": True}}})
    with pytest.raises(ApiError, match="hostNetwrok"):
        fleet.runner.create(placement(KEY))
    assert "hostNetwrok" in fleet.runner.waiting()[KEY]


def test_a_lost_answer_makes_nothing_twice(make: Make) -> None:
    fleet = make()
    fleet.cluster.fails("POST .*", 0)
    fleet.runner.create(placement(KEY))
    assert len(fleet.runner.list()) == 1
    assert len(fleet.cluster.rows("JobSet")) == 1


def test_a_name_that_others_have_is_told(make: Make) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY))
    (row,) = fleet.cluster.store.of("JobSet")
    row["metadata"]["labels"].clear()
    with pytest.raises(RunnerError, match="was not created by this bastion"):
        fleet.again().create(placement(KEY))


def test_what_the_server_has_too_much_of_is_asked_again_as_it_says(make: Make) -> None:
    fleet = make()
    clock = NoClock()
    runner = fleet.by(clock)
    fleet.cluster.fails("GET .*pods", 429, times=2, Retry_After="3")
    assert list(runner.list()) == []
    assert clock.slept == [3.0, 5.0]


def test_a_listing_of_pages_is_whole_and_begins_anew_when_it_expires(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "PAGE", 2)
    fleet = make()
    for number in range(5):
        fleet.runner.create(placement(key(number)))
    assert len(fleet.runner.list()) == 5
    fleet.cluster.fails("GET .*continue", 410, times=2)
    assert len(fleet.runner.list()) == 5
    fleet.cluster.fails("GET .*continue", 410, times=3)
    with pytest.raises(Expired):
        fleet.runner.list()


def test_a_cluster_that_does_not_answer_is_blind(make: Make) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY))
    (machine,) = fleet.runner.list()
    runner = fleet.by(NoClock(), "http://127.0.0.1:9")
    with pytest.raises(RunnerError, match=r"Kubernetes does not answer at http://127\.0\.0\.1:9"):
        runner.list()
    assert runner.look(machine.id) is MachineExistence.UNREACHABLE


def test_who_may_not_see_is_blind(make: Make) -> None:
    fleet = make()
    fleet.cluster.forbidden.add(("list", "pods"))
    with pytest.raises(RunnerError, match="cannot list resource"):
        fleet.runner.list()


def test_others_pods_are_nobodys_machines(make: Make) -> None:
    fleet = make()
    fleet.runner.create(placement(KEY))
    for pod in fleet.cluster.store.of("Pod"):
        pod["metadata"]["annotations"] = {"bastion/job": "x"}
    for row in fleet.cluster.store.of("JobSet"):
        row["metadata"]["labels"]["bastion/epoch"] = "-1"
    assert list(fleet.runner.list()) == []


@pytest.mark.parametrize("how", ["evicted", "preempted"])
def test_a_pod_that_is_taken_away_has_notice_and_is_not_replaced(make: Make, how: str) -> None:
    fleet = make(idle=False)
    stage = Stage(fleet)
    machine = stage.running(SAVES)
    if how == "evicted":
        fleet.cluster.evict(machine.id.split("/")[0])
    else:
        with fleet.cluster.changed() as kubelet:
            kubelet.preempt("node-1", notice_s=60)
            kubelet.nodes["node-2"] = Node()
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)
    stage.gone(machine.id)
    assert stage.machines() == []


def test_the_end_of_one_pod_is_no_others(make: Make) -> None:
    fleet = make(idle=False)
    fleet.runner.create(placement(KEY, workers=2))
    fleet.until(lambda: all(machine.seen for machine in fleet.runner.list()), "both pods")
    first, second = sorted(fleet.runner.list(), key=lambda machine: machine.worker)
    fleet.runner.delete(first.id)
    fleet.until(lambda: fleet.runner.look(first.id) is MachineExistence.GONE, "the pod to be gone")
    assert list(fleet.runner.list()) == [second]
    fleet.runner.delete(second.id)
    fleet.until(lambda: not fleet.runner.list(), "all to be gone")


def test_who_leaves_others_of_a_gang_behind_is_not_killed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has ended may be slow to exit; were it killed, its Job would fail, and with it the set and all the others."""
    fleet = make(idle=False)
    fleet.runner.create(placement(KEY, workers=2))
    fleet.until(lambda: all(machine.seen for machine in fleet.runner.list()), "both pods")
    given, delete = [], http.KubernetesClient.delete

    def seen(client: http.KubernetesClient, path: str, uid: str, *, grace_s: int | None = None) -> None:
        given.append(grace_s)
        delete(client, path, uid, grace_s=grace_s)

    monkeypatch.setattr(http.KubernetesClient, "delete", seen)
    first, last = fleet.runner.list()
    fleet.runner.delete(first.id)
    fleet.until(lambda: list(fleet.runner.list()) == [last], "one to be gone")
    fleet.runner.delete(last.id)
    assert given == [LEAVE_S, DELETE_S]


def test_a_notice_while_the_worker_exits_does_not_fail_its_pod(make: Make) -> None:
    fleet = make(idle=False)
    stage = Stage(fleet)
    stage.start(HELLO)
    fleet.until(lambda: stage.phase(0) == "ended", "an end")
    with fleet.cluster.changed() as kubelet:
        (one,) = kubelet.running.values()
        while one.main.poll() is None:
            one.main.send_signal(signal.SIGTERM)
        assert one.main.returncode == 0


def test_an_attempt_whose_pods_were_lost_before_they_claimed_is_made_anew(make: Make) -> None:
    fleet = make(idle=False)
    stage = Stage(fleet)
    fleet.cluster.without_nodes()
    fleet.runner.create(placement(KEY))
    (old,) = fleet.runner.list()
    fleet.cluster.evict(old.id.split("/")[0])
    assert stage.machines() == []
    with fleet.cluster.changed() as kubelet:
        kubelet.nodes = {"node-2": Node()}
    stage.start(WAIT)
    (new,) = stage.machines()
    assert new.id != old.id
    assert fleet.runner.look(old.id) is MachineExistence.GONE
