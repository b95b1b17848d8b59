"""How often we may ask Google: one bucket of tokens for each of its quotas of requests a minute. Pure.

Google counts whole minutes. A bucket that begins full and is refilled evenly gives out, in any minute whatsoever, no more
than what it holds and what it gains; both together are below the quota.
"""

from __future__ import annotations

from dataclasses import dataclass

PER_MINUTE = {
    ("tpu", "create"): 90,
    ("tpu", "write"): 90,
    ("tpu", "read"): 300,
    ("compute", "create"): 300,
    ("compute", "write"): 375,
    ("compute", "read"): 750,
    ("cloudbuild", "create"): 60,
    ("iam", "create"): 60,
    ("iam", "write"): 60,
}
"""Requests a minute that a project has without asking for more, as far as Google says so (else as seen in projects).

By service and by what the request does; `OTHERS` for the rest.
"""

OTHERS = 300
HELD = 0.40
GAINED = 0.55
"""A bucket's size and its gain in a minute, as parts of the quota."""

_READS = ("get", "list", "aggregated", "test", "query", "search", "fetch", "wait")
_CREATES = ("create", "insert", "bulkInsert", "enable", "batchEnable")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A bucket as it was at a moment (seconds of some clock). Below 0: so many are promised to those who wait."""

    level: float
    at: float


def group(method: str) -> tuple[str, str]:
    """Which quota a method (`tpu.projects.locations.nodes.get`) counts against."""
    service, verb = method.split(".", 1)[0], method.rsplit(".", 1)[-1]
    if verb.startswith(_READS):
        return service, "read"
    return service, "create" if verb in _CREATES else "write"


def full(quota: int, now: float) -> Tokens:
    """A bucket that nobody has taken from."""
    return Tokens(quota * HELD, now)


def take(tokens: Tokens, quota: int, now: float) -> tuple[Tokens, float]:
    """The bucket after one more request, and how many seconds this one has to wait."""
    gain = quota * GAINED / 60
    level = min(quota * HELD, tokens.level + (now - tokens.at) * gain) - 1
    return Tokens(level, now), max(0.0, -level / gain)
