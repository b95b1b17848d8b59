"""What 100,000 jobs that wait cost: memory of the bastion, bytes of a snapshot, and time to begin from it."""

from __future__ import annotations

import time

import psutil

from bastion.journal import recover, snapshot
from bastion.model import layout
from bastion.model.job.spec import new_jobspec
from tests.bench import jobs
from tests.bench.rows import Row, lap
from tests.bench.town import Town, town, until

PENDING = 100_000
CONFIG = "\n".join(
    ["poll = 0.5", "reclaim_delay = 86400", "[capacity]"]
    + [f"{kind} = {amount}" for kind, amount in jobs.CAPACITY.items()]
)
MB = 1_000_000


def rows() -> list[Row]:
    """A real bastion swallows them all and is measured before and after; then a second one begins from the snapshot."""
    with town() as here:
        here.settle(CONFIG, jobs.quota())
        first = here.start()
        _hold_everything(here)
        before = _settled(first.pid)
        jobs.fill_folder(here.folder, jobs.specs(PENDING))
        with lap() as swallowed:
            until(lambda: _is_done(here), 1.0)
        time.sleep(2)
        after = _settled(first.pid)
        with lap() as packed:
            size = len(recover.pack_snapshot(here.state()))
        snapshot.make(here.bucket)
        first.kill()
        first.wait()
        with lap() as restarted:
            second = here.start(epoch=2)
        again = _settled(second.pid)
    return [
        Row("memory growth of the bastion with 100,000 distinct pending 1 KB specs", (after - before) / MB, "MB", 200),
        Row("  after a restart from the snapshot", (again - before) / MB, "MB", 200),
        Row("snapshot of 100,000 pending jobs", size / MB, "MB", 15),
        Row("  seconds to fold the journal and pack it", packed.seconds, "s"),
        Row("  restart from it to the first tick's end", restarted.seconds, "s"),
        Row("  100,000 swallowed from the inbox", swallowed.seconds, "s", incumbent="Slurm's limit: 10,000 jobs"),
    ]


def _hold_everything(here: Town) -> None:
    """One job that takes all there is, so that all others wait."""
    command = f"touch {here.home}/held; until [ -e {here.home}/go ]; do sleep 1; done"
    here.submit(new_jobspec(name="holder", user="u0", project="p0", command=command, resources=jobs.CAPACITY))
    until((here.home / "held").exists)


def _is_done(here: Town) -> bool:
    return next(here.bucket.list(layout.INBOX), None) is None


def _settled(pid: int) -> int:
    return int(psutil.Process(pid).memory_info().rss)
