"""All scenarios, by name."""

from __future__ import annotations

from tests.simulation.crashes.stories import OF_JOBS
from tests.simulation.crashes.upheavals import OF_BASTIONS

SCENARIOS = {scenario.name: scenario for scenario in (*OF_JOBS, *OF_BASTIONS)}
