"""Sets in a queue of Kueue: what holds them is told in its words, and who is put out of it has lost his machines, no try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bastion.model.interfaces import MachineExistence
from bastion.model.state.state import Cause
from bastion.testing.stage import KEY, SAVES, Stage, placement
from tests.kubernetes.fake.schemas import complaints
from tests.kubernetes.fake.store import Row, condition
from tests.kubernetes.fleet import KubernetesFleet

Make = Callable[[bool], KubernetesFleet]
WHY = "Preempted to accommodate a workload (UID: 7) due to prioritization in the ClusterQueue"
KINDS = ("JobSet", "Job", "Pod", "Workload")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    fleets = []

    def maker(jobset: bool) -> KubernetesFleet:
        fleets.append(KubernetesFleet(tmp_path, options={"queue": "team"}, kueue=True, jobset=jobset))
        return fleets[-1]

    yield maker
    for fleet in fleets:
        fleet.close()


def change(fleet: KubernetesFleet, edit: Callable[[Row], Any]) -> None:
    """Do something to the only workload, and look again."""
    with fleet.cluster.changed():
        (row,) = fleet.cluster.store.of("Workload")
        edit(row)
    fleet.runner.list()


@pytest.mark.parametrize("jobset", [True, False])
def test_who_is_put_out_of_the_queue_has_notice_and_lost_his_machines(make: Make, jobset: bool) -> None:
    fleet = make(jobset)
    stage = Stage(fleet)
    stage.start(SAVES)
    assert [machine.seen for machine in stage.machines()] == [False]
    assert stage.runner.waiting()[KEY].startswith("Kueue: Pending: couldn't assign flavors")
    fleet.cluster.admit()
    fleet.until(lambda: bool(stage.log()), "the program's first word")
    machine = stage.machine()
    fleet.cluster.throw_out(WHY)
    fleet.until(lambda: fleet.runner.look(machine.id) is MachineExistence.GONE, "the pod to be gone")
    facts = stage.facts()
    assert facts is not None
    assert (facts.cause, facts.exit_code) == (Cause.LOST, 9)
    assert [one.seen for one in stage.machines()] == [False]
    assert stage.runner.waiting()[KEY] == f"Kueue: Pending: {WHY}"
    assert [wrong for kind in KINDS for row in fleet.cluster.rows(kind) for wrong in complaints(row)] == []
    for unborn in stage.machines():  # as the bastion does with what is not the machine that claimed
        fleet.runner.delete(unborn.id)
    assert stage.machines() == []
    assert fleet.cluster.rows("Workload") == []


def test_objects_are_valid_at_each_stage_by_both_versions_of_kueue(make: Make) -> None:
    fleet = make(True)
    fleet.cluster.without_nodes()
    fleet.runner.create(placement(KEY, workers=2))
    for act in (fleet.cluster.admit, lambda: fleet.cluster.throw_out(WHY), fleet.cluster.admit):
        for kind in KINDS:
            assert [wrong for row in fleet.cluster.rows(kind) for wrong in complaints(row)] == []
        (workload,) = fleet.cluster.rows("Workload")
        assert complaints(workload | {"apiVersion": "kueue.x-k8s.io/v1beta1"}) == []
        act()


def test_what_a_queue_waits_for_is_told(make: Make) -> None:
    fleet = make(True)
    fleet.runner.create(placement(KEY))
    none = "LocalQueue team doesn't exist"
    change(fleet, lambda row: condition(row, "QuotaReserved", "False", "Inadmissible", none))
    assert fleet.runner.waiting()[KEY] == f"Kueue: Inadmissible: {none}"
    checks = [
        {
            "name": "nodes",
            "state": "Pending",
            "message": "Waiting for flex-start",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }
    ]

    def reserved(row: Row) -> None:
        condition(row, "QuotaReserved")
        row["status"]["admissionChecks"] = checks

    change(fleet, reserved)
    assert complaints(fleet.cluster.rows("Workload")[0]) == []
    assert fleet.runner.waiting()[KEY] == "Kueue: admission check nodes: Pending: Waiting for flex-start"


def test_a_queue_that_may_not_be_read_holds_nothing_up(make: Make) -> None:
    fleet = make(True)
    fleet.cluster.forbidden.add(("list", "workloads"))
    fleet.runner.create(placement(KEY))
    assert [machine.seen for machine in fleet.runner.list()] == [False]
    assert 'cannot list resource "workloads"' in fleet.runner.waiting()[KEY]
    fleet.cluster.admit()
    assert "/" in fleet.runner.list()[0].id
