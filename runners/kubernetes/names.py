"""Names and labels of what an attempt has in a cluster, and the owner that they show. Pure.

A set is all that an attempt has there: a JobSet, or a Job. Its name is made from the attempt alone, so the cluster
refuses a second request for the same set. A machine is a pod, named by its name and uid. A set without pods is listed
as machines that are still to come.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import AttemptKey

PREFIX = "bastion/"
SCOPE = f"{PREFIX}scope"
JOB = f"{PREFIX}job"
GROUP_LABEL = "jobset.sigs.k8s.io/job-index"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"
_COMING = "coming"
_NONCE = re.compile(r"[0-9a-f]{32}")
_NUMBER = re.compile(r"[0-9]{1,9}")
_POD = re.compile(r"([a-z0-9][a-z0-9.-]{0,252})/([0-9a-f]{32})/([0-9A-Za-z-]{1,64})")
_UNBORN = re.compile(rf"{_COMING}/([a-z0-9][a-z0-9.-]{{0,252}})/([0-9a-f]{{32}})/([0-9]{{1,9}})")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubernetesLabels:
    """The owner of something in a cluster, as its labels and annotations say.

    scope: the bastion.
    key: the attempt that it was made for.
    epoch: the start of the bastion that made it.
    nonce: 32 hexadecimal digits, different at every creation.
    hosts: the number of hosts of one group; a group is a Job.
    workers: the number of all workers of the attempt.
    """

    scope: str
    key: AttemptKey
    epoch: int
    nonce: str
    hosts: int
    workers: int


def labels(mark: KubernetesLabels) -> dict[str, str]:
    """Return the labels that things are found by.

    The label for a long job id has only its beginning, for people; the whole id is in `notes`.
    """
    return {
        "app.kubernetes.io/managed-by": "bastion",
        SCOPE: mark.scope,
        JOB: mark.key.job[:63].rstrip("-._"),
        f"{PREFIX}task": str(mark.key.task),
        f"{PREFIX}attempt": str(mark.key.attempt),
        f"{PREFIX}epoch": str(mark.epoch),
        f"{PREFIX}nonce": mark.nonce,
    }


def notes(mark: KubernetesLabels) -> dict[str, str]:
    """Return the annotations that contain the rest of a mark."""
    return {JOB: mark.key.job, f"{PREFIX}hosts": str(mark.hosts), f"{PREFIX}workers": str(mark.workers)}


def mark_of(metadata: Mapping[str, Any]) -> KubernetesLabels | None:
    """Return the mark in an object's metadata; None if they contain none, or not all of it in our form."""
    told, noted = metadata.get("labels") or {}, metadata.get("annotations") or {}
    parts = [told.get(f"{PREFIX}{name}", "") for name in ("task", "attempt", "epoch")]
    parts += [noted.get(f"{PREFIX}{name}", "") for name in ("hosts", "workers")]
    job, scope, nonce = noted.get(JOB, ""), told.get(SCOPE, ""), told.get(f"{PREFIX}nonce", "")
    if not (job and scope and _NONCE.fullmatch(nonce) and all(map(_NUMBER.fullmatch, parts))):
        return None
    task, attempt, epoch, hosts, workers = map(int, parts)
    key = AttemptKey(job, task, attempt)
    return KubernetesLabels(scope=scope, key=key, epoch=epoch, nonce=nonce, hosts=hosts, workers=workers)


def worker_of(metadata: Mapping[str, Any], mark: KubernetesLabels) -> int:
    """Return the number of the pod's worker in its attempt.

    A pod that does not say it gets a number beyond the last worker.
    """
    told = metadata.get("labels") or {}
    group, index = told.get(GROUP_LABEL, "0"), told.get(INDEX_LABEL, "")
    if not (_NUMBER.fullmatch(group) and _NUMBER.fullmatch(index)):
        return mark.workers
    return int(group) * mark.hosts + int(index)


def pod_id(name: str, nonce: str, uid: str) -> str:
    """Return the machine's id for a pod. The pod itself gets the same id."""
    return f"{name}/{nonce}/{uid}"


def unborn_id(name: str, nonce: str, worker: int) -> str:
    """Return the id of a machine that a set of this name does not have yet."""
    return f"{_COMING}/{name}/{nonce}/{worker}"


def pod_of(machine: str) -> tuple[str, str] | None:
    """Return the name and uid of a pod; None for an id that is not a pod's."""
    found = _POD.fullmatch(machine)
    return (found[1], found[3]) if found else None


def is_of(machine: str, name: str) -> bool:
    """True if the id is of a pod of the set with this name, or of one that is still to come."""
    pod, unborn = pod_of(machine), unborn_of(machine)
    return unborn[0] == name if unborn else pod is not None and pod[0].startswith(f"{name}-")


def unborn_of(machine: str) -> tuple[str, str] | None:
    """Return the name and nonce of the set that will have this machine; None for another kind of id."""
    found = _UNBORN.fullmatch(machine)
    return (found[1], found[2]) if found else None


KUBERNETES = "kubernetes"
_OF_THE_POD = ("BASTION_", "JOB_COMPLETION_INDEX", "KUBERNETES_")


def flags(told: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the flags that only the pod knows: its worker, its machine, its address.

    Raises `KeyError` for a pod that is not as it was requested, `ValueError` for one that is not numbered.
    """
    group = int(environ.get("BASTION_GROUP") or 0)
    return {
        "worker": str(group * int(told["hosts"]) + int(environ["JOB_COMPLETION_INDEX"])),
        "machine": environ["BASTION_MACHINE"],
        "address": environ["BASTION_POD_IP"],
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of our container that jobs see: those of its image, and those that its template adds."""
    return {name: value for name, value in environ.items() if not name.startswith(_OF_THE_POD)}
