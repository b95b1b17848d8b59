"""What jobs that only sleep take from the processors of their machine: the time of their workers, not of their commands."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.local.runner import LocalRunner
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import until, workers
from bastion.testing.stage import order, placement
from tests.bench.bastion.folder import fresh_folder
from tests.bench.rows import Row

JOBS = 30
_YOUNG_S, _MEASURED_S = 65.0, 30.0
_TICKS = os.sysconf("SC_CLK_TCK")


def rows() -> list[Row]:
    """With the bounds that every job has, and nobody who follows them."""
    with fresh_folder() as folder:
        bucket = PrefixedBucket(LocalBucket(f"file://{folder}", create=True), "b")
        runner = LocalRunner(
            scope=f"bench-{os.getpid()}",
            bucket_url=bucket.url,
            work_root=folder / "work",
            ids=RandomIds(),
            clock=SystemClock(),
            flags={"processes": 16_384},
        )
        try:
            for number in range(JOBS):
                key = AttemptKey(f"quiet-{number:08}", 0, 0)
                bucket.write(layout.order(key), encode(order(key, ["sleep", "600"])))
                runner.create(placement(key))
            machines = [machine.id for machine in runner.list()]
            until(lambda: all(len(workers(machine)) == 2 for machine in machines), "thirty workers with their keepers")
            pids = [pid for machine in machines for pid in workers(machine)]
            first = _share(pids, _MEASURED_S)
            time.sleep(_YOUNG_S - _MEASURED_S)
            steady = _share(pids, _MEASURED_S)
        finally:
            for machine in runner.list():
                runner.delete(machine.id)
    return [
        Row(f"{JOBS} quiet jobs, in their first minute: processor of their workers", 100 * first, "% of a core"),
        Row("the same, later", 100 * steady, "% of a core", 3),
    ]


def _share(pids: list[int], seconds: float) -> float:
    before, begun = _spent(pids), time.monotonic()
    time.sleep(seconds)
    return (_spent(pids) - before) / (time.monotonic() - begun)


def _spent(pids: list[int]) -> float:
    """Seconds of processors."""
    return (
        sum(sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13])) for pid in pids)
        / _TICKS
    )
