"""The interface of every policy. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from ..demand import PolicySettings, Schedule
from ..project_work import Work
from ..quota import Quota
from ..tiers import Capacity
from .index import WantIndex

Past = Mapping[tuple[str, str], float]
"""Past use by (project, user), decayed with age: the fraction of the capacity, of all kinds the largest, times hours."""


class Policy(Protocol):
    """A function that decides which jobs start and which attempts stop.

    The same values give the same answer, whatever the order in which the index (`index`) was filled. A policy only
    reads the index, and it reads `past` only for users who wait or hold something. `work` is what each project used, and
    which jobs of it did. `capacity` is what each tier holds now, by partition.
    `reclaims` are the jobs, oldest decision first, for which others were stopped (`Stop.for_job`) and which have not
    started since: what is free or being freed is kept for them. Jobs in it that no longer wait are ignored.
    """

    def __call__(
        self,
        *,
        index: WantIndex,
        reclaims: tuple[str, ...],
        quota: Quota,
        capacity: Capacity,
        past: Past,
        work: Work,
        now: datetime,
        settings: PolicySettings,
    ) -> Schedule:
        """Return the starts, stops and reasons of this moment."""
