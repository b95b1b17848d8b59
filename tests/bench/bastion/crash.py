"""kill -9 of a bastion with 10,000 jobs that wait and 50 that run, and its next start on the same host."""

from __future__ import annotations

import time
from collections import Counter

from bastion.model.job.spec import new_jobspec
from tests.bench import jobs
from tests.bench.rows import Row, lap
from tests.bench.town import Town, town, until

PENDING, RUNNING = 10_000, 50
CONFIG = f"poll = 0.5\n[capacity]\nv4 = {RUNNING}\n"


def rows() -> list[Row]:
    """The seconds to the end of the first tick; what was lost; what was started twice."""
    with town() as here:
        here.settle(CONFIG)
        first = here.start()
        _fill(here)
        first.kill()
        first.wait()
        with lap() as restart:
            here.start(epoch=2)
        time.sleep(5)  # time enough to start something twice
        state, starts = here.state(), _starts(here)
    alive = sum(job.ended is None for job in state.jobs.values())
    twice = sum(number > 1 for number in starts.values())
    return [
        Row("kill -9, then start to the first decision, 10,000 pending and 50 running", restart.seconds, "s", 3),
        Row("  of 10,001 jobs lost", PENDING + 1 - alive, "jobs", incumbent="crash loop"),
        Row("  of 50 processes lost or started twice", RUNNING - len(starts) + twice, "processes"),
    ]


def _fill(here: Town) -> None:
    wait = f"echo $BASTION_TASK >> {here.home}/starts; until [ -e {here.home}/go ]; do sleep 1; done"
    spec = new_jobspec(
        name="sleep", user="u0", project="p0", command=wait, resources={"v4": 1}, count=RUNNING, priority=1
    )
    here.submit(spec)
    until(lambda: sum(_starts(here).values()) == RUNNING)
    waiting = (
        new_jobspec(name=f"w{n}", user=f"u{n % 1000}", project="p0", command="true", resources={"v4": RUNNING})
        for n in range(PENDING)
    )
    jobs.fill_folder(here.folder, waiting)
    until(lambda: len(here.state().jobs) == PENDING + 1, 1.0)


def _starts(here: Town) -> Counter[str]:
    log = here.home / "starts"
    return Counter(log.read_text().split()) if log.exists() else Counter()
