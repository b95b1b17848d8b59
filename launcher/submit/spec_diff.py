"""Compare two job specs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bastion.model.job.spec import JobSpec, written_out

Pairs = dict[str, tuple[Any, Any]]
"""The differences by name: the value of the first spec, and that of the second."""

_ORIGIN = ("client_version", "host", "git_commit", "git_dirty")
_ELSEWHERE = frozenset({"schema", "env", "instance_type", "bundle", "provenance"})


def asked_for(one: JobSpec, other: JobSpec) -> Pairs:
    """Return the fields that the users of the two jobs asked for differently."""
    return _pairs(*(_without(_plain(spec), _ELSEWHERE) for spec in (one, other)))


def surroundings(one: JobSpec, other: JobSpec) -> Pairs:
    """Return the differences of context and origin: variables (as `env NAME`), instance types, clients, commits."""
    return _pairs(_around(one), _around(other))


def _around(spec: JobSpec) -> dict[str, Any]:
    origin = _plain(spec.provenance)
    return {
        **{f"env {name}": value for name, value in spec.env.items()},
        "instance_type": spec.instance_type,
        **{name: origin[name] for name in _ORIGIN},
    }


def _plain(struct: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = written_out(struct)
    return plain


def _without(fields: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> Pairs:
    names = dict.fromkeys((*one, *other))
    return {name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)}
