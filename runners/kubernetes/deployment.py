"""A bastion that is hosted in its cluster: one pod, kept up by a Deployment, with only the rights that it needs.

Pure.
"""

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
"""The number of the user in our image."""

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
    """The Deployment that hosts a bastion.

    scope: one word for the bastion and its bucket.
    bucket: the URL of its bucket.
    flags: the flags that lead its programs to that bucket.
    image: the container image, which contains `bastion`.
    settings: the settings in `[runner_options.kubernetes]`.
    """

    scope: str
    bucket: str
    flags: Sequence[str]
    image: str
    settings: KubernetesSettings

    @property
    def name(self) -> str:
        """The name of each of its objects."""
        return name_of(self.scope)


def name_of(scope: str) -> str:
    """Return the name of all objects of the bastion with this scope. They are found again by this name."""
    return f"bastion-{re.sub(r'[^a-z0-9]+', '-', scope.lower())[-50:].strip('-')}"


def faults(host: BastionDeployment) -> Iterator[str]:
    """Yield what makes this Deployment impossible."""
    if not _IMAGE.fullmatch(host.image):
        yield (
            f"the bastion's image is {host.image[:200]!r}; build it from the repository's Dockerfile (target bastion), push it, "
            "and use --image=REGISTRY/bastion@sha256:..."
        )
    if host.bucket.startswith(_LOCAL):
        yield f"the bucket is {host.bucket[:200]}, which no pod can reach; use one of a store, as gs://NAME"


def rules(settings: KubernetesSettings) -> list[dict[str, Any]]:
    """Return the rights of the runner, all of them in its namespace."""
    queue = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]}
    return [
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": _ALL},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _ALL},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["list"]},
        *([queue] if settings.queue else []),
    ]


def rules_of_people(settings: KubernetesSettings) -> list[dict[str, Any]]:
    """Return the rights of a person who creates, looks after and deletes such a bastion.

    A person who grants rights must have them too.
    """
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
    """Return the manifests of all objects, in the order in which they are made."""
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
                "strategy": {"type": "Recreate"},  # two bastions would only take the leadership from each other
                "selector": {"matchLabels": {_HOST: host.name}},
                "template": {"metadata": {"labels": _labels(host) | {_MADE: _digest(pod)}}, "spec": pod},
            },
        },
    ]


def paths(namespace: str, name: str) -> dict[str, str]:
    """Return the path of each object of the bastion with this name, by kind, in the order in which they are made."""
    return {kind: f"{api}/namespaces/{namespace}/{kinds}/{name}" for kind, (api, kinds) in _PLACES.items()}


def selector(name: str) -> str:
    """Return the selector of the pods of the bastion with this name."""
    return f"{_HOST}={name}"


def is_ours(row: Mapping[str, Any]) -> bool:
    """True if an object was made here, and not by a user beforehand."""
    return bool(((row.get("metadata") or {}).get("labels") or {}).get(_MANAGED) == "bastion")


def holds(there: Any, wanted: Any) -> bool:
    """True if an object has everything that is wanted. The cluster may have added fields that we do not set."""
    if isinstance(wanted, Mapping):
        return isinstance(there, Mapping) and all(holds(there.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        same = isinstance(there, list) and len(there) == len(wanted)
        return same and all(holds(*pair) for pair in zip(there, wanted, strict=True))
    return bool(there == wanted)


def image_of(row: Mapping[str, Any]) -> str:
    """Return the image of a Deployment's pod."""
    containers = row["spec"]["template"]["spec"]["containers"]
    return next((str(one.get("image", "")) for one in containers if one.get("name") == CONTAINER), "")


def state(row: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str:
    """Return the state of a Deployment and its pods, in one word or in the cluster's words."""
    if not row["spec"].get("replicas", 1):
        return "STOPPING" if pods else "STOPPED"
    made_of = row["spec"]["template"]["metadata"]["labels"].get(_MADE)
    for pod in pods:
        status = pod.get("status") or {}
        if "deletionTimestamp" in pod["metadata"] or pod["metadata"]["labels"].get(_MADE) != made_of:
            continue  # a pod of an earlier version of the Deployment
        if any("running" in (one.get("state") or {}) for one in status.get("containerStatuses") or []):
            return "RUNNING"
        return parse.waits(status)
    for one in (row.get("status") or {}).get("conditions") or []:
        if (one.get("type"), one.get("status")) == ("ReplicaFailure", "True"):
            return f"{one.get('reason', '')}: {' '.join(str(one.get('message', '')).split())}"[:_WORDS_MAX]
    return "its pod is being created"


def has_begun(pod: Mapping[str, Any]) -> bool:
    """True if the pod's container has run, so that there is a log."""
    told = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one.get("restartCount") or "waiting" not in (one.get("state") or {"waiting": {}}) for one in told)


def is_hopeless(word: str) -> bool:
    """True for a state from which no bastion comes up by itself."""
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
    """Return the container's variables, mounts and volumes that log the bastion in to its bucket.

    With no settings for it, the bastion uses its service account. For Google's stores a Secret is mounted as a file;
    for other stores it becomes variables.
    """
    secret = host.settings.bucket_secret
    if secret and not host.bucket.startswith("gs://"):
        return {"envFrom": [{"secretRef": {"name": secret}}]}, [], []
    volumes = render.credentials(host.settings)
    if secret:
        # Optional, so that the bastion itself reports a missing Secret at once, and no pod waits for its volume.
        volumes = [{"name": "credentials", "secret": {"secretName": secret, "optional": True}}]
    if not volumes:
        return {}, [], []
    file = {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": f"{render.CREDENTIALS}/credentials.json"}
    mount = {"name": "credentials", "mountPath": render.CREDENTIALS, "readOnly": True}
    return {"env": [file]}, [mount], volumes
