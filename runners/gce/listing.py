"""All that is ours in Compute Engine, by two questions whatever the number of jobs and zones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bastion.google.door import Google
from bastion.ports import AttemptKey, Machine
from runners.gce import parse
from runners.gce.parse import Near, Vm
from runners.google.names import encoded

_FIELDS = (
    "nextPageToken,unreachables,items/*/warning/code,"
    "items/*/instances(name,status,labels,machineType),items/*/resourcePolicies(name,status,description)"
)
"""Of each VM: without its metadata, which are the most of it."""

_PAGE = 500


@dataclass(frozen=True)
class Listing:
    """What was listed."""

    vms: tuple[Vm, ...] = ()
    nears: tuple[Near, ...] = ()

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Every machine of ours."""
        return tuple(vm.machine for vm in self.vms)

    @cached_property
    def alive(self) -> frozenset[AttemptKey]:
        """The attempts that have machines, or will have some."""
        return frozenset(machine.key for machine in self.machines if not machine.doomed)

    @cached_property
    def by_key(self) -> Mapping[AttemptKey, Sequence[Vm]]:
        """The VMs by attempt."""
        rows: dict[AttemptKey, list[Vm]] = {}
        for vm in self.vms:
            rows.setdefault(vm.mark.key, []).append(vm)
        return rows

    def zones_of(self, key: AttemptKey) -> set[str]:
        """Where the attempt's names are taken."""
        return {vm.host.zone for vm in self.by_key.get(key, ())}


def read(google: Google, project: str, scope: str, at_once: Callable[..., list[Any]]) -> Listing:
    """Ask for everything. Raises `RunnerError` if a part of it does not answer: a part is not the whole."""
    asked: tuple[tuple[str, dict[str, str]], ...] = (
        ("instances", {"filter": f'labels.bastion="{encoded(scope)}"'}),
        ("resourcePolicies", {}),
    )
    answers = at_once(lambda one: _rows(google, project, *one), asked)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    vms, nears = answers
    return Listing(
        tuple(vm for zone, row in vms if (vm := parse.vm_of(row, zone, scope))),
        tuple(near for region, row in nears if (near := parse.near_of(row, region, scope))),
    )


def _rows(google: Google, project: str, kind: str, more: Mapping[str, str]) -> list[tuple[str, Mapping[str, Any]]]:
    method = f"compute.{kind}.aggregatedList"
    parts = google.pages(method, "items", project=project, maxResults=_PAGE, fields=_FIELDS, **more)
    return list(parse.items_of(parts, kind))
