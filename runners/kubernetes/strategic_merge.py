"""The merge of an override into a pod's template, by Kubernetes' own rules for strategic merges. Pure.

Tables are merged key by key. Lists whose members have a name are merged by that name; other lists are replaced whole. A
table with `"$patch" = "delete"` removes what it meets; one with `"$patch" = "replace"` replaces it whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

NAMES = {
    "containers": "name",
    "initContainers": "name",
    "volumes": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "ports": "containerPort",
    "hostAliases": "ip",
    "topologySpreadConstraints": "topologyKey",
}
"""The key that tells the members of a list apart, by the name of the list."""

_PATCH = "$patch"


def merged(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with everything that `patch` sets."""
    if patch.get(_PATCH) == "replace":
        return _plain(patch)
    found = dict(base)
    for key, value in patch.items():
        if isinstance(value, Mapping):
            if value.get(_PATCH) == "delete":
                found.pop(key, None)
            else:
                there = found.get(key)
                found[key] = merged(there if isinstance(there, Mapping) else {}, value)
        elif key in NAMES:
            found[key] = _members(found.get(key, []), value, NAMES[key])
        else:
            found[key] = value
    return _plain(found)


def misshapen(patch: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield what in an override cannot be merged: members of lists without the key that tells them apart."""
    for key, value in patch.items():
        here = f"{path}.{key}"
        if isinstance(value, Mapping):
            yield from misshapen(value, here)
        elif key in NAMES:
            members = value if isinstance(value, list) else [value]
            for member in members:
                if isinstance(member, Mapping) and isinstance(member.get(NAMES[key]), str | int):
                    yield from misshapen(member, here)
                else:
                    yield f"{here[:80]} has a member without {NAMES[key]}"


def _members(base: Sequence[Any], patch: Sequence[Any], name: str) -> list[Any]:
    found = {member.get(name): member for member in base}
    for member in patch:
        if member.get(_PATCH) == "delete":
            found.pop(member.get(name), None)
        else:
            found[member.get(name)] = merged(found.get(member.get(name), {}), member)
    return list(found.values())


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key != _PATCH}
