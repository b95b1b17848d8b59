"""Parse listings of queued resources and nodes into values, and those into machines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import Machine
from bastion.model.job.instances import SLICES, Slice

from ..api.failures import Refusal, of_status
from ..machines.names import GoogleHost, GoogleLabels, mark_of

DEAD = frozenset({"PREEMPTED", "TERMINATED", "STOPPED", "HIDDEN"})
"""The states of a node on which nothing runs any more. It holds quota until it is deleted."""

COMING = frozenset({"CREATING", "STARTING", "STATE_UNSPECIFIED"})
"""The states of a node that does not run yet."""
WAITING = frozenset({"CREATING", "ACCEPTED", "WAITING_FOR_RESOURCES", "STATE_UNSPECIFIED"})
"""The states of a queued resource that waits for capacity."""
OVER = frozenset({"FAILED", "SUSPENDED"})
"""The states of a queued resource that gives nothing any more."""

WELL = frozenset({"", "HEALTHY", "HEALTH_UNSPECIFIED"})
"""The health of a node that needs no replacement."""
_TYPE = re.compile(r"([a-z0-9]+)-([0-9]{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuNode:
    """One slice, as the listing shows it.

    zone: its zone.
    name: its name.
    mark: the mark in its labels.
    state: its state, in Google's words.
    health: its health, in Google's words; empty if none is given.
    parent: the name of its queued resource; empty if it has none.
    hosts: the number of its hosts.
    """

    zone: str
    name: str
    mark: GoogleLabels
    state: str
    health: str
    parent: str
    hosts: int

    @property
    def machines(self) -> Iterator[GoogleHost]:
        """Yield its hosts."""
        for host in range(self.hosts):
            yield GoogleHost(zone=self.zone, name=self.name, nonce=self.mark.nonce, host=host)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedResource:
    """One queued resource of ours: all slices of one attempt.

    zone: its zone.
    name: its name.
    mark: the mark in its labels.
    state: its state, in Google's words.
    want: what it asks for, in words.
    nodes: the names of its slices, in order.
    hosts: the number of hosts of each slice.
    failed: why it is over; None where Google does not say so.
    """

    zone: str
    name: str
    mark: GoogleLabels
    state: str
    want: str
    nodes: tuple[str, ...]
    hosts: int
    failed: Refusal | None

    @property
    def machines(self) -> Iterator[GoogleHost]:
        """Yield every host in the order of the workers, whether it exists or not."""
        for node in self.nodes:
            for host in range(self.hosts):
                yield GoogleHost(zone=self.zone, name=node, nonce=self.mark.nonce, host=host)


def want(kind: str, slices: int, how: str) -> str:
    """Describe what is asked of a zone: `v4-16 (spot)`, `2 slices of v4-16 (reserved)`."""
    return f"{f'{slices} slices of ' if slices > 1 else ''}{kind} ({how})"


def queued_of(row: Mapping[str, Any], zone: str, scope: str) -> QueuedResource | None:
    """Parse a listed queued resource; None if it is none of this bastion's."""
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
    return QueuedResource(
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
    """Parse a listed node; None if it is none of this bastion's."""
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
    queued: Iterable[QueuedResource],
    nodes: Iterable[TpuNode],
    sick: frozenset[GoogleHost] = frozenset(),
    proved: frozenset[str] = frozenset(),
) -> Iterator[Machine]:
    """Yield all machines that exist or will exist.

    `sick` are the hosts of nodes that have been unwell for long; `proved` are the nonces that this bastion gave.
    """
    left = {(node.zone, node.name, node.mark.nonce): node for node in nodes}
    for row in queued:
        for number, name in enumerate(row.nodes):
            node = left.pop((row.zone, name, row.mark.nonce), None)
            if node is None and row.state in ("DELETING", "SUSPENDING"):
                continue  # the slice is gone, and its queued resource is going
            first = number * row.hosts
            for host in range(row.hosts):
                at = GoogleHost(zone=row.zone, name=name, nonce=row.mark.nonce, host=host)
                yield _machine(at, row.mark, first + host, node, over=row.state in OVER, sick=at in sick, proved=proved)
    for node in left.values():  # slices without their queued resource: it is gone, or not listed yet
        number = (
            int(found[1]) if (found := re.fullmatch(r".*-([0-9]{1,4})", node.name)) and node.name != node.parent else 0
        )
        for host in range(node.hosts):
            at = GoogleHost(zone=node.zone, name=node.name, nonce=node.mark.nonce, host=host)
            yield _machine(at, node.mark, number * node.hosts + host, node, over=False, sick=at in sick, proved=proved)


def _machine(
    at: GoogleHost,
    mark: GoogleLabels,
    worker: int,
    node: TpuNode | None,
    *,
    over: bool,
    sick: bool,
    proved: frozenset[str],
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
    """Return how it is bought."""
    if "spot" in row:
        return "spot"
    return "reserved" if node.get("schedulingConfig", {}).get("reserved") else "on-demand"


def hosts(node: Mapping[str, Any]) -> int:
    """Return the number of hosts of a slice of this type. For an unknown type, count its addresses."""
    match = _TYPE.fullmatch(node.get("acceleratorType", ""))
    found: Slice | None = SLICES.get(match[1], {}).get(int(match[2])) if match else None
    return found.hosts if found else max(1, len(node.get("networkEndpoints", [])))


def _last(row: Mapping[str, Any]) -> str:
    return str(row.get("name", "")).rpartition("/")[2]
