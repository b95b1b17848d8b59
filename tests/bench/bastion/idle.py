"""What an idle tick asks of the bucket, whatever waits."""

from __future__ import annotations

from tests.bench.rows import Row
from tests.sim.idle import requests_per_poll


def rows() -> list[Row]:
    """Counted in virtual time: the machine's speed plays no part."""
    incumbent = {0: "6", 1_000: "3,006", 10_000: "30,006 (3N + 6)"}
    return [
        Row(f"bucket requests of an idle tick, {n:,} pending", requests_per_poll(n, 0.5), "requests", 2, incumbent=them)
        for n, them in incumbent.items()
    ]
