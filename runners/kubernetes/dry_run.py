"""A client of a cluster that only looks.

It reports a request that would change something, and answers as if it were done.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..hosting import Tell
from .interface import Cluster, Object


@dataclass(frozen=True, slots=True)
class DryCluster:
    """A client of a cluster for a dry run. It reports each request in one line, and makes only those that read.

    cluster: the real client.
    tell: reports a line.
    """

    cluster: Cluster
    tell: Tell

    def get(self, path: str) -> Object:
        """Return one object."""
        self.tell(f"asked: GET {path}")
        return self.cluster.get(path)

    def items(self, path: str, selector: str, fields: str = "") -> list[Object]:
        """List all objects with these labels and fields."""
        self.tell(f"asked: GET {path}?labelSelector={selector}{fields and f'&fieldSelector={fields}'}")
        return self.cluster.items(path, selector, fields)

    def text(self, path: str, **query: object) -> str:
        """Return a text that is no object: a log."""
        self.tell(f"asked: GET {path} {json.dumps(query, sort_keys=True)}")
        return self.cluster.text(path, **query)

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Report that an object would be created."""
        return self._told("POST", path, body)

    def change(self, path: str, body: Mapping[str, Any]) -> Object:
        """Report that an object would be changed."""
        return self._told("PATCH", path, body)

    def delete(self, path: str, uid: str, *, grace_s: int | None = None) -> None:
        """Report that an object would be deleted."""
        self._told("DELETE", path, {"uid": uid} if grace_s is None else {"uid": uid, "grace_s": grace_s})

    def _told(self, method: str, path: str, body: Mapping[str, Any]) -> Object:
        self.tell(f"would call: {method} {path} {json.dumps(body, sort_keys=True)}")
        return {}
