"""All scenarios, by name."""

from __future__ import annotations

from worlds.crashes.stories import OF_JOBS
from worlds.crashes.upheavals import OF_BASTIONS

SCENARIOS = {scenario.name: scenario for scenario in (*OF_JOBS, *OF_BASTIONS)}
