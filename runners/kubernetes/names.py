"""Names and labels of what an attempt has in a cluster, and whose it is by them. Pure.

A set is all that an attempt has there: a JobSet, or a Job. Its name is made of the attempt alone: whoever asks for it a second
time is refused by the first. A machine is a pod, by its name and uid. A set without pods is listed as machines that are yet
to come.
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
class Mark:
    """Whose something is: a bastion's (`scope`), made for an attempt by the start `epoch` of that bastion.

    `hosts` are those of one group, which is a Job; `workers` are all. The `nonce` is another at every creation.
    """

    scope: str
    key: AttemptKey
    epoch: int
    nonce: str
    hosts: int
    workers: int


def labels(mark: Mark) -> dict[str, str]:
    """By which things are found. Of a long job id the label has the beginning, for people; the whole is in `notes`."""
    return {
        "app.kubernetes.io/managed-by": "bastion",
        SCOPE: mark.scope,
        JOB: mark.key.job[:63].rstrip("-._"),
        f"{PREFIX}task": str(mark.key.task),
        f"{PREFIX}attempt": str(mark.key.attempt),
        f"{PREFIX}epoch": str(mark.epoch),
        f"{PREFIX}nonce": mark.nonce,
    }


def notes(mark: Mark) -> dict[str, str]:
    """The annotations that tell the rest of a mark."""
    return {JOB: mark.key.job, f"{PREFIX}hosts": str(mark.hosts), f"{PREFIX}workers": str(mark.workers)}


def mark_of(metadata: Mapping[str, Any]) -> Mark | None:
    """The mark that an object's metadata tell; None for what is not ours, or was not made by us alone."""
    told, noted = metadata.get("labels") or {}, metadata.get("annotations") or {}
    parts = [told.get(f"{PREFIX}{name}", "") for name in ("task", "attempt", "epoch")]
    parts += [noted.get(f"{PREFIX}{name}", "") for name in ("hosts", "workers")]
    job, scope, nonce = noted.get(JOB, ""), told.get(SCOPE, ""), told.get(f"{PREFIX}nonce", "")
    if not (job and scope and _NONCE.fullmatch(nonce) and all(map(_NUMBER.fullmatch, parts))):
        return None
    task, attempt, epoch, hosts, workers = map(int, parts)
    key = AttemptKey(job, task, attempt)
    return Mark(scope=scope, key=key, epoch=epoch, nonce=nonce, hosts=hosts, workers=workers)


def worker_of(metadata: Mapping[str, Any], mark: Mark) -> int:
    """Which worker of its attempt a pod is; beyond the last one if it does not say so."""
    told = metadata.get("labels") or {}
    group, index = told.get(GROUP_LABEL, "0"), told.get(INDEX_LABEL, "")
    if not (_NUMBER.fullmatch(group) and _NUMBER.fullmatch(index)):
        return mark.workers
    return int(group) * mark.hosts + int(index)


def pod_id(name: str, nonce: str, uid: str) -> str:
    """The machine's id of a pod: as the pod itself is told it."""
    return f"{name}/{nonce}/{uid}"


def unborn_id(name: str, nonce: str, worker: int) -> str:
    """The id of a machine that a set of this name is yet to have."""
    return f"{_COMING}/{name}/{nonce}/{worker}"


def pod_of(machine: str) -> tuple[str, str] | None:
    """The name and uid of a pod; None for what is no id of one."""
    found = _POD.fullmatch(machine)
    return (found[1], found[3]) if found else None


def is_of(machine: str, name: str) -> bool:
    """True if the id is of a pod of the set of this name, or of one that is yet to come."""
    pod, unborn = pod_of(machine), unborn_of(machine)
    return unborn[0] == name if unborn else pod is not None and pod[0].startswith(f"{name}-")


def unborn_of(machine: str) -> tuple[str, str] | None:
    """The name and nonce of the set that is to have this machine; None for what is no such id."""
    found = _UNBORN.fullmatch(machine)
    return (found[1], found[2]) if found else None


KUBERNETES = "kubernetes"
_OF_THE_POD = ("BASTION_", "JOB_COMPLETION_INDEX", "KUBERNETES_")


def flags(told: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The flags that only the pod knows: which worker it is, of which machine, at which address.

    Raises `KeyError` for a pod that is not as it was asked for, `ValueError` for one that is not numbered.
    """
    group = int(environ.get("BASTION_GROUP") or 0)
    return {
        "worker": str(group * int(told["hosts"]) + int(environ["JOB_COMPLETION_INDEX"])),
        "machine": environ["BASTION_MACHINE"],
        "address": environ["BASTION_POD_IP"],
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """What jobs find of the variables of our container: those of its image, and what its template adds."""
    return {name: value for name, value in environ.items() if not name.startswith(_OF_THE_POD)}
