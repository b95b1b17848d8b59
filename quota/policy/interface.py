"""What every policy promises. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from ..demand import Knobs, Schedule
from ..quota import Quota
from ..tiers import Capacity
from .index import WantIndex

Past = Mapping[tuple[str, str], float]
"""What users of projects held before, decayed with age: the largest part of the pool over all kinds, times hours."""


class Policy(Protocol):
    """Decides whose turn it is: same values in, same answer out, in whatever order the board was filled.

    It only reads the board, and `past` of those who wait. `pool` is what each tier holds now, and the walls between them.
    `reclaims` are the jobs, oldest decision first, for which others were stopped (`Stop.for_job`) and which have not
    started since: what is free or being freed is kept for them. Jobs in it that no longer wait are ignored.
    """

    def __call__(
        self,
        *,
        board: WantIndex,
        reclaims: tuple[str, ...],
        quota: Quota,
        pool: Capacity,
        past: Past,
        now: datetime,
        knobs: Knobs,
    ) -> Schedule:
        """The starts, stops and reasons of this moment."""
