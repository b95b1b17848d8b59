"""From a request in the inbox to the user's process: real processes, at a poll of half a second."""

from __future__ import annotations

import time
from random import Random
from statistics import median

from bastion.model.job.spec import new_jobspec
from tests.bench.rows import Row
from tests.bench.town import Town, town, until

SAMPLES = 24
CONFIG = "poll = 0.5\n[capacity]\nv4 = 4\n"


def rows() -> list[Row]:
    """Submissions at random moments, one after the other."""
    rng = Random(0)
    with town() as here:
        here.settle(CONFIG)
        here.start()
        laps = []
        for number in range(SAMPLES):
            time.sleep(rng.uniform(0.5, 1.5))
            laps.append(_sample(here, number))
    return [
        Row(f"submit to process start, p50 of {SAMPLES}", median(laps), "s", 0.7, incumbent="18.6; at a 1 s poll 0.59"),
        Row("  the slowest", max(laps), "s"),
    ]


def _sample(here: Town, number: int) -> float:
    sign = here.home / f"started-{number}"
    command = f"date +%s.%N > {sign}.new && mv {sign}.new {sign}"
    spec = new_jobspec(name=f"s{number}", user="ann", project="default", command=command, resources={"v4": 1})
    began = time.time()
    here.submit(spec)
    until(sign.exists, 0.05)
    return float(sign.read_text()) - began
