"""The manifest of a JobSet or a Job, made from an attempt's placement. Pure.

The pods of a job that comes in an image have that image. The worker is copied into them first, from its own image.

The cluster never starts a pod again, however it ended: the bastion decides that, from what the worker wrote into the
bucket. So nothing is restarted, the end of one pod does not end another, and a deleted pod is not replaced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Placement
from bastion.quota.resources import Resources

from ..delivery.bootstrap import PYTHON
from . import names, strategic_merge
from .names import KubernetesLabels
from .replica_pods import Shape, shape
from .settings import RESTRICTED, KubernetesSettings

JOBSET, JOB = "jobset.x-k8s.io/v1alpha2", "batch/v1"
QUEUE = "kueue.x-k8s.io/queue-name"
HOME, SECRETS, CREDENTIALS = "/bastion", "/etc/bastion/secrets", "/var/run/bastion"
LAID = "/bastion-worker"
"""The folder of the worker in a pod that has a job's image."""

KEPT_S = 3600
"""The seconds for which an ended set is left for people to look at."""

_GROUP, _PROGRAM = "w", "program"
_LAST_WORDS = "FallbackToLogsOnError"
_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_TAINTS = {
    "spot": ("cloud.google.com/gke-spot",),
    "flex-start": ("cloud.google.com/gke-flex-start", "cloud.google.com/gke-queued"),
}
"""The taints of such nodes that pods must tolerate. The first is also the nodes' label."""

_RESERVATION, _AFFINITY = "cloud.google.com/reservation-name", "cloud.google.com/reservation-affinity"
_TOKEN_S = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFlags:
    """The flags that every worker gets.

    bucket: the URL of the bastion's part of the bucket.
    flags: the other flags.
    """

    bucket: str
    flags: Mapping[str, object] = field(default_factory=dict)


def workers(resources: Resources, replicas: int, given: KubernetesSettings) -> int:
    """Return the number of pods. Raises `RunnerError` if no pods can have these resources."""
    return shape(resources, given).hosts * replicas


def mark(scope: str, placement: Placement, nonce: str, given: KubernetesSettings) -> KubernetesLabels:
    """Return the mark of what is made for this placement. Raises `RunnerError` if no pods can have its resources."""
    one = shape(placement.resources, given)
    hosts = one.hosts if one.topology else one.hosts * placement.replicas
    return KubernetesLabels(
        scope=scope, key=placement.key, epoch=placement.epoch, nonce=nonce, hosts=hosts, workers=placement.workers
    )


def manifest(
    version: str,
    name: str,
    mark: KubernetesLabels,
    placement: Placement,
    given: KubernetesSettings,
    worker: WorkerFlags,
) -> dict[str, Any]:
    """Return the set of an attempt for the API `version`: a JobSet, or a Job.

    Raises `RunnerError` if there can be no such set.
    """
    one, groups = shape(placement.resources, given), placement.workers // mark.hosts
    if version == JOB and groups > 1:
        raise RunnerError(
            f"{groups} slices need JobSets, but the cluster has no JobSet; ask its admin to install JobSet"
        )
    queue = {QUEUE: given.queue} if given.queue else {}
    apart = {_EXCLUSIVE: one.topology} if one.topology and version == JOBSET else {}
    metadata = {
        "name": name,
        "namespace": given.namespace,
        "labels": names.labels(mark) | queue,
        "annotations": names.notes(mark) | apart,
    }
    held = {"suspend": True} if given.queue else {}
    job = _job(one, mark, placement, given, worker)
    if version == JOB:
        spec = {**held, "ttlSecondsAfterFinished": KEPT_S, **job}
        if one.topology:
            spec["template"]["spec"]["affinity"] = _beside(mark, one.topology)
        return {"apiVersion": JOB, "kind": "Job", "metadata": metadata, "spec": spec}
    spec = {
        **held,
        "failurePolicy": {"maxRestarts": 0},
        "network": {"enableDNSHostnames": False},
        "ttlSecondsAfterFinished": KEPT_S,
        "replicatedJobs": [{"name": _GROUP, "replicas": groups, "template": {"metadata": _marks(mark), "spec": job}}],
    }
    return {"apiVersion": JOBSET, "kind": "JobSet", "metadata": metadata, "spec": spec}


def _job(
    one: Shape, mark: KubernetesLabels, placement: Placement, given: KubernetesSettings, worker: WorkerFlags
) -> dict[str, Any]:
    return {
        "parallelism": mark.hosts,
        "completions": mark.hosts,
        "completionMode": "Indexed",
        "backoffLimitPerIndex": 0,
        "podReplacementPolicy": "Failed",
        "template": strategic_merge.merged(
            {"metadata": _marks(mark), "spec": _pod(one, mark, placement, given, worker)}, given.pod
        ),
    }


def _marks(mark: KubernetesLabels) -> dict[str, Any]:
    return {"labels": names.labels(mark), "annotations": names.notes(mark)}


def _pod(
    one: Shape, mark: KubernetesLabels, placement: Placement, given: KubernetesSettings, worker: WorkerFlags
) -> dict[str, Any]:
    selector, tolerated = _bought(placement, given)
    named = {"serviceAccountName": given.service_account, "priorityClassName": given.priority_class}
    work, shared = {"name": "work", "emptyDir": {}}, {"name": "shm", "emptyDir": {"medium": "Memory"}}
    container, brings, program = _container(one, mark, given, worker), [], []
    if placement.image:
        container = _in_image({**container, **_restricted(given, 0)}, placement.image)
        brings, program = [_laying(container, given)], [{"name": _PROGRAM, "emptyDir": {}}]
    return {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": given.grace_s,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **{key: name for key, name in named.items() if name},
        "nodeSelector": {**one.selector, **selector},
        "tolerations": [*map(dict, one.tolerations), *tolerated],
        **({"initContainers": brings} if brings else {}),
        "containers": [container],
        "volumes": [work, shared, *program, *credentials(given)],
    }


def _container(one: Shape, mark: KubernetesLabels, given: KubernetesSettings, worker: WorkerFlags) -> dict[str, Any]:
    flags = {
        "on": "kubernetes",
        "job": mark.key.job,
        "task": mark.key.task,
        "attempt": mark.key.attempt,
        "hosts": mark.hosts,
        "creation": mark.nonce,
        "bucket": worker.bucket,
        "folder": f"{HOME}/work",
        "cache": f"{HOME}/cache",
        "secrets": SECRETS,
        **({"devices": "share:0/1"} if one.gpus else {}),
        **worker.flags,
    }
    mounts = [{"name": "work", "mountPath": HOME}, {"name": "shm", "mountPath": "/dev/shm"}]
    if given.credentials:
        mounts.append({"name": "credentials", "mountPath": CREDENTIALS})
    return {
        "name": "worker",
        "image": given.image,
        "command": [given.python, "-I", "-m", "bastion", "worker"],
        "args": [f"--{flag}={str(value).replace('$(', '$$(')}" for flag, value in flags.items()],
        "env": _env(mark, given),
        "resources": {"requests": dict(one.requests), "limits": dict(one.limits)},
        "terminationMessagePolicy": _LAST_WORDS,
        **_restricted(given, given.user),
        "volumeMounts": mounts,
    }


def _restricted(given: KubernetesSettings, user: int) -> dict[str, Any]:
    """Return the limits of a container: the restricted profile of Kubernetes, if the settings want it.

    `user` 0 leaves the user to the image.
    """
    if given.security != RESTRICTED:
        return {}
    nobody = {"runAsNonRoot": True, "runAsUser": user} if user else {}
    return {
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
            **nobody,
        }
    }


def _in_image(container: dict[str, Any], image: str) -> dict[str, Any]:
    """Return the container with a job's image.

    The image has nothing of ours: the worker is the one that was copied there.
    """
    return {
        **container,
        "image": image,
        "command": [f"{LAID}/{PYTHON}", "-I", "-m", "bastion", "worker"],
        "args": [*container["args"], f"--image={image}"],
        "volumeMounts": [*container["volumeMounts"], {"name": _PROGRAM, "mountPath": LAID, "readOnly": True}],
    }


def _laying(container: dict[str, Any], given: KubernetesSettings) -> dict[str, Any]:
    """Return the container that copies the worker there, from the worker's image.

    It runs first, and asks for no devices.
    """
    asked = {
        kind: {name: size for name, size in most.items() if name in ("cpu", "memory")}
        for kind, most in container["resources"].items()
    }
    return {
        "name": _PROGRAM,
        "image": given.image,
        "command": [given.python, "-I", "-m", "bastion", "lay"],
        "args": [LAID],
        "resources": asked,
        "terminationMessagePolicy": _LAST_WORDS,
        **_restricted(given, given.user),
        "volumeMounts": [{"name": _PROGRAM, "mountPath": LAID}],
    }


def _env(mark: KubernetesLabels, given: KubernetesSettings) -> list[dict[str, Any]]:
    """Return the variables that tell the pod its identity, from its own fields.

    The cluster adds JOB_COMPLETION_INDEX.
    """
    fields = {
        "BASTION_POD": "metadata.name",
        "BASTION_POD_UID": "metadata.uid",
        "BASTION_POD_IP": "status.podIP",
        "BASTION_GROUP": f"metadata.labels['{names.GROUP_LABEL}']",
    }
    env = [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]
    machine = names.pod_id("$(BASTION_POD)", mark.nonce, "$(BASTION_POD_UID)")
    env.append({"name": "BASTION_MACHINE", "value": machine})
    if given.credentials:
        env.append({"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": f"{CREDENTIALS}/credentials.json"})
    return env


def credentials(given: KubernetesSettings) -> list[dict[str, Any]]:
    """Return the volume with the pod's own token, and the file that says how the bucket's owner accepts it.

    The cluster renews the token. Without such credentials in the settings there is no volume.
    """
    if not given.credentials:
        return []
    token = {"audience": given.token_audience, "expirationSeconds": _TOKEN_S, "path": "token"}
    sources = [{"serviceAccountToken": token}, {"configMap": {"name": given.credentials}}]
    return [{"name": "credentials", "projected": {"sources": sources}}]


def _bought(placement: Placement, given: KubernetesSettings) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Return the labels of the nodes that this tier is bought on, and the taints that its pods tolerate."""
    how = given.bought(placement.tier)
    if taints := _TAINTS.get(how):
        how_to = {"operator": "Equal", "value": "true", "effect": "NoSchedule"}
        return {taints[0]: "true"}, [{"key": taint, **how_to} for taint in taints]
    of_kind = [given.reservations[kind] for kind in placement.resources if kind in given.reservations]
    if how == "reserved" and of_kind:
        return {_RESERVATION: of_kind[0], _AFFINITY: "specific"}, []
    return {}, []


def _beside(mark: KubernetesLabels, topology: str) -> dict[str, Any]:
    """Return an affinity: all pods of a Job on the nodes of one slice, as a JobSet's exclusive topology does."""
    own = {"labelSelector": {"matchLabels": {f"{names.PREFIX}nonce": mark.nonce}}, "topologyKey": topology}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [own]}}
