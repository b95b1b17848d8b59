"""How large and how fast the simulated world is."""

from __future__ import annotations

from bastion.runners.worker.interfaces import WorkerPace

CAPACITY = {"v4": 6, "v5p": 4}
FLEETS = {False: {"local": CAPACITY}, True: {"local": {"v4": 3, "v5p": 4}, "spot": {"v4": 3}}}
"""What each runner holds, those of the best tiers first: without walls, and with one."""
PACE = WorkerPace(poll_s=5, stop_s=5, report_s=5, flush_s=10, steady_flush_s=30, watch_s=30, retry_s=3)
