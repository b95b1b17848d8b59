"""Jobs of several shapes: each gets the one that it wants most of those that are free, else it waits for the first. Pure.

The policy is asked with every such job in the first shape that the pool can hold. Those that do not start are then tried in
their next shapes, as far as there is room for them; whoever starts keeps that shape, and all others go back to the
first. So nobody is stopped, and nothing kept, for a shape while another is free, nor for any but the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar

from msgspec import structs

from quota import reasons
from quota.board import Board
from quota.claims import Schedule
from quota.policy import Policy
from quota.resources import Resources, fits, minus
from quota.shares import amounts
from quota.tiers import Pool

BACK = 3
"""So often those go back that do not start after all, because others did; then all do."""

T = TypeVar("T")
Shapes = dict[str, int]  # the choice of each job that may choose


def choosing(policy: Policy) -> Policy:
    """The same policy, for boards on which jobs may choose. For all others it is asked once, as it is."""

    def schedule(*, board: Board, **rest: Any) -> Schedule:
        return _Choosing(policy, board, rest).answer() if board.choosers else policy(board=board, **rest)

    return schedule


class _Choosing:
    """One decision. The board is lent: wants are replaced while the policy is asked, and put back."""

    def __init__(self, policy: Policy, board: Board, rest: Mapping[str, Any]) -> None:
        self._policy, self._board, self._rest = policy, board, rest
        self._wants = {job: board.wants[job] for job in sorted(board.choosers)}
        self._pool: Pool = rest["pool"]
        self._possible = {job: possible(want.choices, want.max_tier, self._pool) for job, want in self._wants.items()}
        self._first = {job: next(iter(choices), 0) for job, choices in self._possible.items()}
        self._wakes: list[datetime | None] = []

    def answer(self) -> Schedule:
        """What the policy says once everybody stands where they are to stand."""
        shapes, found = self._first, self._asked(self._first)
        first = found
        for _ in range(max(map(len, self._possible.values()))):
            later = self._later(shapes, found)
            if later == shapes:
                break
            shapes, found = later, self._asked(later)
        for _ in range(BACK):
            started = {start.job for start in found.starts}
            settled = {job: choice if job in started else self._first[job] for job, choice in shapes.items()}
            if settled == shapes:
                break
            shapes, found = settled, self._asked(settled)
        else:
            shapes, found = self._first, first
        again = min((at for at in self._wakes if at), default=None)
        return replace(found, again=again, tell=lambda: self._told(found, shapes))

    def _asked(self, shapes: Shapes) -> Schedule:
        """The policy's answer with the jobs in these shapes. What was freed for another shape is not kept for this one."""
        moved = {job for job, choice in shapes.items() if choice != self._first[job]}
        reclaims = tuple(job for job in self._rest["reclaims"] if job not in moved)
        found = self._standing(shapes, lambda: self._policy(board=self._board, **{**self._rest, "reclaims": reclaims}))
        self._wakes.append(found.again)
        return found

    def _standing(self, shapes: Shapes, ask: Callable[[], T]) -> T:
        """What is answered while the jobs stand on the board in these shapes."""
        moved = [want for job, want in self._wants.items() if shapes[job] != want.choice]
        try:
            for want in moved:
                choice = shapes[want.job]
                self._board.wait(structs.replace(want, demand=want.choices[choice], choice=choice))
            return ask()
        finally:
            for want in moved:
                self._board.wait(want)

    def _later(self, shapes: Shapes, found: Schedule) -> Shapes:
        """Who did not start is tried in the next shape for which there is room; who has no other keeps to the last."""
        started, free = {start.job for start in found.starts}, self._free(found, shapes)
        return {
            job: choice if job in started else next(self._next(job, choice, free), choice)
            for job, choice in shapes.items()
        }

    def _next(self, job: str, choice: int, free: Sequence[Resources]) -> Iterator[int]:
        choices = self._wants[job].choices
        return (
            later
            for later in self._possible[job]
            if later > choice and any(fits(choices[later], side) for side in free)
        )

    def _free(self, found: Schedule, shapes: Shapes) -> list[dict[str, int]]:
        """What an answer leaves of each side of the pool."""
        left = [dict(side) for side in self._pool.of_sides()]
        given = ((start.tier, self._demand(start.job, shapes)) for start in found.starts)
        for tier, amount in (*self._board.named.items(), *given):
            side = self._pool.side_of(tier)
            left[side] = minus(left[side], amount)
        return left

    def _demand(self, job: str, shapes: Shapes) -> Resources:
        return self._wants[job].choices[shapes[job]] if job in shapes else self._board.wants[job].demand

    def _told(self, found: Schedule, shapes: Shapes) -> Mapping[str, str]:
        """The reasons, of those who may choose with what they wait for and what the others lack."""
        texts, free = self._standing(shapes, lambda: found.reasons), self._free(found, shapes)
        told = dict(texts)
        for job in filter(texts.__contains__, shapes):
            at = shapes[job] if self._possible[job] else None
            told[job] = reasons.choosing(self._wants[job], at, texts[job], self._pool.of_sides(), free)
        return told


def possible(choices: Sequence[Resources], max_tier: int | None, pool: Pool) -> list[int]:
    """The choices that would fit if nobody used anything."""
    sides = pool.of_sides(max_tier)
    return [number for number, demand in enumerate(choices) if not reasons.impossible(amounts(demand), sides)]
