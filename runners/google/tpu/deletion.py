"""The deletion of slices, with their queued resource, once it was requested for each of their hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from ..api.interface import ResourceNotFound
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost
from . import parse
from .listing import TpuListing
from .parse import QueuedResource, TpuNode

AGAIN_S = 60.0
"""The seconds after which a deletion that has not finished is requested again."""

_T = "tpu.projects.locations."


@dataclass(slots=True)
class SliceDeletion:
    """The deletions of one bastion's slices. Safe for threads.

    context: the context of Google's machines.
    """

    context: GoogleContext
    _asked: set[GoogleHost] = field(default_factory=set)
    _begun: dict[str, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ask(self, host: GoogleHost, listed: TpuListing) -> None:
        """Note that a host is not wanted any more, and delete its slices if it was the last of them.

        Raises `GoogleError` if they cannot be deleted.
        """
        with self._lock:
            self._asked.add(host)
        whole = listed.by_nonce.get(host.nonce) or listed.node(host) or self._unlisted(host)
        if whole is None:
            return
        now = self.context.clock.monotonic()
        with self._lock:
            begun = self._begun.get(host.nonce, float("-inf"))
            if not self._asked.issuperset(whole.machines) or now - begun < AGAIN_S:
                return
            self._begun[host.nonce] = now
        try:
            self._delete(whole)
        except Exception:
            with self._lock:
                self._begun.pop(host.nonce, None)
            raise

    def again(self, row: QueuedResource) -> None:
        """Repeat a deletion that was requested. Raises `GoogleError`."""
        self._delete(row)

    def seen(self, listed: TpuListing) -> None:
        """Forget what is gone."""
        now = self.context.clock.monotonic()
        live = {machine.id for machine in listed.machines}
        with self._lock:
            self._begun = {nonce: at for nonce, at in self._begun.items() if now - at < AGAIN_S}
            self._asked = {host for host in self._asked if str(host) in live or host.nonce in self._begun}

    def _unlisted(self, host: GoogleHost) -> QueuedResource | TpuNode | None:
        """Return the queued resource or slice of a host that is not listed; None if nothing of that creation exists."""
        node = self._node(host.zone, host.name)
        if node is None or node.mark.nonce != host.nonce:
            return None
        queued = self._queued(host.zone, node.parent) if node.parent else None
        return queued if queued and queued.mark.nonce == host.nonce else node

    def _delete(self, whole: QueuedResource | TpuNode) -> None:
        """Delete what has this name, if it is still of this creation. Repeat a deletion that hangs."""
        of_queue = isinstance(whole, QueuedResource)
        there = self._queued(whole.zone, whole.name) if of_queue else self._node(whole.zone, whole.name)
        if there is None or there.mark.nonce != whole.mark.nonce:
            return
        kind, force = ("queuedResources", {"force": True}) if of_queue else ("nodes", {})
        try:
            self.context.google.call(f"{_T}{kind}.delete", name=self._full(kind, whole.zone, whole.name), **force)
        except ResourceNotFound:
            return

    def _queued(self, zone: str, name: str) -> QueuedResource | None:
        row = self._get("queuedResources", zone, name)
        return parse.queued_of(row, zone, self.context.scope) if row else None

    def _node(self, zone: str, name: str) -> TpuNode | None:
        row = self._get("nodes", zone, name)
        return parse.node_of(row, zone, self.context.scope) if row else None

    def _get(self, kind: str, zone: str, name: str) -> Mapping[str, Any] | None:
        try:
            return self.context.google.call(f"{_T}{kind}.get", name=self._full(kind, zone, name))
        except ResourceNotFound:
            return None

    def _full(self, kind: str, zone: str, name: str) -> str:
        return f"projects/{self.context.project}/locations/{zone}/{kind}/{name}"
