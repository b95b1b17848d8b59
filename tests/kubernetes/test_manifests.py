"""Manifests of all shapes are valid by the real schemas, and say what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.job.instances import SLICES
from bastion.runners.google.machines.names import name
from bastion.runners.kubernetes import names, render
from bastion.runners.kubernetes.settings import KubernetesSettings, settings
from tests.kubernetes.fake.schemas import complaints

KEY = AttemptKey("Train_A.b-12345678", 3, 1)
WORKER = render.WorkerFlags(bucket="gs://b/team", flags={"processes": 64, "odd": "$(HOME)"})
SELECTOR = "cloud.google.com/gke-tpu-topology"


def given(**options: Any) -> KubernetesSettings:
    return settings({"image": "registry.example/worker:1", "namespace": "ml", **options})


def made(
    resources: dict[str, int],
    replicas: int = 1,
    version: str = render.JOBSET,
    tier: int = 0,
    image: str = "",
    **options: Any,
) -> dict[str, Any]:
    """A manifest, which is valid."""
    found = given(**options)
    workers = render.workers(resources, replicas, found)
    placement = Placement(
        key=KEY, resources=resources, replicas=replicas, workers=workers, tier=tier, epoch=7, image=image
    )
    mark = render.mark("scope-1", placement, "0" * 32, found)
    body = render.manifest(version, name("scope-1", KEY), mark, placement, found, WORKER)
    assert complaints(body) == []
    assert names.mark_of(body["metadata"]) == mark
    return body


def job_of(body: dict[str, Any]) -> dict[str, Any]:
    return body["spec"]["replicatedJobs"][0]["template"]["spec"] if body["kind"] == "JobSet" else body["spec"]


def pod_of(body: dict[str, Any]) -> dict[str, Any]:
    return job_of(body)["template"]["spec"]


@pytest.mark.parametrize("version", [render.JOBSET, render.JOB])
@pytest.mark.parametrize("resources", [{}, {"cpu": 4, "memory": 16}, {"h100": 8}, {"b200": 16, "cpu": 8}, {"v5p": 128}])
def test_every_shape_is_valid_and_restarts_nothing(resources: dict[str, int], version: str) -> None:
    body = made(resources, version=version)
    job = job_of(body)
    assert (job["backoffLimitPerIndex"], job["podReplacementPolicy"]) == (0, "Failed")
    assert "backoffLimit" not in job
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    if version == render.JOBSET:
        assert body["spec"]["failurePolicy"] == {"maxRestarts": 0}


def test_all_slices_that_clusters_have_are_valid() -> None:
    for kind in set(SLICES) - {"v2"}:
        for size, one in SLICES[kind].items():
            body = made({kind: size}, replicas=2)
            job, pod = job_of(body), pod_of(body)
            assert pod["nodeSelector"][SELECTOR] == one.topology
            chips = int(pod["containers"][0]["resources"]["limits"]["google.com/tpu"])
            groups = body["spec"]["replicatedJobs"][0]["replicas"]
            assert groups * job["completions"] * chips == 2 * one.chips


def test_several_slices_are_groups_on_nodes_of_their_own() -> None:
    body = made({"v5p": 16}, replicas=3)
    assert (
        body["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"]
        == "cloud.google.com/gke-nodepool"
    )
    assert body["spec"]["replicatedJobs"][0]["replicas"] == 3
    assert (job_of(body)["parallelism"], job_of(body)["completions"]) == (2, 2)
    with pytest.raises(RunnerError, match="3 slices need JobSets"):
        made({"v5p": 16}, replicas=3, version=render.JOB)


def test_one_slice_of_a_plain_job_stays_together() -> None:
    (term,) = pod_of(made({"v5p": 16}, version=render.JOB))["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "cloud.google.com/gke-nodepool"


def test_hosts_of_gpus_are_one_job() -> None:
    body = made({"h100": 16, "memory": 512}, replicas=2)
    assert job_of(body)["completions"] == 4
    pod = pod_of(body)
    assert pod["containers"][0]["resources"] == {
        "requests": {"memory": "256Gi", "nvidia.com/gpu": "8"},
        "limits": {"memory": "257Gi", "nvidia.com/gpu": "8"},
    }
    assert pod["nodeSelector"] == {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"}
    assert "--devices=share:0/1" in pod["containers"][0]["args"]


@pytest.mark.parametrize(
    ("tier", "label"),
    [
        (0, "cloud.google.com/reservation-name"),
        (1, "cloud.google.com/gke-spot"),
        (2, "cloud.google.com/gke-flex-start"),
        (9, "cloud.google.com/gke-flex-start"),
    ],
)
def test_nodes_are_had_by_the_tier(tier: int, label: str) -> None:
    tiers = ["reserved", "spot", "flex-start"]
    pod = pod_of(made({"h100": 8}, tier=tier, tiers=tiers, reservations={"h100": "ours"}))
    assert label in pod["nodeSelector"]
    assert (label in {one["key"] for one in pod["tolerations"]}) == (tier > 0)


@pytest.mark.parametrize(
    ("kind", "amount", "labels"),
    [
        ("a100", 1, {"gke-accelerator": "nvidia-tesla-a100"}),
        ("b200", 8, {"gke-accelerator": "nvidia-b200"}),
        ("gb200", 8, {"gke-accelerator": "nvidia-gb200"}),
        ("h100", 8, {"gke-accelerator": "nvidia-h100-80gb"}),
        ("h200", 16, {"gke-accelerator": "nvidia-h200-141gb"}),
        ("l4", 1, {"gke-accelerator": "nvidia-l4"}),
        ("t4", 4, {"gke-accelerator": "nvidia-tesla-t4"}),
        ("v100", 8, {"gke-accelerator": "nvidia-tesla-v100"}),
        ("v3", 8, {"gke-tpu-accelerator": "tpu-v3-device", "gke-tpu-topology": "2x2"}),
        ("v3", 32, {"gke-tpu-accelerator": "tpu-v3-slice", "gke-tpu-topology": "4x4"}),
        ("v4", 16, {"gke-tpu-accelerator": "tpu-v4-podslice", "gke-tpu-topology": "2x2x2"}),
        ("v5litepod", 16, {"gke-tpu-accelerator": "tpu-v5-lite-podslice", "gke-tpu-topology": "4x4"}),
        ("v5p", 16, {"gke-tpu-accelerator": "tpu-v5p-slice", "gke-tpu-topology": "2x2x2"}),
        ("v6e", 4, {"gke-tpu-accelerator": "tpu-v6e-slice", "gke-tpu-topology": "2x2"}),
        ("7x", 8, {"gke-tpu-accelerator": "tpu7x", "gke-tpu-topology": "2x2x1"}),
    ],
)
def test_nodes_are_those_that_googles_clusters_call_so(kind: str, amount: int, labels: dict[str, str]) -> None:
    pod = pod_of(made({kind: amount}))
    assert pod["nodeSelector"] == {f"cloud.google.com/{label}": value for label, value in labels.items()}
    taints = {one["key"] for one in pod["tolerations"]}
    assert ("google.com/tpu" if "gke-tpu-topology" in labels else "nvidia.com/gpu") in taints
    assert ("kubernetes.io/arch" in taints) == (kind == "gb200")


def test_hosts_of_gpus_may_have_a_topology_of_their_own() -> None:
    rack = "cloud.google.com/gce-topology-subblock"
    body = made({"gb200": 16}, replicas=2, kinds={"gb200": {"topology": rack}})
    assert body["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"] == rack
    assert body["spec"]["replicatedJobs"][0]["replicas"] == 2
    assert job_of(body)["completions"] == 4


def test_nodes_of_a_queue_of_provisioning_are_tolerated() -> None:
    pod = pod_of(made({"h100": 8}, tiers=["flex-start"]))
    assert {one["key"] for one in pod["tolerations"]} >= {
        "cloud.google.com/gke-queued",
        "cloud.google.com/gke-flex-start",
    }


def test_a_reservation_is_named_and_meant() -> None:
    pod = pod_of(made({"h100": 8}, tiers=["reserved"], reservations={"h100": "ours"}))
    assert pod["nodeSelector"]["cloud.google.com/reservation-name"] == "ours"
    assert pod["nodeSelector"]["cloud.google.com/reservation-affinity"] == "specific"
    assert len(pod_of(made({"h100": 8}, tiers=["on-demand"], reservations={"h100": "ours"}))["nodeSelector"]) == 1


@pytest.mark.parametrize("version", [render.JOBSET, render.JOB])
def test_a_job_in_an_image_has_its_worker_laid_into_it(version: str) -> None:
    image = f"registry.example/team/tools@sha256:{'ab' * 32}"
    body = made({"h100": 16, "memory": 64}, version=version, image=image)
    pod = pod_of(body)
    (first,), (container,) = pod["initContainers"], pod["containers"]
    assert (first["image"], container["image"]) == ("registry.example/worker:1", image)
    assert first["resources"] == {"requests": {"memory": "32Gi"}, "limits": {"memory": "33Gi"}}
    (laid,) = first["volumeMounts"]
    assert laid | {"readOnly": True} in container["volumeMounts"]
    assert container["command"][0].startswith(laid["mountPath"])
    assert f"--image={image}" in container["args"]


def test_all_settings_are_in_the_manifest() -> None:
    body = made(
        {"mine": 2}, gke=False, queue="team", priority_class="low", service_account="worker", token_audience="aud",
        credentials="bucket-login", grace_s=60,
        kinds={"mine": {"resource": "example.com/npu", "node_selector": {"npu": "yes"}, "tolerations": [{"key": "npu"}]}},
        pod={"spec": {"hostNetwork": True, "containers": [{"name": "worker", "env": [{"name": "A", "value": "b"}]}]}},
    )  # fmt: skip
    pod = pod_of(body)
    assert body["metadata"]["labels"][render.QUEUE] == "team"
    assert body["spec"]["suspend"] is True
    assert pod["priorityClassName"] == "low"
    assert pod["serviceAccountName"] == "worker"
    assert pod["terminationGracePeriodSeconds"] == 60
    assert pod["nodeSelector"] == {"npu": "yes"}
    assert pod["hostNetwork"] is True
    assert pod["volumes"][2]["projected"]["sources"][0]["serviceAccountToken"]["audience"] == "aud"
    env = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    assert env["A"] == "b"
    assert env["GOOGLE_APPLICATION_CREDENTIALS"] == "/var/run/bastion/credentials.json"
    assert env["BASTION_MACHINE"] == f"$(BASTION_POD)/{'0' * 32}/$(BASTION_POD_UID)"
    assert "--odd=$$(HOME)" in pod["containers"][0]["args"]


@pytest.mark.parametrize(
    ("resources", "said"),
    [
        ({"h100": 8, "v5p": 8}, "one kind of accelerator"),
        ({"h100": 12}, "did you mean 16"),
        ({"v5p": 12}, "there is no tpu-v5p-12"),
        ({"v2": 8}, "Google's clusters have no v2"),
        ({"npu": 1}, "kinds.npu.resource"),
    ],
)
def test_what_no_pods_can_be_is_told(resources: dict[str, int], said: str) -> None:
    with pytest.raises(RunnerError, match=said):
        made(resources)


PROFILE = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
NOT_ROOT = {"runAsNonRoot": True, "runAsUser": 10_001}


def test_pods_have_the_restricted_profile_and_are_not_roots() -> None:
    (container,) = pod_of(made({"cpu": 1}))["containers"]
    assert container["securityContext"] == {**PROFILE, **NOT_ROOT}


def test_pods_of_a_jobs_image_have_it_and_keep_the_images_user() -> None:
    pod = pod_of(made({"cpu": 1}, image="registry.example/job@sha256:" + "0" * 64))
    assert pod["containers"][0]["securityContext"] == PROFILE
    assert pod["initContainers"][0]["securityContext"] == {**PROFILE, **NOT_ROOT}


def test_the_profile_is_loosened_by_settings() -> None:
    assert pod_of(made({"cpu": 1}, user=0))["containers"][0]["securityContext"] == PROFILE
    pod = pod_of(made({"cpu": 1}, security="off", image="registry.example/job@sha256:" + "0" * 64))
    assert all("securityContext" not in one for one in (*pod["containers"], *pod["initContainers"]))
    patch = {"name": "worker", "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}
    (container,) = pod_of(made({"cpu": 1}, pod={"spec": {"containers": [patch]}}))["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"], "add": ["IPC_LOCK"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
