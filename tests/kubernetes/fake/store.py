"""What a fake cluster keeps: objects with uids and versions that grow with every change."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
APIS = {"JobSet": "jobset.x-k8s.io/v1alpha2", "Job": "batch/v1", "Workload": "kueue.x-k8s.io/v1beta2", "Pod": "v1"}
APIS |= {"Deployment": "apps/v1", "ServiceAccount": "v1", "Secret": "v1", "ConfigMap": "v1", "Event": "v1"}
APIS |= dict.fromkeys(("Role", "RoleBinding"), "rbac.authorization.k8s.io/v1")


class Problem(Exception):
    """An answer that is no success, as the API's `Status` tells it."""

    def __init__(self, code: int, reason: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.headers = code, reason, message, headers


@dataclass
class Store:
    """Objects by kind, namespace and name."""

    rows: dict[tuple[str, str, str], Row] = field(default_factory=dict)
    version: int = 1000

    def of(self, kind: str, namespace: str | None = None) -> list[Row]:
        """All of a kind."""
        return [row for (k, place, _), row in list(self.rows.items()) if k == kind and namespace in (None, place)]

    def get(self, kind: str, namespace: str, name: str) -> Row:
        row = self.rows.get((kind, namespace, name))
        if row is None:
            raise Problem(404, "NotFound", f'{kind.lower()}s "{name}" not found')
        return row

    def make(self, kind: str, namespace: str, body: Row) -> Row:
        """A new object."""
        name = body["metadata"]["name"]
        if (kind, namespace, name) in self.rows:
            raise Problem(409, "AlreadyExists", f'{kind.lower()}s "{name}" already exists')
        row = copy.deepcopy(body)
        row |= {"apiVersion": APIS[kind], "kind": kind}
        row["metadata"] |= {"namespace": namespace, "uid": str(uuid.uuid4())}
        row.setdefault("status", {})
        self.rows[kind, namespace, name] = row
        self.touch(row)
        return row

    def touch(self, row: Row) -> None:
        """It has changed."""
        self.version += 1
        row["metadata"]["resourceVersion"] = str(self.version)

    def drop(self, row: Row) -> None:
        """It is gone."""
        metadata = row["metadata"]
        self.rows.pop((row["kind"], metadata["namespace"], metadata["name"]), None)
        self.version += 1

    def uids(self) -> set[str]:
        return {row["metadata"]["uid"] for row in self.rows.values()}

    def owned(self, kind: str, owner: Row) -> Iterator[Row]:
        """What an object has made."""
        for row in self.of(kind):
            if owner_of(row) == owner["metadata"]["uid"]:
                yield row


def owner_of(row: Row) -> str:
    """The uid of who made it; "" for what a client made."""
    return next((one["uid"] for one in row["metadata"].get("ownerReferences", [])), "")


def owned_by(owner: Row) -> list[Row]:
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]


def condition(row: Row, kind: str, status: str = "True", reason: str = "", message: str = "") -> None:
    """Set a condition of an object."""
    there = row["status"].setdefault("conditions", [])
    there[:] = [one for one in there if one["type"] != kind]
    told = {"type": kind, "status": status, "reason": reason or kind, "message": message}
    there.append(told | {"lastTransitionTime": "2026-01-01T00:00:00Z"})


def has(row: Row, *kinds: str) -> bool:
    """One of these conditions holds."""
    return any(one["type"] in kinds and one["status"] == "True" for one in row["status"].get("conditions", []))
