"""`python -m tests.bench.crowd BUCKET JOB FOLLOWERS RAMP_S SECONDS`: real followers, each on a thread of its own.

The job's lines are the times at which it printed them. Prints one object: how late they were seen, by which share of
the followers, and what was asked of the bucket for it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from bastion.launcher.logs.log_lines import LogSelection
from bastion.launcher.logs.task_follower import FollowContext, FollowOutput, follow
from bastion.launcher.read.job_lookup import find
from bastion.launcher.read.reader import BastionReader
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.stores.counting import CountingBucket
from bastion.stores.opening import open_part


class Words(CountingBucket):
    """Counts the words to the workers that were not refused, too."""

    def create(self, key: str, data: bytes) -> str | None:
        """Count and pass on."""
        return self._told(super().create(key, data))

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Count and pass on."""
        return self._told(super().replace(key, data, version))

    def _told(self, version: str | None) -> str | None:
        self.counts["word"] += version is not None
        return version


@dataclass
class Crowd:
    """Followers of one job, and what they saw of the lines that were printed from `since` to `until`."""

    url: str
    job: str
    since: float
    until: float
    late: list[float] = field(default_factory=list)
    buckets: list[Words] = field(default_factory=list)

    def follow(self) -> None:
        """Be one of them."""
        bucket, clock, tasks = Words(self._inner), SystemClock(), ThreadTasks(width=1)
        self.buckets.append(bucket)
        reader = BastionReader(bucket, clock, tasks)
        doors = FollowContext(bucket=bucket, clock=clock, tasks=tasks, reader=reader)
        follow(
            doors,
            find(self.job, reader.look()),
            0,
            LogSelection(tail=0),
            FollowOutput(lines=self._see, note=self._complain),
        )

    def __post_init__(self) -> None:
        self._inner = open_part(self.url)

    def _see(self, lines: list[str]) -> None:
        now = time.time()
        self.late += [now - float(line) for line in lines if self.since <= float(line) < self.until]

    def _complain(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def asked(self) -> dict[str, int]:
        """All requests so far, by method."""
        counts = sum((bucket.counts for bucket in self.buckets), start=Counter[str]())
        return dict(counts)


def main(url: str, job: str, followers: int, ramp_s: float, seconds: float) -> None:
    """Follow, and tell. The followers end with the process."""
    since = time.time() + ramp_s
    crowd = Crowd(url, job, since, since + seconds)
    for number in range(followers):
        threading.Thread(target=crowd.follow, daemon=True).start()
        time.sleep(0.5 * ramp_s / followers * (number < followers - 1))
    time.sleep(max(0.0, since - time.time()))
    before = crowd.asked()
    time.sleep(seconds)
    asked = {verb: count - before.get(verb, 0) for verb, count in crowd.asked().items()}
    time.sleep(5)  # for the last lines
    print(json.dumps({"late": crowd.late, "asked": asked}), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
