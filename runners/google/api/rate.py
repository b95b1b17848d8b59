"""The rate of our requests: one token bucket for each of Google's quotas of requests a minute. Pure.

Google counts whole minutes. A token bucket starts full and refills evenly. In any minute it gives out at most what it
holds plus what it gains, and both together are below the quota.
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
"""The requests a minute that a project has without asking for more, by service and by what the request does.

The numbers are Google's where it publishes them, and else those seen in projects. `OTHERS` is for the rest.
"""

OTHERS = 300
HELD = 0.40
GAINED = 0.55
"""The size of a bucket, and its gain in a minute, as parts of the quota."""

_READS = ("get", "list", "aggregated", "test", "query", "search", "fetch", "wait")
_CREATES = ("create", "insert", "bulkInsert", "enable", "batchEnable")


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """A token bucket at one moment.

    level: the tokens in it. Below 0, that many are promised to callers that wait.
    at: the moment, in seconds of some clock.
    """

    level: float
    at: float


def group(method: str) -> tuple[str, str]:
    """Return the quota that a method (`tpu.projects.locations.nodes.get`) counts against.

    It is named by the service, and by what the method does: read, create or write.
    """
    service, verb = method.split(".", 1)[0], method.rsplit(".", 1)[-1]
    if verb.startswith(_READS):
        return service, "read"
    return service, "create" if verb in _CREATES else "write"


def full(quota: int, now: float) -> TokenBucket:
    """Return a full bucket."""
    return TokenBucket(quota * HELD, now)


def take(tokens: TokenBucket, quota: int, now: float) -> tuple[TokenBucket, float]:
    """Take one token. Return the bucket after that, and how many seconds this request has to wait."""
    gain = quota * GAINED / 60
    level = min(quota * HELD, tokens.level + (now - tokens.at) * gain) - 1
    return TokenBucket(level, now), max(0.0, -level / gain)
