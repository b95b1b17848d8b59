"""A bastion that lives in its cluster: one pod, kept up by a Deployment, with the rights that it needs and no other. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runners.kubernetes.settings import KubernetesSettings

ROLES = "rbac.authorization.k8s.io"
_HOME = "/home/bastion"
_USER = 10001
"""The account in our image."""

_GRACE_S = 30
_ALL = ["create", "delete", "get", "list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where a bastion lives. `scope` names it and its bucket; `flags` lead its programs to it; `image` has `bastion`."""

    scope: str
    flags: Sequence[str]
    image: str
    settings: KubernetesSettings

    @property
    def name(self) -> str:
        """Of everything that it consists of."""
        return f"bastion-{re.sub(r'[^a-z0-9]+', '-', self.scope.lower())[-50:].strip('-')}"


def rules(settings: KubernetesSettings) -> list[dict[str, Any]]:
    """The rights of the runner, all of them in its namespace."""
    queue = {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": ["list"]}
    return [
        {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": _ALL},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _ALL},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete", "get", "list"]},
        *([queue] if settings.queue else []),
    ]


def manifests(host: Host) -> list[dict[str, Any]]:
    """All of it, in the order in which it is made."""
    metadata = {"name": host.name, "namespace": host.settings.namespace, "labels": _labels(host)}
    subject = {"kind": "ServiceAccount", "name": host.name, "namespace": host.settings.namespace}
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
                "selector": {"matchLabels": {"bastion/host": host.name}},
                "template": {"metadata": {"labels": _labels(host)}, "spec": _pod(host)},
            },
        },
    ]


def _labels(host: Host) -> dict[str, str]:
    return {"app.kubernetes.io/managed-by": "bastion", "bastion/host": host.name}


def _pod(host: Host) -> dict[str, Any]:
    held = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    container = {
        "name": "bastion",
        "image": host.image,
        "args": ["start", "--here", *host.flags],
        "resources": {"requests": {"cpu": "250m", "memory": "512Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": held,
        "volumeMounts": [{"name": "home", "mountPath": _HOME}, {"name": "tmp", "mountPath": "/tmp"}],
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
        "volumes": [{"name": "home", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}],
    }
