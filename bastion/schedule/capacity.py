"""What there is to give away: how much each tier holds of the kinds that its runners give, and the walls between. Pure."""

from __future__ import annotations

from collections import Counter

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, total
from bastion.quota.tiers import Capacity, bounded

from .runner_choice import RunnerChoice


def pool(quota: Quota, places: RunnerChoice, blind: frozenset[str]) -> Capacity:
    """The tiers of a quota file as these runners bear them out. Nothing of a `blind` one is given where others have such.

    A runner that gives a kind in several sides gives to the better ones first. A table that names more tiers than the
    quota file has makes more, for kinds that the file does not name.
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
    """By side the kinds that only blind runners give there, while other sides have some of others."""
    there = [{kind for kind, amount in total(tiers[side.start : side.stop]).items() if amount} for side in sides]
    dark = [
        {kind for kind in kinds if blind.issuperset(places.suppliers(kind, side.start))}
        for side, kinds in zip(sides, there, strict=True)
    ]
    lit = set[str]().union(*(kinds - shut for kinds, shut in zip(there, dark, strict=True)))
    return tuple(frozenset(shut & lit) for shut in dark)
