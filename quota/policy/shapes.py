"""Jobs with several shapes: a job gets the first of its shapes that is free, or waits for the first one. Pure.

The policy is asked with every such job in the first shape that the capacity allows. The jobs that do not start are then
tried in their next shapes, as far as there is room. A job that starts keeps its shape; all others go back to the first.
So no attempt is stopped, and no room is kept, for a shape while another one is free, or for any shape but the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from msgspec import structs

from ..demand import Schedule, Want
from ..resources import fits, minus
from ..shares import Demand
from ..tiers import Capacity
from . import reasons
from .index import WantIndex
from .interface import Policy

BACK = 3
"""The most rounds in which jobs that do not start after all go back to the first shape. Then all jobs go back."""

Shapes = dict[str, int]  # choices, by job


def choosing(policy: Policy) -> Policy:
    """Return a policy that also handles jobs with several shapes. Without such jobs it calls `policy` once."""

    def schedule(*, index: WantIndex, **rest: Any) -> Schedule:
        return _Choosing(policy, index, rest).answer() if index.choosers else policy(index=index, **rest)

    return schedule


class _Choosing:
    """One decision. It replaces wants in the index while it asks the policy, and then puts the old wants back.

    Jobs that list the same shapes form a group, so room for them is looked up once. `_first` is the first choice of
    each job that the capacity allows. A `Shapes` value lists the jobs that are tried in another shape than the index has.
    """

    def __init__(self, policy: Policy, index: WantIndex, rest: Mapping[str, Any]) -> None:
        self._policy, self._index, self._rest = policy, index, rest
        self._capacity: Capacity = rest["capacity"]
        self._possible = {group: possible(group[0], group[1], self._capacity) for group in index.choosers}
        self._first = {job: next(iter(on), 0) for group, on in self._possible.items() for job in index.choosers[group]}
        self._lent: dict[str, Want] = {}
        self._wakes: list[datetime | None] = []

    def answer(self) -> Schedule:
        """Return the policy's answer for the shapes that were settled."""
        try:
            found, shapes = self._settled()
        finally:
            self._stand({})
        again = min((at for at in self._wakes if at), default=None)
        return replace(found, again=again, tell=lambda: self._told(found, shapes))

    def _settled(self) -> tuple[Schedule, Shapes]:
        first = {job: choice for job, choice in self._first.items() if choice}
        found = answer = self._asked(first)
        shapes = first
        for _ in range(max(map(len, self._possible.values()))):
            later = self._later(shapes, found)
            if later == shapes:
                break
            shapes, found = later, self._asked(later)
        for _ in range(BACK):
            started = {start.job for start in found.starts}
            settled = {job: choice if job in started else self._first[job] for job, choice in shapes.items()}
            if settled == shapes:
                return found, shapes
            shapes, found = settled, self._asked(settled)
        return answer, first

    def _asked(self, shapes: Shapes) -> Schedule:
        """Return the policy's answer with the jobs in these shapes.

        Room that was freed for the first shape of a job is not kept for another one.
        """
        self._stand(shapes)
        moved = {job for job, choice in shapes.items() if choice != self._first[job]}
        reclaims = tuple(job for job in self._rest["reclaims"] if job not in moved)
        found = self._policy(index=self._index, **{**self._rest, "reclaims": reclaims})
        self._wakes.append(found.again)
        return found

    def _stand(self, shapes: Shapes) -> None:
        """Put the jobs into the index in these shapes, and put all other jobs back as they were."""
        for job, want in list(self._lent.items()):
            if shapes.get(job, want.choice) == want.choice:
                self._index.stand(self._lent.pop(job))
        for job, choice in shapes.items():
            want = self._index.wants[job]
            if want.choice != choice:
                self._lent.setdefault(job, want)
                self._index.stand(structs.replace(want, demand=want.choices[choice], choice=choice))

    def _later(self, shapes: Shapes, found: Schedule) -> Shapes:
        """Give each job that did not start the next shape for which there is room. Without one it keeps its shape."""
        started, free, later = {start.job for start in found.starts}, self._free(found), dict(shapes)
        for group, choices in self._possible.items():
            room = [
                n for n in choices if n > choices[0] and any(fits(dict(group[0][n]), partition) for partition in free)
            ]
            for job in self._index.choosers[group] if room else ():
                if job not in started:
                    at = self._index.wants[job].choice
                    later[job] = next((n for n in room if n > at), at)
        return later

    def _free(self, found: Schedule) -> list[dict[str, int]]:
        """Return what an answer leaves of each partition. The index must hold the shapes of that answer."""
        left = [dict(partition) for partition in self._capacity.of_partitions()]
        given = ((start.tier, self._index.wants[start.job].demand) for start in found.starts)
        for tier, amount in (*self._index.named.items(), *given):
            partition = self._capacity.partition_of(tier)
            left[partition] = minus(left[partition], amount)
        return left

    def _told(self, found: Schedule, shapes: Shapes) -> Mapping[str, str]:
        """Return the reasons. For a job with choices, say which shape it waits for and what the other shapes lack."""
        self._stand(shapes)
        try:
            told, free, partitions = dict(found.reasons), self._free(found), self._capacity.of_partitions()
            for group, choices in self._possible.items():
                for job in filter(told.__contains__, self._index.choosers[group]):
                    want = self._index.wants[job]
                    told[job] = reasons.choosing(want, want.choice if choices else None, told[job], partitions, free)
        finally:
            self._stand({})
        return told


def possible(choices: Sequence[Demand], max_tier: int | None, capacity: Capacity) -> list[int]:
    """Return the numbers of the choices that would fit if nothing were in use."""
    partitions = capacity.of_partitions(max_tier)
    return [number for number, demand in enumerate(choices) if not reasons.impossible(demand, partitions)]
