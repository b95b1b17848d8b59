"""A bastion that lives in its cluster: one pod, kept up by a Deployment, with the rights that it needs and no other. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import parse, render
from .settings import KubernetesSettings

ROLES = "rbac.authorization.k8s.io"
CONTAINER = "bastion"
_HOST, _MADE, _MANAGED = "bastion/host", "bastion/made-of", "app.kubernetes.io/managed-by"
_HOME = "/home/bastion"
_USER = 10001
"""The account in our image."""

_GRACE_S = 30
_ALL = ["create", "delete", "get", "list"]
_KEPT = ["create", "delete", "get", "patch"]
_PLACES = {
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": (f"/apis/{ROLES}/v1", "roles"),
    "RoleBinding": (f"/apis/{ROLES}/v1", "rolebindings"),
    "Deployment": ("/apis/apps/v1", "deployments"),
}
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,300}(@sha256:[0-9a-f]{64})?")
_WORDS_MAX = 600
_LOCAL = ("file://", "memory://")
_HOPELESS = ("CrashLoopBackOff", "CreateContainerConfigError", "ImagePullBackOff", "InvalidImageName")


@dataclass(frozen=True, slots=True, kw_only=True)
class BastionDeployment:
    """Where a bastion lives. `scope` names it and its part of the `bucket`; `flags` lead its programs there.

    `image` has `bastion`.
    """

    scope: str
    bucket: str
    flags: Sequence[str]
    image: str
    settings: KubernetesSettings

    @property
    def name(self) -> str:
        """Of everything that it consists of."""
        return name_of(self.scope)


def name_of(scope: str) -> str:
    """How all is called that the bastion of this scope consists of: by it, it is found again."""
    return f"bastion-{re.sub(r'[^a-z0-9]+', '-', scope.lower())[-50:].strip('-')}"


def faults(host: BastionDeployment) -> Iterator[str]:
    """What cannot be."""
    if not _IMAGE.fullmatch(host.image):
        yield (
            f"the bastion's image is {host.image[:200]!r}; build it from the repository's Dockerfile (target bastion), push it, "
            "and say --image=REGISTRY/bastion@sha256:..."
        )
    if host.bucket.startswith(_LOCAL):
        yield f"the bucket is {host.bucket[:200]}, which no pod can reach; use one of a store, as gs://NAME"


def rules(settings: KubernetesSettings) -> list[dict[str, Any]]:
    """The rights of the runner, all of them in its namespace."""
    queue = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]}
    return [
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": _ALL},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _ALL},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
        *([queue] if settings.queue else []),
    ]


def rules_of_people(settings: KubernetesSettings) -> list[dict[str, Any]]:
    """The rights of whoever creates, looks after and deletes such a bastion: who grants rights has to have them, too."""
    return [
        *rules(settings),
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["create", "delete", "get"]},
        {"apiGroups": [ROLES], "resources": ["roles"], "verbs": _KEPT},
        {"apiGroups": [ROLES], "resources": ["rolebindings"], "verbs": ["create", "delete", "get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": _KEPT},
    ]


def manifests(host: BastionDeployment) -> list[dict[str, Any]]:
    """All of it, in the order in which it is made."""
    metadata = {"name": host.name, "namespace": host.settings.namespace, "labels": _labels(host)}
    subject = {"kind": "ServiceAccount", "name": host.name, "namespace": host.settings.namespace}
    pod = _pod(host)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {"apiVersion": f"{ROLES}/v1", "kind": "Role", "metadata": metadata, "rules": rules(host.settings)},
        {
            "apiVersion": f"{ROLES}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": ROLES, "kind": "Role", "name": host.name},
            "subjects": [subject],
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "strategy": {"type": "Recreate"},  # two would only depose each other
                "selector": {"matchLabels": {_HOST: host.name}},
                "template": {"metadata": {"labels": _labels(host) | {_MADE: _digest(pod)}}, "spec": pod},
            },
        },
    ]


def paths(namespace: str, name: str) -> dict[str, str]:
    """Where each thing is of which a bastion of this name consists, by its kind, in the order in which they are made."""
    return {kind: f"{api}/namespaces/{namespace}/{kinds}/{name}" for kind, (api, kinds) in _PLACES.items()}


def selector(name: str) -> str:
    """What selects the pods of the bastion of this name."""
    return f"{_HOST}={name}"


def is_ours(row: Mapping[str, Any]) -> bool:
    """An object was made here, and not by its user beforehand."""
    return bool(((row.get("metadata") or {}).get("labels") or {}).get(_MANAGED) == "bastion")


def holds(there: Any, wanted: Any) -> bool:
    """What is there has all that is wanted; the cluster adds to it what we leave to it."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(holds(there.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        same = isinstance(there, list) and len(there) == len(wanted)
        return same and all(holds(*pair) for pair in zip(there, wanted, strict=True))
    return bool(there == wanted)


def image_of(row: Mapping[str, Any]) -> str:
    """The image that a Deployment's pod has."""
    containers = row["spec"]["template"]["spec"]["containers"]
    return next((str(one.get("image", "")) for one in containers if one.get("name") == CONTAINER), "")


def state(row: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str:
    """How a Deployment and its pods are, in a word, or in the words of the cluster."""
    if not row["spec"].get("replicas", 1):
        return "STOPPING" if pods else "STOPPED"
    made_of = row["spec"]["template"]["metadata"]["labels"].get(_MADE)
    for pod in pods:
        status = pod.get("status") or {}
        if "deletionTimestamp" in pod["metadata"] or pod["metadata"]["labels"].get(_MADE) != made_of:
            continue  # of what was before
        if any("running" in (one.get("state") or {}) for one in status.get("containerStatuses") or []):
            return "RUNNING"
        return parse.waits(status)
    for one in (row.get("status") or {}).get("conditions") or []:
        if (one.get("type"), one.get("status")) == ("ReplicaFailure", "True"):
            return f"{one.get('reason', '')}: {' '.join(str(one.get('message', '')).split())}"[:_WORDS_MAX]
    return "its pod is being made"


def has_begun(pod: Mapping[str, Any]) -> bool:
    """Its container has run, so that there is a log."""
    told = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one.get("restartCount") or "waiting" not in (one.get("state") or {"waiting": {}}) for one in told)


def is_hopeless(word: str) -> bool:
    """A state from which no bastion comes up by itself."""
    return word.startswith(_HOPELESS) or word == "STOPPED"


def _labels(host: BastionDeployment) -> dict[str, str]:
    return {_MANAGED: "bastion", _HOST: host.name}


def _digest(pod: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(pod, sort_keys=True).encode()).hexdigest()[:16]


def _pod(host: BastionDeployment) -> dict[str, Any]:
    held = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    env, mounts, volumes = _way_to_the_bucket(host)
    container = {
        "name": CONTAINER,
        "image": host.image,
        "args": ["start", "--here", *host.flags],
        **env,
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": held,
        "volumeMounts": [{"name": "home", "mountPath": _HOME}, {"name": "tmp", "mountPath": "/tmp"}, *mounts],
    }
    return {
        "serviceAccountName": host.name,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_S,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [{"name": "home", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}, *volumes],
    }


def _way_to_the_bucket(host: BastionDeployment) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Who the bastion is for its bucket: the container's variables, mounts and volumes. By itself it is its service account.

    Of a Secret, Google's stores want a file; other stores take variables.
    """
    secret = host.settings.bucket_secret
    if secret and not host.bucket.startswith("gs://"):
        return {"envFrom": [{"secretRef": {"name": secret}}]}, [], []
    volumes = render.credentials(host.settings)
    if secret:
        # A Secret that is not there is told by the bastion, at once, and not by a pod that waits for its volume.
        volumes = [{"name": "credentials", "secret": {"secretName": secret, "optional": True}}]
    if not volumes:
        return {}, [], []
    file = {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": f"{render.CREDENTIALS}/credentials.json"}
    mount = {"name": "credentials", "mountPath": render.CREDENTIALS, "readOnly": True}
    return {"env": [file]}, [mount], volumes
