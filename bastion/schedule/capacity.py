"""Compute the capacity of each tier, by kind, and the boundaries between the partitions of tiers. Pure."""

from __future__ import annotations

from collections import Counter

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, total
from bastion.quota.tiers import Capacity, bounded

from .runner_choice import RunnerChoice


def capacity_of(quota: Quota, places: RunnerChoice, blind: frozenset[str]) -> Capacity:
    """Return the capacity that the schedule may give away.

    It is what the quota file plans for each tier, limited to what the runners report. A runner that gives a kind in
    several partitions fills the better ones first. The settings may name more tiers than the quota file has: these are
    added, for kinds that the quota file does not name.

    Where only `blind` (unreachable) runners give a kind in a partition, nothing new is given of it there, as long as a
    reachable runner gives that kind in another partition.
    """
    partition_starts = places.partition_starts
    declared = (
        *quota.tiers,
        *({} for _ in range(len(quota.tiers), partition_starts[-1] + 1 if partition_starts else 0)),
    )
    named, taken, tiers = quota.total(), Counter[tuple[str, tuple[str, ...]]](), list[Resources]()
    for partition in (spans := Capacity(declared, partition_starts).partitions):
        own = declared[partition.start : partition.stop]
        held = bounded(own, places.bounds(total(own), partition.start, taken), named)
        for kind, amount in total(held).items():
            taken[kind, places.suppliers(kind, partition.start)] += amount
        tiers += [places.offered(tier, partition.start) for tier in held]
    return Capacity(tuple(tiers), partition_starts, _shut(tuple(tiers), spans, places, blind) if blind else ())


def _shut(
    tiers: tuple[Resources, ...], partitions: tuple[range, ...], places: RunnerChoice, blind: frozenset[str]
) -> tuple[frozenset[str], ...]:
    """Return for each partition the kinds that are closed there.

    A kind is closed where only unreachable runners give it, if a reachable runner gives it in another partition.
    """
    there = [
        {kind for kind, amount in total(tiers[partition.start : partition.stop]).items() if amount}
        for partition in partitions
    ]
    dark = [
        {kind for kind in kinds if blind.issuperset(places.suppliers(kind, partition.start))}
        for partition, kinds in zip(partitions, there, strict=True)
    ]
    lit = set[str]().union(*(kinds - shut for kinds, shut in zip(there, dark, strict=True)))
    return tuple(frozenset(shut & lit) for shut in dark)
