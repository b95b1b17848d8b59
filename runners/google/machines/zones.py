"""In which zone to ask next: in the order of the settings, but for those that lately had none. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

SHORT_S, LONG_S = 60.0, 1800.0
"""How long a zone is left alone after its first refusal, and at the longest: each refusal in a row doubles it."""


@dataclass(frozen=True, slots=True)
class Shut:
    """A zone that refused: until when it is not asked again, how often in a row it refused, and what it said."""

    until: float
    times: int
    said: str


Shuts = Mapping[tuple[str, str], Shut]
"""By zone, and by what was wanted there. What is remembered only saves requests."""


def open_zones(zones: Sequence[str], shuts: Shuts, want: str, now: float) -> list[str]:
    """The zones to ask for this now, the first of them first."""
    return [zone for zone in zones if (shut := shuts.get((zone, want))) is None or shut.until <= now]


def refused(shuts: Shuts, zone: str, want: str, said: str, now: float, *, first_s: float = SHORT_S) -> Shuts:
    """What is known after a zone refused."""
    before = shuts.get((zone, want))
    times = before.times + 1 if before else 1
    wait = min(LONG_S, first_s * 2.0 ** min(times - 1, 16))
    return {**shuts, (zone, want): Shut(now + wait, times, said)}


def gave(shuts: Shuts, zone: str, want: str) -> Shuts:
    """What is known after a zone gave what was wanted."""
    return {place: shut for place, shut in shuts.items() if place != (zone, want)}


def said(zones: Sequence[str], shuts: Shuts, want: str) -> str:
    """What the zones said that refused, in order."""
    return "; ".join(shut.said for zone in zones if (shut := shuts.get((zone, want))))
