"""Doors that only look: what would change something is told instead, and answered as if it were done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.google.door import Answer, Google
from cloud.lodging import Tell
from runners.kubernetes.door import Cluster, Object

_LOOKS = ("get", "list", "aggregatedList", "batchGet", "getIamPolicy", "testIamPermissions", "wait")


@dataclass(frozen=True, slots=True)
class Dry:
    """A door to Google. Every call is told, one line each; those that look are made."""

    google: Google
    tell: Tell

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """A look, or the tale of a change. Raises as the door that it stands for."""
        looks = method.rpartition(".")[2] in _LOOKS
        self.tell(f"{'asked' if looks else 'would call'}: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.call(method, **parameters) if looks else {}

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """The items of a listing."""
        self.tell(f"asked: {method} {json.dumps(parameters, sort_keys=True)}")
        return self.google.pages(method, items, **parameters)

    def rest(self, seconds: float) -> None:
        """What was not begun is not waited for."""


@dataclass(frozen=True, slots=True)
class DryCluster:
    """A door to a Kubernetes cluster. Every call is told, one line each; those that look are made."""

    cluster: Cluster
    tell: Tell

    def get(self, path: str) -> Object:
        """One object."""
        self.tell(f"asked: GET {path}")
        return self.cluster.get(path)

    def items(self, path: str, selector: str, fields: str = "") -> list[Object]:
        """All objects with these labels and fields."""
        self.tell(f"asked: GET {path}?labelSelector={selector}{fields and f'&fieldSelector={fields}'}")
        return self.cluster.items(path, selector, fields)

    def text(self, path: str, **query: object) -> str:
        """What is no object: a log."""
        self.tell(f"asked: GET {path} {json.dumps(query, sort_keys=True)}")
        return self.cluster.text(path, **query)

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """The tale of a new object."""
        return self._told("POST", path, body)

    def change(self, path: str, body: Mapping[str, Any]) -> Object:
        """The tale of a change."""
        return self._told("PATCH", path, body)

    def delete(self, path: str, uid: str, *, grace_s: int | None = None) -> None:
        """The tale of a deletion."""
        self._told("DELETE", path, {"uid": uid} if grace_s is None else {"uid": uid, "grace_s": grace_s})

    def _told(self, method: str, path: str, body: Mapping[str, Any]) -> Object:
        self.tell(f"would call: {method} {path} {json.dumps(body, sort_keys=True)}")
        return {}
