"""Compute the capacity of each tier, by kind, and the boundaries between the partitions of tiers. Pure."""

from __future__ import annotations

from collections import Counter

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, total
from bastion.quota.tiers import Capacity, bounded

from .runner_choice import RunnerChoice


def pool(quota: Quota, places: RunnerChoice, blind: frozenset[str]) -> Capacity:
    """Return the capacity that the schedule may give away.

    It is what the quota file plans for each tier, limited to what the runners report. A runner that gives a kind in
    several partitions fills the better ones first. The settings may name more tiers than the quota file has: these are
    added, for kinds that the quota file does not name.

    Where only `blind` (unreachable) runners give a kind in a partition, nothing new is given of it there, as long as a
    reachable runner gives that kind in another partition.
    """
    walls = places.walls
    wished = (*quota.tiers, *({} for _ in range(len(quota.tiers), walls[-1] + 1 if walls else 0)))
    named, taken, tiers = quota.total(), Counter[tuple[str, tuple[str, ...]]](), list[Resources]()
    for side in (spans := Capacity(wished, walls).sides):
        own = wished[side.start : side.stop]
        held = bounded(own, places.bounds(total(own), side.start, taken), named)
        for kind, amount in total(held).items():
            taken[kind, places.suppliers(kind, side.start)] += amount
        tiers += [places.offered(tier, side.start) for tier in held]
    return Capacity(tuple(tiers), walls, _shut(tuple(tiers), spans, places, blind) if blind else ())


def _shut(
    tiers: tuple[Resources, ...], sides: tuple[range, ...], places: RunnerChoice, blind: frozenset[str]
) -> tuple[frozenset[str], ...]:
    """Return for each partition the kinds that are closed there.

    A kind is closed where only unreachable runners give it, if a reachable runner gives it in another partition.
    """
    there = [{kind for kind, amount in total(tiers[side.start : side.stop]).items() if amount} for side in sides]
    dark = [
        {kind for kind in kinds if blind.issuperset(places.suppliers(kind, side.start))}
        for side, kinds in zip(sides, there, strict=True)
    ]
    lit = set[str]().union(*(kinds - shut for kinds, shut in zip(there, dark, strict=True)))
    return tuple(frozenset(shut & lit) for shut in dark)
