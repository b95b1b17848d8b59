"""What listings of queued resources and nodes show, as values; and the machines that they come to. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import Machine
from bastion.model.job.instances import SLICES, Slice

from ..api.failures import Refusal, of_status
from ..machines.names import GoogleHost, Mark, mark_of

DEAD = frozenset({"PREEMPTED", "TERMINATED", "STOPPED", "HIDDEN"})
"""States of a node that runs nothing any more. It holds quota until it is deleted."""

COMING = frozenset({"CREATING", "STARTING", "STATE_UNSPECIFIED"})
WAITING = frozenset({"CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "STATE_UNSPECIFIED"})
OVER = frozenset({"FAILED", "SUSPENDED"})
"""States of a queued resource that gives nothing any more."""

WELL = frozenset({"", "HEALTHY", "HEALTH_UNSPECIFIED"})
_TYPE = re.compile(r"([a-z0-9]+)-([0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuNode:
    """One slice, as it is listed."""

    zone: str
    name: str
    mark: Mark
    state: str
    health: str
    parent: str
    hosts: int

    @property
    def machines(self) -> Iterator[GoogleHost]:
        """Its hosts."""
        for host in range(self.hosts):
            yield GoogleHost(zone=self.zone, name=self.name, nonce=self.mark.nonce, host=host)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """One queued resource of ours: all slices of one attempt. `failed`: why it is over, where Google says so."""

    zone: str
    name: str
    mark: Mark
    state: str
    want: str
    nodes: tuple[str, ...]
    hosts: int
    failed: Refusal | None

    @property
    def machines(self) -> Iterator[GoogleHost]:
        """Every host, in the order of their workers, whether it is there or not."""
        for node in self.nodes:
            for host in range(self.hosts):
                yield GoogleHost(zone=self.zone, name=node, nonce=self.mark.nonce, host=host)


def want(kind: str, slices: int, how: str) -> str:
    """What is asked of a zone, in words: `v4-16 (spot)`, `2 slices of v4-16 (reserved)`."""
    return f"{f'{slices} slices of ' if slices > 1 else ''}{kind} ({how})"


def queued_of(row: Mapping[str, Any], zone: str, scope: str) -> Queued | None:
    """A listed queued resource; None if it is none of this bastion's."""
    spec: Mapping[str, Any] = next(iter(row.get("tpu", {}).get("nodeSpec", [])), {})
    node = spec.get("node", {})
    mark = mark_of(node.get("labels", {}))
    if mark is None or mark.scope != scope:
        return None
    several = spec.get("multisliceParams", {})
    prefix = several.get("nodeIdPrefix", "")
    nodes = tuple(f"{prefix}-{n}" for n in range(int(several.get("nodeCount", 0)))) or (spec.get("nodeId", ""),)
    state = row.get("state", {})
    error = state.get("failedData", {}).get("error")
    return Queued(
        zone=zone,
        name=_last(row),
        mark=mark,
        state=state.get("state", "STATE_UNSPECIFIED"),
        want=want(node.get("acceleratorType", ""), len(nodes), _how(row, node)),
        nodes=nodes,
        hosts=hosts(node),
        failed=of_status(error) if error else None,
    )


def node_of(row: Mapping[str, Any], zone: str, scope: str) -> TpuNode | None:
    """A listed node; None if it is none of this bastion's."""
    mark = mark_of(row.get("labels", {}))
    if mark is None or mark.scope != scope:
        return None
    return TpuNode(
        zone=zone,
        name=_last(row),
        mark=mark,
        state=row.get("state", "STATE_UNSPECIFIED"),
        health=row.get("health", ""),
        parent=row.get("queuedResource", "").rpartition("/")[2],
        hosts=hosts(row),
    )


def machines(
    queued: Iterable[Queued],
    nodes: Iterable[TpuNode],
    sick: frozenset[GoogleHost] = frozenset(),
    proved: frozenset[str] = frozenset(),
) -> Iterator[Machine]:
    """All machines that there are or will be. `sick` are hosts of nodes that have been unwell for long; `proved`, the nonces
    that this bastion gave.
    """
    left = {(node.zone, node.name, node.mark.nonce): node for node in nodes}
    for row in queued:
        for number, name in enumerate(row.nodes):
            node = left.pop((row.zone, name, row.mark.nonce), None)
            if node is None and row.state in ("DELETING", "SUSPENDING"):
                continue  # nothing is there, and nothing has to be done
            first = number * row.hosts
            for host in range(row.hosts):
                at = GoogleHost(zone=row.zone, name=name, nonce=row.mark.nonce, host=host)
                yield _machine(at, row.mark, first + host, node, over=row.state in OVER, sick=at in sick, proved=proved)
    for node in left.values():  # its queued resource is gone, or not listed yet
        number = (
            int(found[1]) if (found := re.fullmatch(r".*-([0-9]{1,4})", node.name)) and node.name != node.parent else 0
        )
        for host in range(node.hosts):
            at = GoogleHost(zone=node.zone, name=node.name, nonce=node.mark.nonce, host=host)
            yield _machine(at, node.mark, number * node.hosts + host, node, over=False, sick=at in sick, proved=proved)


def _machine(
    at: GoogleHost, mark: Mark, worker: int, node: TpuNode | None, *, over: bool, sick: bool, proved: frozenset[str]
) -> Machine:
    dead = over if node is None else node.state in DEAD
    return Machine(
        id=str(at),
        key=mark.key,
        worker=worker,
        epoch=mark.epoch,
        seen=node is not None and not dead and node.state not in COMING,
        doomed=dead or over or sick,
        ours=mark.nonce in proved,
        origin=f"TPU {at.name} in {at.zone}",
    )


def _how(row: Mapping[str, Any], node: Mapping[str, Any]) -> str:
    """How it is bought."""
    if "spot" in row:
        return "spot"
    return "reserved" if node.get("schedulingConfig", {}).get("reserved") else "on-demand"


def hosts(node: Mapping[str, Any]) -> int:
    """Of how many hosts a slice of this type consists; of one we do not know, as many as have addresses."""
    match = _TYPE.fullmatch(node.get("acceleratorType", ""))
    found: Slice | None = SLICES.get(match[1], {}).get(int(match[2])) if match else None
    return found.hosts if found else max(1, len(node.get("networkEndpoints", [])))


def _last(row: Mapping[str, Any]) -> str:
    return str(row.get("name", "")).rpartition("/")[2]
