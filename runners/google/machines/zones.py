"""The zones to ask next: in the order of the settings, without those that refused lately. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHORT_S, LONG_S = 60.0, 1800.0
"""The seconds for which a zone is skipped: after its first refusal, and at most. Each refusal in a row doubles them."""


@dataclass(frozen=True, slots=True)
class ZoneRefusals:
    """The refusals of one zone.

    until: when it may be asked again, in seconds of the clock of `now`.
    times: how often in a row it refused.
    said: what it said last.
    """

    until: float
    times: int
    said: str


Shuts = Mapping[tuple[str, str], ZoneRefusals]
"""The refusals, by zone and by what was wanted there. They only save requests."""


def open_zones(zones: Sequence[str], shuts: Shuts, want: str, now: float) -> list[str]:
    """Return the zones to ask for this now, in order."""
    return [zone for zone in zones if (shut := shuts.get((zone, want))) is None or shut.until <= now]


def refused(shuts: Shuts, zone: str, want: str, said: str, now: float, *, first_s: float = SHORT_S) -> Shuts:
    """Return the refusals after a zone refused once more."""
    before = shuts.get((zone, want))
    times = before.times + 1 if before else 1
    wait = min(LONG_S, first_s * 2.0 ** min(times - 1, 16))
    return {**shuts, (zone, want): ZoneRefusals(now + wait, times, said)}


def gave(shuts: Shuts, zone: str, want: str) -> Shuts:
    """Return the refusals after a zone gave what was wanted."""
    return {place: shut for place, shut in shuts.items() if place != (zone, want)}


def said(zones: Sequence[str], shuts: Shuts, want: str) -> str:
    """Join what the zones said that refused, in order."""
    return "; ".join(shut.said for zone in zones if (shut := shuts.get((zone, want))))
