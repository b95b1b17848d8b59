"""A bastion in its cluster: valid by the real schemas, held to its rights, and what its Deployment and pods show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bastion.model.errors import RunnerError
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.kubernetes import render
from bastion.runners.kubernetes.client import ClusterLogin, KubernetesClient, check, in_pod, log_in
from bastion.runners.kubernetes.deployment import (
    BastionDeployment,
    faults,
    holds,
    is_hopeless,
    manifests,
    rules,
    rules_of_people,
    state,
)
from bastion.runners.kubernetes.listing import LATE_S
from bastion.runners.kubernetes.runner import KubernetesRunner
from bastion.runners.kubernetes.settings import settings
from bastion.testing.fleets import sealing
from bastion.testing.stage import KEY, OTHER, placement
from tests.kubernetes.fake.hosting import HostingCluster
from tests.kubernetes.fake.rights import rights
from tests.kubernetes.fake.schemas import complaints
from tests.kubernetes.fake.server import IMAGE

GIVEN = settings({"image": IMAGE, "namespace": "ml", "queue": "team"})
HOST = BastionDeployment(
    scope="Team.A-1234abcd",
    bucket="gs://b",
    flags=["--bastion=Team.A", "--bucket=gs://b"],
    image="bastion:1",
    settings=GIVEN,
)
ACCOUNT = "system:serviceaccount:ml:bastion-team-a-1234abcd"


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


@pytest.mark.parametrize(
    ("given", "bucket", "container", "volume"),
    [
        ({}, "gs://b", {}, None),
        ({"bucket_secret": "key"}, "s3://b", {"envFrom": [{"secretRef": {"name": "key"}}]}, None),
        (
            {"bucket_secret": "key"}, "gs://b",
            {"env": [{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/var/run/bastion/credentials.json"}]},
            {"name": "credentials", "secret": {"secretName": "key", "optional": True}},
        ),
        (
            {"token_audience": "//iam", "credentials": "trust"}, "gs://b",
            {"env": [{"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": "/var/run/bastion/credentials.json"}]},
            {"name": "credentials", "projected": {"sources": [
                {"serviceAccountToken": {"audience": "//iam", "expirationSeconds": 3600, "path": "token"}},
                {"configMap": {"name": "trust"}},
            ]}},
        ),
    ],
)  # fmt: skip
def test_its_way_to_the_bucket(given: dict[str, str], bucket: str, container: Any, volume: Any) -> None:
    host = replace(HOST, bucket=bucket, settings=settings({"image": "i", **given}))
    body = manifests(host)[3]
    pod = body["spec"]["template"]["spec"]
    assert complaints(body) == []
    assert {key: value for key, value in pod["containers"][0].items() if key.startswith("env")} == container
    assert [one for one in pod["volumes"] if one["name"] not in ("home", "tmp")] == ([volume] if volume else [])
    assert len(pod["containers"][0]["volumeMounts"]) == len(pod["volumes"])


def test_what_cannot_be() -> None:
    assert list(faults(HOST)) == []
    [of_image, of_bucket] = faults(replace(HOST, image="a b", bucket="file:///x"))
    assert of_image.startswith("the bastion's image is 'a b'; build it")
    assert of_bucket.startswith("the bucket is file:///x, which no pod can reach")


def test_what_a_cluster_adds_is_no_difference_and_what_it_lacks_is() -> None:
    assert holds({"a": [{"b": 1, "more": 2}], "more": 3}, {"a": [{"b": 1}]})
    for there in ({}, {"a": 1}, {"a": []}, {"a": [{"b": 2}]}, {"a": [{"b": 1}, {}]}):
        assert not holds(there, {"a": [{"b": 1}]})


def waiting(reason: str) -> dict[str, Any]:
    return {"containerStatuses": [{"state": {"waiting": {"reason": reason, "message": "m\n m"}}}]}


UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no nodes"}


@pytest.mark.parametrize(
    ("status", "said", "hopeless"),
    [
        ({"containerStatuses": [{"state": {"running": {}}}]}, "RUNNING", False),
        ({}, "its container is being started", False),
        (waiting("ContainerCreating"), "its container is being started", False),
        (waiting("ErrImagePull"), "ErrImagePull: m m", False),
        (waiting("ImagePullBackOff"), "ImagePullBackOff: m m", True),
        (waiting("InvalidImageName"), "InvalidImageName: m m", True),
        (waiting("CreateContainerConfigError"), "CreateContainerConfigError: m m", True),
        (waiting("CrashLoopBackOff"), "CrashLoopBackOff: m m", True),
        ({"conditions": [UNSCHEDULABLE]}, "Unschedulable: no nodes", False),
    ],
)
def test_how_it_is_by_its_pod(status: dict[str, Any], said: str, hopeless: bool) -> None:
    deployment = manifests(HOST)[3]
    pod = {"metadata": {"labels": deployment["spec"]["template"]["metadata"]["labels"]}, "status": status}
    old = {"metadata": manifests(replace(HOST, image="old"))[3]["spec"]["template"]["metadata"], "status": {}}
    ending = {**pod, "metadata": {**pod["metadata"], "deletionTimestamp": "now"}}
    assert (state(deployment, [old, ending, pod]), is_hopeless(said)) == (said, hopeless)
    assert state(deployment, [old, ending]) == "its pod is being created"


def test_how_it_is_without_a_pod() -> None:
    deployment = manifests(HOST)[3]
    refused = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"}
    assert state({**deployment, "status": {"conditions": [refused]}}, []) == "FailedCreate: quota"
    stopped = {**deployment, "spec": {**deployment["spec"], "replicas": 0}}
    assert (state(stopped, [{}]), state(stopped, [])) == ("STOPPING", "STOPPED")


@pytest.fixture
def account(tmp_path: Path) -> Path:
    """What a pod finds of its account."""
    folder = tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("first\n")
    (folder / "ca.crt").write_text("roots")
    return folder


def test_in_a_pod_its_own_account_is_the_way_in_and_needs_no_package(
    account: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_pod({}, account) is None
    assert in_pod(environ, account / "none") is None
    found = in_pod(environ, account)
    assert found is not None
    assert (found.url, found.verify) == ("https://10.0.0.1:443", str(account / "ca.crt"))
    assert found.headers() == {"authorization": "Bearer first"}
    (account / "token").write_text("renewed")
    assert found.headers() == {"authorization": "Bearer renewed"}
    v6 = in_pod({**environ, "KUBERNETES_SERVICE_HOST": "fd00::1"}, account)
    assert v6 is not None
    assert v6.url == "https://[fd00::1]:443"
    monkeypatch.setattr("bastion.runners.kubernetes.client.in_pod", lambda _: found)
    monkeypatch.setattr("bastion.runners.kubernetes.client.find_spec", lambda _: None)
    check()
    assert log_in() is found
    with pytest.raises(Exception, match="needs the package kubernetes"):
        check(context="another")


@pytest.fixture(params=[True, False], ids=["jobset", "job"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostingCluster]:
    found = HostingCluster(tmp_path / "pods", rules=[], kueue=True, jobset=request.param)
    for body in manifests(HOST)[:3]:
        found.keep(
            body["kind"], HOST.name, **{key: body[key] for key in ("rules", "roleRef", "subjects") if key in body}
        )
    found.rights.users["own"] = ACCOUNT
    yield found
    found.close()


def test_every_right_is_used_and_no_other_is_needed(cluster: HostingCluster) -> None:
    cluster.without_nodes()
    every_call(cluster)
    assert cluster.refused == set()
    unused = set(rights(rules(GIVEN))) - cluster.rights.used[ACCOUNT]
    of_jobs = ("batch", "jobs") if cluster.jobset else ("jobset.x-k8s.io", "jobsets")
    assert {right[1:] for right in unused} <= {of_jobs, *([] if cluster.jobset else [("kueue.x-k8s.io", "workloads")])}


def every_call(cluster: HostingCluster) -> None:
    """All that a runner does."""
    clock = Late()
    runner = made(cluster, clock)
    runner.create(placement(KEY))
    made(cluster, clock).create(placement(KEY))  # its name is taken: it is looked at
    for admitted in (False, True):
        if admitted:
            cluster.admit()
        (machine,) = runner.list()
        runner.look(machine.id)
        runner.stop(machine.id)
        runner.delete(machine.id)
        runner.list()
        if not admitted:
            runner.create(placement(KEY))
    cluster.refuse_pods("none any more")
    runner.create(placement(OTHER))
    cluster.admit()
    for _ in range(2):  # its pods are late
        runner.list()
        clock.late_s += LATE_S
    with pytest.raises(RunnerError):
        runner.workers({"odd": 1}, 1)


class Late(SystemClock):
    """Runs ahead."""

    late_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.late_s


def made(cluster: HostingCluster, clock: Late) -> KubernetesRunner:
    login = ClusterLogin(cluster.url, lambda: {"authorization": "Bearer own"})
    return KubernetesRunner(
        api=KubernetesClient(lambda: login, clock),
        settings=GIVEN,
        scope="bastion-1-1234abcd",
        ids=RandomIds(),
        seal=sealing(),
        clock=clock,
        worker=render.WorkerFlags(bucket="file:///nowhere"),
    )


PAGE = Path(__file__).parents[2] / "docs/fleets/kubernetes.md"


def test_the_page_has_these_rules() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    mine, of_people = (yaml.safe_load(block)["rules"] for block in blocks if "kind: Role" in block)
    assert set(rights(mine)) == set(rights(rules(GIVEN)))
    assert set(rights(of_people)) == set(rights(rules_of_people(GIVEN)))
