"""Parse listings of pods, sets and Kueue's workloads into values, and those into what attempts wait for. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import AttemptKey, Machine

from . import names
from .names import KubernetesLabels

OVER = frozenset({"Succeeded", "Failed"})
"""The phases of a pod in which nothing of it runs any more."""

_OF_SET = re.compile(r"-w-[0-9]+$")
_NAMED = re.compile(r'^(?:Error creating: )?(?:[Pp]ods? "[^"]*" is ((?:forbidden|invalid): ))?')
"""The part of a refusal's text that is different each time."""

_ENDS = frozenset({"Completed", "Complete", "Failed"})
_WORDS_MAX = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """One pod of ours, as the listing shows it.

    name: its name.
    uid: its uid.
    mark: the mark in its metadata.
    worker: the number of its worker.
    phase: its phase, in the cluster's words.
    waits: what keeps it from running, or why it failed, in words.
    owned: a Job owns it.
    namespace: its namespace.
    """

    name: str
    uid: str
    mark: KubernetesLabels
    worker: int
    phase: str
    waits: str
    owned: bool
    namespace: str

    def machine(self, *, ours: bool) -> Machine:
        """Return the pod as a machine. A pod that has not begun to run is not there yet.

        `ours`: its mark is proved.
        """
        return Machine(
            id=names.pod_id(self.name, self.mark.nonce, self.uid),
            key=self.mark.key,
            worker=self.worker,
            epoch=self.mark.epoch,
            seen=self.phase != "Pending",
            ours=ours and self.owned,
            origin=f"pod {self.name} in namespace {self.namespace}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSet:
    """All that one attempt has in the cluster.

    kind: `jobsets` or `jobs`.
    name: its name.
    uid: its uid.
    mark: the mark in its metadata.
    over: it will have no pods any more.
    held: it is suspended: Kueue has not admitted it yet.
    """

    kind: str
    name: str
    uid: str
    mark: KubernetesLabels
    over: bool
    held: bool


def pod_of(row: Mapping[str, Any], scope: str) -> Pod | None:
    """Parse a listed pod; None if it is none of this bastion's."""
    metadata, status = row.get("metadata") or {}, row.get("status") or {}
    mark = names.mark_of(metadata)
    if mark is None or mark.scope != scope:
        return None
    return Pod(
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        mark=mark,
        worker=names.worker_of(metadata, mark),
        phase=status.get("phase", "Pending"),
        waits=_fell(status) if status.get("phase") == "Failed" else waits(status),
        owned=any(one.get("controller") and one.get("kind") == "Job" for one in metadata.get("ownerReferences") or []),
        namespace=metadata.get("namespace", ""),
    )


def set_of(row: Mapping[str, Any], scope: str, kind: str) -> AttemptSet | None:
    """Parse a listed JobSet or Job; None if it is none of this bastion's, or a part of another set."""
    metadata = row.get("metadata") or {}
    mark = names.mark_of(metadata)
    if mark is None or mark.scope != scope or metadata.get("ownerReferences"):
        return None
    ended = {one.get("type") for one in _conditions(row) if one.get("status") == "True"} & _ENDS
    return AttemptSet(
        kind=kind,
        name=metadata.get("name", ""),
        uid=metadata.get("uid", ""),
        mark=mark,
        over=bool(ended) or "deletionTimestamp" in metadata,
        held=bool((row.get("spec") or {}).get("suspend")),
    )


def machines(
    pods: Iterable[Pod], sets: Iterable[AttemptSet], proved: Callable[[KubernetesLabels], bool]
) -> Iterator[Machine]:
    """Yield all machines that exist, and those that sets without any pod will have.

    `proved` returns True if this bastion made the mark.
    """
    begun = set()
    for pod in pods:
        begun |= {pod.mark.nonce} if pod.owned else set()
        if pod.phase not in OVER:
            yield pod.machine(ours=proved(pod.mark))
    for one in sets:
        if one.over or one.mark.nonce in begun:
            continue
        ours = proved(one.mark)
        for worker in range(one.mark.workers):
            yield Machine(
                id=names.unborn_id(one.name, one.mark.nonce, worker),
                key=one.mark.key,
                worker=worker,
                epoch=one.mark.epoch,
                seen=False,
                ours=ours,
                origin=f"{one.kind.removesuffix('s')} {one.name}",
            )


def waiting(
    pods: Sequence[Pod], sets: Iterable[AttemptSet], queued: Mapping[str, str], refused: Mapping[str, str]
) -> dict[AttemptKey, str]:
    """Return what attempts wait for, in words.

    `queued` has what Kueue says, and `refused` why pods are not made, each by the uid of the set.
    """
    said: dict[AttemptKey, str] = {}
    begun = {pod.mark.nonce for pod in pods}
    for one in sets:
        if one.uid in refused and not one.over:
            said[one.mark.key] = refused[one.uid]
        elif one.over or one.mark.nonce in begun:
            continue
        elif one.held:
            said[one.mark.key] = queued.get(one.uid) or "it is suspended, and Kueue has not reported on it yet"
        else:
            said[one.mark.key] = "the cluster has not created its pods yet"
    alive = {pod.mark.nonce for pod in pods if pod.phase not in OVER}
    for pod in sorted(pods, key=lambda pod: (pod.phase == "Failed", pod.mark.key, pod.worker)):
        if pod.phase == "Pending" or (pod.phase == "Failed" and pod.mark.nonce not in alive):
            whose = f"worker {pod.worker}: " if pod.mark.workers > 1 else ""
            there = said.get(pod.mark.key, "")
            if not there or (there.endswith(_STARTING) and pod.waits != _STARTING):
                said[pod.mark.key] = f"{whose}{pod.waits}"
    return said


def lacking(pods: Iterable[Pod], sets: Iterable[AttemptSet]) -> list[AttemptSet]:
    """Return the sets that may have more pods than there are."""
    there = Counter(pod.mark.nonce for pod in pods)
    return [one for one in sets if not one.over and not one.held and there[one.mark.nonce] < one.mark.workers]


def kept_out(events: Iterable[Mapping[str, Any]], sets: Iterable[AttemptSet]) -> dict[str, str]:
    """Return why the cluster makes no pods for these sets, by uid: the last event of each of their Jobs."""
    whose = {one.name: one.uid for one in sets}
    said: dict[str, str] = {}
    for row in sorted(events, key=lambda row: str(row.get("lastTimestamp") or row.get("eventTime") or "")):
        name = str((row.get("involvedObject") or {}).get("name", ""))
        uid = whose.get(name) or whose.get(_OF_SET.sub("", name))
        if uid:
            told = _NAMED.sub(r"\1", " ".join(str(row.get("message", "")).split()))
            said[uid] = f"the cluster refuses its pods: {told}"[:_WORDS_MAX]
    return said


def queued_of(row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the uid of the set of a listed Kueue workload, and why it waits; None if it waits for nothing."""
    owners = (row.get("metadata") or {}).get("ownerReferences") or []
    uid = next((owner.get("uid", "") for owner in owners if owner.get("controller")), "")
    state = {one.get("type"): one for one in _conditions(row)}
    if not uid or state.get("Admitted", {}).get("status") == "True":
        return None
    for check in (row.get("status") or {}).get("admissionChecks") or []:
        if check.get("state") != "Ready" and state.get("QuotaReserved", {}).get("status") == "True":
            told = {"reason": check.get("state"), "message": check.get("message")}
            return uid, _words(f"Kueue: admission check {check.get('name')}", told)
    for name in ("QuotaReserved", "Admitted"):
        if (one := state.get(name, {})).get("status") == "False":
            return uid, _words("Kueue", one)
    return uid, "Kueue has not looked at it yet"


_STARTING = "its container is being started"


def waits(status: Mapping[str, Any]) -> str:
    """Return why a pod does not run."""
    for one in status.get("conditions") or []:
        if one.get("type") == "PodScheduled" and one.get("status") == "False":
            return _words("", one)
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or []:
            held = (container.get("state") or {}).get("waiting") or {}
            if held.get("reason", "ContainerCreating") not in ("ContainerCreating", "PodInitializing"):
                return _words("", held)
    return _STARTING


def _fell(status: Mapping[str, Any]) -> str:
    """Return why a pod failed. Its worker ends well whatever the job did, so the reason is the cluster's."""
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind) or []:
            end = (container.get("state") or {}).get("terminated") or {}
            if end.get("exitCode") and not status.get("reason"):
                return _words(f"its container {container.get('name')} failed", end)
    return _words("its pod failed", status)


def _words(who: str, told: Mapping[str, Any]) -> str:
    """Join a reason and its message into one line of bounded length."""
    parts = (who, str(told.get("reason", "")), " ".join(str(told.get("message", "")).split()))
    return ": ".join(filter(None, parts))[:_WORDS_MAX]


def _conditions(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (row.get("status") or {}).get("conditions") or []
