"""The listing of all that is ours in Compute Engine, by two questions, whatever the number of jobs and zones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bastion.model.interfaces import AttemptKey, Machine

from ..machines.google_context import GoogleContext
from ..machines.names import encoded
from . import parse
from .parse import PlacementPolicy, Vm

_FIELDS = (
    "nextPageToken,unreachables,items/*/warning/code,"
    "items/*/instances(name,status,labels,machineType),items/*/resourcePolicies(name,status,description)"
)
"""The fields to return. The metadata of VMs, which are most of a VM's data, are left out."""

_PAGE = 500


@dataclass(frozen=True)
class GceListing:
    """One listing of Compute Engine.

    vms: the VMs that have names and labels of this bastion.
    policies: the placement policies of this bastion.
    proved: the nonces of the VMs that this bastion made.
    """

    vms: tuple[Vm, ...] = ()
    policies: tuple[PlacementPolicy, ...] = ()
    proved: frozenset[str] = frozenset()

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Every machine that has a name of ours."""
        return tuple(replace(vm.machine, ours=vm.mark.nonce in self.proved) for vm in self.vms)

    @cached_property
    def alive(self) -> frozenset[AttemptKey]:
        """The attempts that have machines, or will have some."""
        return frozenset(machine.key for machine in self.machines if machine.ours and not machine.doomed)

    @cached_property
    def by_key(self) -> Mapping[AttemptKey, Sequence[Vm]]:
        """The VMs that this bastion made, by attempt."""
        rows: dict[AttemptKey, list[Vm]] = {}
        for vm in self.vms:
            if vm.mark.nonce not in self.proved:
                continue
            rows.setdefault(vm.mark.key, []).append(vm)
        return rows

    def zones_of(self, key: AttemptKey) -> set[str]:
        """Return the zones where the attempt's names are taken."""
        return {vm.host.zone for vm in self.by_key.get(key, ())}


def read(context: GoogleContext) -> GceListing:
    """List everything. Raises `RunnerError` if a part does not answer, because a part is not the whole."""
    asked: tuple[tuple[str, dict[str, str]], ...] = (
        ("instances", {"filter": f'labels.bastion="{encoded(context.scope)}"'}),
        ("resourcePolicies", {}),
    )
    vms, policies = context.of_all(lambda one: _rows(context, *one), asked)
    found = tuple(vm for zone, row in vms if (vm := parse.vm_of(row, zone, context.scope)))
    return GceListing(
        found,
        tuple(policy for region, row in policies if (policy := parse.policy_of(row, region, context.scope))),
        frozenset(vm.mark.nonce for vm in found if context.is_proved(vm.mark)),
    )


def _rows(context: GoogleContext, kind: str, more: Mapping[str, str]) -> list[tuple[str, Mapping[str, Any]]]:
    method = f"compute.{kind}.aggregatedList"
    parts = context.google.pages(method, "items", project=context.project, maxResults=_PAGE, fields=_FIELDS, **more)
    return list(parse.items_of(parts, kind))
