"""The settings of the runner kubernetes: the table `[runner_options.kubernetes]` of `config.toml`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from bastion.model.errors import SpecError

from .strategic_merge import misshapen

BUYING = ("reserved", "on-demand", "spot", "flex-start")
"""The ways to buy nodes, in the words of Google's clusters."""

RESTRICTED, OFF = SECURITY = ("restricted", "off")
"""The part of the cluster's restricted profile that pods get: all of it, or nothing."""

USER = 10_001
"""The number of the user in the worker's image, as its Dockerfile sets it."""

_USER_MAX = 2**31 - 1
PYTHON = "/usr/local/bastion/bin/python"
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_WORD = re.compile(r"[\x21-\x7e]{1,512}")
_LABEL = re.compile(r"([A-Za-z0-9][A-Za-z0-9.-]{0,252}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?")
_GRACE_S = (30, 86_400)
_PARTS = frozenset({"metadata", "spec"})


class ResourceKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The nodes with one kind of resource, where they differ from those of Google's clusters.

    resource: the name that the device plugin gives the resource; "" means the usual one.
    per_node: how many of it a node has; 0 means the usual number.
    topology: the label that has one value on all nodes of a replica; "" means the usual one.
    node_selector: the labels that the nodes have; None means the usual ones.
    tolerations: more taints that pods tolerate.
    """

    resource: str = ""
    per_node: int = 0
    topology: str = ""
    node_selector: dict[str, str] | None = None
    tolerations: list[dict[str, Any]] = []


class KubernetesSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of the runner kubernetes: where its pods run, and how they are made.

    namespace: the namespace of all objects.
    context: the context in the kubeconfig; "" means the present one.
    kubeconfig: the file; "" means the usual one. With neither, a bastion in a cluster uses that cluster.
    image: the image with the worker.
    python: the Python in it that starts the worker.
    service_account: the pods' service account; "" means the namespace's own.
    priority_class: the pods' priority class; "" means none.
    queue: a local queue of Kueue; "" means no Kueue.
    gke: nodes are selected by the labels that Google's clusters have.
    tiers: how nodes are bought for each tier of the quota file; the last is for all further tiers.
    reservations: the names of reservations, by kind of resource.
    token_audience: the audience of the cluster's own tokens, for a bucket that trusts them.
    credentials: a config map with the key credentials.json, for the same.
    grace_s: the seconds that pods get for their end when the cluster takes their node away.
    kinds: the nodes of kinds that differ, by kind of resource.
    pod: an override that is merged into the template of every pod.
    security: pods get the restricted profile (`restricted`), or none of it (`off`).
    user: under `restricted`, the user of pods with the worker's image. 0 leaves it to the image, as in pods with a
        job's image.
    deployed_in: the uid of the namespace of the bastion's own Deployment; "" means that it has none.
    bucket_secret: a Secret with the bucket's credentials, for that Deployment alone.
    """

    namespace: str = "default"
    context: str = ""
    kubeconfig: str = ""
    image: str = ""
    python: str = PYTHON
    service_account: str = ""
    priority_class: str = ""
    queue: str = ""
    gke: bool = True
    tiers: list[str] = msgspec.field(default_factory=lambda: ["on-demand"])
    reservations: dict[str, str] = {}
    token_audience: str = ""
    credentials: str = ""
    grace_s: int = 300
    kinds: dict[str, ResourceKind] = {}
    pod: dict[str, Any] = {}
    security: str = RESTRICTED
    user: int = USER
    deployed_in: str = ""
    bucket_secret: str = ""

    def bought(self, tier: int) -> str:
        """Return how nodes of this tier, counted from 0, are bought."""
        return self.tiers[min(tier, len(self.tiers) - 1)]


def settings(options: Mapping[str, Any]) -> KubernetesSettings:
    """Return the settings in a table. Raises `SpecError` with every complaint."""
    try:
        found = msgspec.convert(options, KubernetesSettings, strict=True)
    except msgspec.ValidationError as error:
        raise SpecError(f"{_plain(error)}; its keys are {', '.join(KubernetesSettings.__struct_fields__)}") from error
    if wrong := list(_wrong(found)):
        raise SpecError("; ".join(wrong))
    return found


def faults(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a table of options."""
    try:
        settings(options)
    except SpecError as error:
        return [str(error)]
    return []


def _plain(error: msgspec.ValidationError) -> str:
    """Return a decoder's message, with the key first."""
    what, _, where = str(error).partition(" - at `$.")
    return f"{where.rstrip('`') or 'the table'}: {what[:200]}"


def _wrong(found: KubernetesSettings) -> Iterator[str]:
    if not found.image:
        yield 'image is missing; use the worker\'s image, as in "europe-docker.pkg.dev/PROJECT/REPO/bastion-worker:1"'
    if found.security not in SECURITY:
        yield f"security is {found.security[:80]!r}; use {' or '.join(SECURITY)}"
    if not 0 <= found.user <= _USER_MAX:
        yield f"user is {found.user}; use the number of a user, or 0 for the image's own"
    for key in ("namespace", "service_account", "priority_class", "queue", "credentials", "bucket_secret"):
        if (name := getattr(found, key)) and not _NAME.fullmatch(name):
            yield f"{key} is {name[:80]!r}; use a name of small letters, digits, '-' and '.'"
    if not found.namespace:
        yield "namespace is empty; set one, as in default"
    for key in ("context", "kubeconfig", "image", "python", "token_audience", "deployed_in"):
        if (text := getattr(found, key)) and not _WORD.fullmatch(text):
            yield f"{key} is {text[:80]!r}; use up to 512 printable characters without spaces"
    if bool(found.token_audience) != bool(found.credentials):
        yield "token_audience and credentials belong together; set both or neither"
    if found.deployed_in and (found.kubeconfig or found.context):
        yield "kubeconfig and context are for a bastion outside of its cluster, but this one runs in it; set neither"
    if not found.tiers or set(found.tiers) - set(BUYING):
        yield f"tiers is {found.tiers!r}; use some of {', '.join(BUYING)}"
    if not _GRACE_S[0] <= found.grace_s <= _GRACE_S[1]:
        yield f"grace_s is {found.grace_s}; use {_GRACE_S[0]} to {_GRACE_S[1]} seconds"
    for kind, name in found.reservations.items():
        if not _VALUE.fullmatch(name) or not name:
            yield f"reservations.{kind[:64]} is {name[:80]!r}; use its name"
    for kind, one in found.kinds.items():
        yield from (f"kinds.{kind[:64]}.{what}" for what in _wrong_kind(one))
    if odd := set(found.pod) - _PARTS:
        yield f"pod has {', '.join(sorted(odd))[:80]}; a pod's template has metadata and spec"
    yield from misshapen(found.pod, "pod")


def _wrong_kind(one: ResourceKind) -> Iterator[str]:
    if one.resource and not _LABEL.fullmatch(one.resource):
        yield f"resource is {one.resource[:80]!r}; use the name that nodes give it, as in nvidia.com/gpu"
    if one.topology and not _LABEL.fullmatch(one.topology):
        yield f"topology is {one.topology[:80]!r}; use a label that nodes have, as in cloud.google.com/gke-nodepool"
    if not 0 <= one.per_node <= 1024:
        yield f"per_node is {one.per_node}; use 0 to 1024"
    for label, value in (one.node_selector or {}).items():
        if not _LABEL.fullmatch(label) or not _VALUE.fullmatch(value):
            yield f"node_selector has {label[:80]!r} = {value[:80]!r}; use a label that nodes have"
