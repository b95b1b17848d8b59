"""The pods of one replica: how many, what each of them asks for, and which nodes can run them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import RunnerError, SpecError
from bastion.model.job.instances import KINDS, SLICES, slice_of
from bastion.quota.resources import Resources

from .settings import KubernetesSettings, ResourceKind

GPU, TPU = "nvidia.com/gpu", "google.com/tpu"
_ACCELERATOR, _TPU_TYPE = "cloud.google.com/gke-accelerator", "cloud.google.com/gke-tpu-accelerator"
_TOPOLOGY = "cloud.google.com/gke-tpu-topology"
_NODE_POOL = "cloud.google.com/gke-nodepool"
_GPUS_OF_A_NODE = 8
_GPUS = {
    "a100": "nvidia-tesla-a100",
    "b200": "nvidia-b200",
    "gb200": "nvidia-gb200",
    "h100": "nvidia-h100-80gb",
    "h200": "nvidia-h200-141gb",
    "l4": "nvidia-l4",
    "t4": "nvidia-tesla-t4",
    "v100": "nvidia-tesla-v100",
}
"""The names of the GPUs in Google's clusters, by kind."""
_PER_NODE = {"gb200": 4, "t4": 4}
_TPUS = {
    "v3": "tpu-v3-slice",
    "v4": "tpu-v4-podslice",
    "v5litepod": "tpu-v5-lite-podslice",
    "v5p": "tpu-v5p-slice",
    "v6e": "tpu-v6e-slice",
    "7x": "tpu7x",
}
"""The names of the TPUs in Google's clusters, by kind."""

_ALONE = {"v3": "tpu-v3-device"}
"""The same names, for a slice that is one host."""

_ARM = frozenset({"gb200"})

KINDS_OF_CLUSTERS = frozenset({"cpu", "memory", *_TPUS, *KINDS["gpu"]})
"""The kinds that pods can ask for without further settings."""

_WORKER_GIB = 1
"""The memory in GiB that a pod's limit leaves to the worker, beside what its job may use."""

_PLAIN = ResourceKind()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The shape of one replica in a cluster.

    hosts: the number of pods.
    requests: what each pod asks for, by the cluster's names of resources.
    limits: the most that each pod may use.
    selector: the labels that its nodes must have.
    tolerations: the taints of nodes that its pods tolerate.
    topology: the label whose value is the same on all nodes of one replica, and different on those of the next; ""
        means that this does not matter.
    gpus: its pods have NVIDIA GPUs.
    """

    hosts: int
    requests: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, str] = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()
    topology: str = ""
    gpus: bool = False


def shape(resources: Resources, given: KubernetesSettings) -> Shape:
    """Return the shape of one replica with these resources. Raises `RunnerError` if no pods can have them."""
    kinds = [kind for kind in resources if kind not in ("cpu", "memory")]
    if len(kinds) > 1:
        raise RunnerError(f"a pod has one kind of accelerator, but this job asks for {' and '.join(sorted(kinds))}")
    if not kinds:
        requests, limits = _plain(resources, 1)
        return Shape(hosts=1, requests=requests, limits=limits)
    (kind,) = kinds
    own = given.kinds.get(kind, _PLAIN)
    if kind in SLICES:
        return _slice(kind, resources, given, own)
    if kind not in KINDS["gpu"] and not own.resource:
        raise RunnerError(
            f"the name of {kind} on nodes is not known; set kinds.{kind}.resource of [runner_options.kubernetes]"
        )
    return _of_cards(kind, resources, given, own)


def _slice(kind: str, resources: Resources, given: KubernetesSettings, own: ResourceKind) -> Shape:
    try:
        one = slice_of(kind, resources[kind])
    except SpecError as error:
        raise RunnerError(str(error)) from error
    if own.node_selector is None and given.gke and kind not in _TPUS:
        raise RunnerError(f"Google's clusters have no {kind}; use one of {', '.join(_TPUS)}")
    types = _TPUS | (_ALONE if one.hosts == 1 else {})
    usual = {_TPU_TYPE: types.get(kind, ""), _TOPOLOGY: one.topology}
    chips = {own.resource or TPU: str(one.chips // one.hosts)}
    requests, limits = _plain(resources, one.hosts)
    return Shape(
        hosts=one.hosts,
        requests=requests | chips,
        limits=limits | chips,
        selector=_selector(given, own, usual),
        tolerations=(_tolerated(own.resource or TPU), *own.tolerations),
        topology=_topology(one.hosts, own, _NODE_POOL if given.gke else ""),
    )


def _of_cards(kind: str, resources: Resources, given: KubernetesSettings, own: ResourceKind) -> Shape:
    number, most = resources[kind], own.per_node or _PER_NODE.get(kind, _GPUS_OF_A_NODE)
    hosts = number // most if number > most else 1
    if number > most and number % most:
        raise RunnerError(f"no nodes with {most} of {kind} make up {number}; did you mean {(hosts + 1) * most}?")
    cards = {own.resource or GPU: str(number // hosts)}
    requests, limits = _plain(resources, hosts)
    return Shape(
        hosts=hosts,
        requests=requests | cards,
        limits=limits | cards,
        selector=_selector(given, own, {_ACCELERATOR: _GPUS[kind]} if kind in _GPUS else {}),
        tolerations=(_tolerated(own.resource or GPU), *_of_processors(kind, given), *own.tolerations),
        topology=_topology(hosts, own, ""),
        gpus=(own.resource or GPU) == GPU,
    )


def _selector(given: KubernetesSettings, own: ResourceKind, usual: Mapping[str, str]) -> Mapping[str, str]:
    if own.node_selector is not None:
        return own.node_selector
    return usual if given.gke else {}


def _topology(hosts: int, own: ResourceKind, usual: str) -> str:
    return (own.topology or usual) if hosts > 1 else ""


def _tolerated(resource: str) -> Mapping[str, Any]:
    return {"key": resource, "operator": "Exists", "effect": "NoSchedule"}


def _of_processors(kind: str, given: KubernetesSettings) -> tuple[Mapping[str, Any], ...]:
    """Return the toleration for Arm processors: Google's clusters keep other pods away from such nodes."""
    arm = {"key": "kubernetes.io/arch", "operator": "Equal", "value": "arm64", "effect": "NoSchedule"}
    return (arm,) if given.gke and kind in _ARM else ()


def _plain(resources: Resources, hosts: int) -> tuple[dict[str, str], dict[str, str]]:
    """Return the processors and memory of one host: what it asks for, and the most that it may use."""
    requests, limits = {}, {}
    if cpu := resources.get("cpu", 0):
        requests["cpu"] = str(-(-cpu // hosts))
    if memory := resources.get("memory", 0):
        share = -(-memory // hosts)
        requests["memory"], limits["memory"] = f"{share}Gi", f"{share + _WORKER_GIB}Gi"
    return requests, limits
