"""What users wait for who look: the queue of 10,000 jobs, and the account of any job in a journal of 1,000,000 events."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from statistics import median

from bastion.model import layout
from tests.bench import old
from tests.bench.bastion.folder import fresh_folder
from tests.bench.rows import Row, lap

TIMES = 5
TOOL = [sys.executable, "-I", "-m", "bastion"]


def rows() -> list[Row]:
    """Real processes on a folder."""
    return [*_queue(), *_past()]


def _queue() -> list[Row]:
    with fresh_folder() as folder:
        past = old.queue(folder, datetime.now(UTC))
        count = len(past.state.jobs)
        return [
            Row(f"launch ls --all of {count:,} jobs", _seconds(past, "launch", "ls", "--all"), "s", 1.5),
            Row("  launch ls of one user's among them", _seconds(past, "launch", "ls", "--user_id=u1"), "s", 1.5),
            Row("  launch ls --all --json", _seconds(past, "launch", "ls", "--all", "--json"), "s", 1.5),
        ]


def _past() -> list[Row]:
    with fresh_folder() as folder:
        past = old.build(folder, datetime.now(UTC))
        objects = sum(1 for _ in past.bucket.list(layout.JOURNAL))
        found = [Row(f"a journal of {past.events:,} events, in objects", objects, "objects")]
        for what, job in past.told.items():
            found.append(Row(f"  launch why: {what}", _seconds(past, "launch", "why", job), "s", 2))
            found.append(Row(f"  launch history: {what}", _seconds(past, "launch", "history", job), "s", 2))
            at = f"--at={past.lived[what].isoformat()}"
            found.append(
                Row(f"  launch why --at when it lived: {what}", _seconds(past, "launch", "why", job, at), "s", 5)
            )
        for since in ("1d", "20d"):
            taken = _seconds(past, "bastion", "history", "p1", f"--since={since}")
            found.append(Row(f"  bastion history of a project, since {since} ago", taken, "s"))
        return found


def _seconds(past: old.Past, *words: str) -> float:
    environ = {**os.environ, "BASTION_NAME": "b", "BASTION_BUCKET": past.root}
    laps = []
    for _ in range(TIMES):
        with lap() as taken:
            subprocess.run([*TOOL, *words], env=environ, check=True, capture_output=True)
        laps.append(taken.seconds)
    return median(laps)
