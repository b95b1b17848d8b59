"""Laws about partitions: each attempt lies in one of them, with the runner of its tier."""

from __future__ import annotations

from collections.abc import Mapping

from bastion.model.state.state import Attempt, State
from bastion.quota.resources import Resources, fits, total
from tests.simulation.parts.broken import Broken


def on_its_side(attempt: Attempt | None, runner: str, fleet: Mapping[str, Resources]) -> None:
    """Check that the runner asked for machines is the one in the journal and the one of the tier. Raises `Broken`."""
    if attempt is not None and attempt.runner != runner:
        raise Broken(f"machines are asked of {runner} for an attempt on {attempt.runner}")
    if attempt is not None and _of_tier(attempt.tier, fleet) != runner:
        raise Broken(f"an attempt in tier {attempt.tier} is on {runner}, which has no such tier")


def check(truth: State, fleet: Mapping[str, Resources]) -> None:
    """Check that attempts hold no more than their runner has, and count to one of its tiers. Raises `Broken`."""
    live = truth.live_attempts()
    for key, _, attempt in live:
        if attempt.runner != _of_tier(attempt.tier, fleet):
            raise Broken(f"{key} is on {attempt.runner} and counts to tier {attempt.tier}")
    for runner, capacity in fleet.items():
        held = total(job.demand for _, job, attempt in live if attempt.runner == runner)
        if not fits(held, capacity):
            raise Broken(f"the journal promises {held} of {capacity} on {runner}")


def _of_tier(tier: int, fleet: Mapping[str, Resources]) -> str:
    return [*fleet][min(tier, len(fleet) - 1)]
