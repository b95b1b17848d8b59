"""A bastion in its cluster: valid by the real schemas, and with no right that its runner does not use."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.errors import RunnerError
from bastion_testing.stage import KEY, placement
from runners.kubernetes.deployment import Host, manifests, rules
from runners.kubernetes.settings import settings
from tests.kubernetes.fake.schemas import complaints
from tests.kubernetes.fleet import KubernetesFleet

GIVEN = settings({"image": "i", "namespace": "ml", "queue": "team"})
HOST = Host(scope="Team.A-1234abcd", flags=["--bastion=Team.A", "--bucket=gs://b"], image="bastion:1", settings=GIVEN)


def test_all_of_it_is_valid_and_of_one_name() -> None:
    found = manifests(HOST)
    assert [complaints(body) for body in found] == [[]] * 4
    assert {body["metadata"]["name"] for body in found} == {"bastion-team-a-1234abcd"}


def test_there_is_one_and_never_two() -> None:
    spec = manifests(HOST)[3]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["template"]["spec"]["containers"][0]["args"] == [
        "start", "--here", "--bastion=Team.A", "--bucket=gs://b",
    ]  # fmt: skip


@pytest.mark.parametrize("jobset", [True, False])
def test_every_right_is_used_and_no_other(jobset: bool, tmp_path: Path) -> None:
    fleet = KubernetesFleet(tmp_path, options={"queue": "team"}, kueue=True, jobset=jobset)
    try:
        fleet.cluster.without_nodes()
        every_call(fleet)
        rights = {(verb, kind) for rule in rules(GIVEN) for kind in rule["resources"] for verb in rule["verbs"]}
        mine = {right for right in rights if right[1] != ("jobs" if jobset else "jobsets")}
        assert fleet.cluster.used <= mine
        assert mine - fleet.cluster.used <= ({("list", "workloads")} if not jobset else set())
    finally:
        fleet.close()


def every_call(fleet: KubernetesFleet) -> None:
    """All that a runner does."""
    runner = fleet.runner
    runner.create(placement(KEY))
    fleet.again().create(placement(KEY))  # its name is taken: it is looked at
    for admitted in (False, True):
        if admitted:
            fleet.cluster.admit()
        (machine,) = runner.list()
        runner.look(machine.id)
        runner.stop(machine.id)
        runner.delete(machine.id)
        if not admitted:
            runner.list()
            runner.create(placement(KEY))
    with pytest.raises(RunnerError):
        runner.workers({"odd": 1}, 1)
