"""The listing of all that is ours in Google's TPU zones, by two questions for each zone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from bastion.model.interfaces import AttemptKey, Machine

from ..api.failures import failure
from ..api.interface import GoogleError
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost
from . import parse
from .parse import QueuedResource, TpuNode

SICK_S = 300.0
"""The seconds of bad health, as Google reports it, after which a slice is replaced."""

_T = "tpu.projects.locations."
_PAGE = 1000


@dataclass(frozen=True)
class TpuListing:
    """One listing of the TPU zones.

    queued: the queued resources of this bastion.
    nodes: its nodes, which are its slices.
    unwell: the hosts of nodes that Google says are not well, and since when, in seconds of the monotonic clock.
    sick: those of them that have been unwell for at least `SICK_S`.
    proved: the nonces of what this bastion made.
    """

    queued: tuple[QueuedResource, ...] = ()
    nodes: tuple[TpuNode, ...] = ()
    unwell: Mapping[GoogleHost, float] = field(default_factory=dict)
    sick: frozenset[GoogleHost] = frozenset()
    proved: frozenset[str] = frozenset()

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Every machine that has a name of ours."""
        return tuple(parse.machines(self.queued, self.nodes, self.sick, self.proved))

    @cached_property
    def alive(self) -> frozenset[AttemptKey]:
        """The attempts that have slices, or will have some."""
        return frozenset(machine.key for machine in self.machines if machine.ours and not machine.doomed)

    @cached_property
    def by_nonce(self) -> Mapping[str, QueuedResource]:
        """The queued resources by nonce, which is never given twice."""
        return {row.mark.nonce: row for row in self.queued}

    @cached_property
    def by_key(self) -> Mapping[AttemptKey, Sequence[QueuedResource]]:
        """The queued resources that this bastion made, by attempt."""
        rows: dict[AttemptKey, list[QueuedResource]] = {}
        for row in self.queued:
            if row.mark.nonce not in self.proved:
                continue
            rows.setdefault(row.mark.key, []).append(row)
        return rows

    @cached_property
    def _node(self) -> Mapping[tuple[str, str, str], TpuNode]:
        return {(node.zone, node.name, node.mark.nonce): node for node in self.nodes}

    def node(self, host: GoogleHost) -> TpuNode | None:
        """Return the slice of a host; None if it is not listed."""
        return self._node.get((host.zone, host.name, host.nonce))

    def zones_of(self, key: AttemptKey) -> set[str]:
        """Return the zones where the attempt's name is taken."""
        return {row.zone for row in self.by_key.get(key, ())}

    def failures(self, project: str) -> Iterator[tuple[QueuedResource, GoogleError]]:
        """Yield the requests that failed, with the error."""
        for row in self.queued:
            if row.state == "FAILED" and row.failed is not None:
                yield row, failure(row.failed, f"{row.want} in {row.zone}", project=project)

    def since(self, before: TpuListing, now: float) -> TpuListing:
        """Return this listing with the times since when hosts are unwell, taken over from the listing `before`."""
        unwell = {
            host: before.unwell.get(host, now)
            for node in self.nodes
            if node.health not in parse.WELL
            for host in node.machines
        }
        sick = frozenset(host for host, at in unwell.items() if now - at >= SICK_S)
        return replace(self, unwell=unwell, sick=sick)


def read(context: GoogleContext, zones: Sequence[str]) -> TpuListing:
    """List all zones. Raises `GoogleError` if one does not answer, because a part is not the whole."""
    answers = context.of_all(lambda zone: _zone(context, zone), zones)
    queued, nodes = (tuple(row for part in kind for row in part) for kind in zip(*answers, strict=True))
    marks = [row.mark for row in (*queued, *nodes)]
    return TpuListing(queued, nodes, proved=frozenset(mark.nonce for mark in marks if context.is_proved(mark)))


def _zone(context: GoogleContext, zone: str) -> tuple[list[QueuedResource], list[TpuNode]]:
    parent = f"projects/{context.project}/locations/{zone}"
    queued = context.google.pages(f"{_T}queuedResources.list", "queuedResources", parent=parent, pageSize=_PAGE)
    rows = [found for row in queued if (found := parse.queued_of(row, zone, context.scope))]
    nodes = context.google.pages(f"{_T}nodes.list", "nodes", parent=parent, pageSize=_PAGE)
    return rows, [node for row in nodes if (node := parse.node_of(row, zone, context.scope))]
