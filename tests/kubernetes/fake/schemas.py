"""Manifests against the real schemas: Kubernetes' own as kubernetes-validate carries them, JobSet's and Kueue's from `crds`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

VERSION = "1.33.0"
_CRDS = Path(__file__).parents[1] / "crds"
_CUSTOM = {"JobSet": "jobsets.json", "Workload": "workloads.json"}


def complaints(body: dict[str, Any]) -> list[str]:
    """What is wrong with an object, by its own schema; fields that are not in it, too."""
    found = sorted(_validator(body["apiVersion"], body["kind"]).iter_errors(body), key=str)
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}" for error in found]


@cache
def _validator(version: str, kind: str) -> Draft202012Validator:
    group, _, name = version.rpartition("/")
    if kind in _CUSTOM:
        return Draft202012Validator(_strict(json.loads((_CRDS / _CUSTOM[kind]).read_text())[name]))
    folder = f"kubernetes-json-schema/v{VERSION}-local-strict"
    prefix = f"{group.partition('.')[0]}-" if group else ""
    schema = schema_contents(f"{folder}/{kind.lower()}-{prefix}{name}.json", VERSION)
    every = Resource.from_contents(_definitions(folder))
    return Draft202012Validator(schema, registry=every @ Registry())


@cache
def _definitions(folder: str) -> Any:
    return schema_contents(f"{folder}/_definitions.json", VERSION)


def _strict(schema: Any, *, at_root: bool = True) -> Any:
    """The same, but what the API would drop in silence is a complaint."""
    if isinstance(schema, list):
        return [_strict(one, at_root=False) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value, at_root=False) for key, value in schema.items() if key != "properties"}
    if "properties" in schema:
        found["properties"] = {name: _strict(one, at_root=False) for name, one in schema["properties"].items()}
        if schema.get("type") == "object" and not schema.get("x-kubernetes-preserve-unknown-fields"):
            found["additionalProperties"] = False
    if schema.get("x-kubernetes-int-or-string"):
        found["type"] = ["integer", "string"]
        found.pop("anyOf", None)
    if at_root:  # the API server's own, which definitions only hint at
        found["properties"]["metadata"] = {"type": "object"}
    return found
