"""The shapes of a job: the first choice, and alternatives that would do as well. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from bastion.quota.resources import Resources, text, times

from ..wording import between, shown

CHOICES_MAX = 4
"""The most shapes of one job: its first choice and its alternatives."""

REPLICAS_MAX = 10_000
AMOUNT_MAX = 1_000_000
KIND = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})")


class Alternative(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One shape of a job.

    resources: amounts per replica, by kind.
    replicas: number of replicas.
    instance_type: the instance type as the user wrote it; "" if the user named none.
    """

    resources: dict[str, int] = {}
    replicas: int = 1
    instance_type: str = ""

    @property
    def demand(self) -> Resources:
        """Return what one task holds in this shape: all its replicas together."""
        return self.resources if self.replicas == 1 else times(self.resources, self.replicas)

    def alike(self, other: Alternative) -> bool:
        """Return True if a scheduler sees no difference between the two."""
        return (self.resources, self.replicas) == (other.resources, other.replicas)


def resources(value: dict[str, int]) -> Iterator[str]:
    """Check the resources of a replica; yield complaints."""
    if len(value) > 16:
        yield f"names {len(value)} kinds; at most 16 are allowed"
    for kind, amount in value.items():
        if not KIND.fullmatch(kind):
            yield f"names the kind {shown(kind)}; use letters, digits, '.', '_' and '-'"
        elif not 1 <= amount <= AMOUNT_MAX:
            yield f"{kind} is {shown(amount)}; use a whole number from 1 to {AMOUNT_MAX}"


replicas = between(1, REPLICAS_MAX)


def instance_type(value: str) -> Iterator[str]:
    """Check the name of an instance type; yield complaints."""
    if value and not KIND.fullmatch(value):
        yield f"is {shown(value)}; use letters, digits, '.', '_' and '-'"


def alternatives(value: Sequence[Alternative]) -> Iterator[str]:
    """Check the alternatives of a job; yield complaints."""
    if len(value) >= CHOICES_MAX:
        yield f"has {len(value)} beside the first choice; at most {CHOICES_MAX - 1} are allowed"
        return
    for number, each in enumerate(value, start=1):
        yield from (f"{number}: resources {complaint}" for complaint in resources(each.resources))
        yield from (f"{number}: replicas {complaint}" for complaint in replicas(each.replicas))
        yield from (f"{number}: instance_type {complaint}" for complaint in instance_type(each.instance_type))


def distinct(choices: Sequence[Alternative]) -> Iterator[str]:
    """Check all choices together: each alternative names resources, and no shape comes twice. Yield complaints."""
    for number, each in enumerate(choices):
        if number and not each.resources:  # number 0 is the first choice, which may ask for nothing
            yield f"alternatives {number} asks for no resources; name at least one kind"
        if any(each.alike(other) for other in choices[:number]):
            yield f"alternatives has a shape twice, {shown(text(each.resources))} x {each.replicas}; name it once"
