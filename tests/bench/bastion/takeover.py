"""kill -9 of the bastion at work while another stands by: on the same host, and as another host would see it."""

from __future__ import annotations

import os
import time
from collections import Counter

from bastion.model.job.spec import new_jobspec
from tests.bench.rows import Row, lap
from tests.bench.town import Town, town, until

RUNNING = 20
CONFIG = f"poll = 0.5\n[capacity]\nv4 = {RUNNING + 1}\n"
_RIGHTS = () if os.geteuid() == 0 else ("--map-root-user",)
ELSEWHERE = ("unshare", "--uts", *_RIGHTS, "sh", "-c", 'hostname elsewhere; exec "$@"', "sh")
"""The same processes under another host's name: nobody there can see whether one of ours is dead."""


def rows() -> list[Row]:
    """Seconds from the kill to the first start by the successor; what was started twice."""
    return [*_measure("on the same host", ()), *_measure("on another host", ELSEWHERE)]


def _measure(where: str, prefix: tuple[str, ...]) -> list[Row]:
    with town() as here:
        here.settle(CONFIG)
        first = here.start()
        _fill(here)
        here.stand_by(prefix)
        with lap() as taken:
            first.kill()
            here.submit(
                new_jobspec(name="next", user="u0", project="p0", command=_note(here, "next"), resources={"v4": 1})
            )
            until(lambda: "next" in _starts(here), 0.01)
        first.wait()
        time.sleep(5)  # time enough to start something twice
        starts = _starts(here)
    return [
        Row(f"kill -9 of the bastion, a standby {where}: to the first job that it starts", taken.seconds, "s", 15),
        Row(f"  of {RUNNING + 1} jobs lost or started twice", RUNNING + 1 - len(starts) + _twice(starts), "jobs"),
    ]


def _fill(here: Town) -> None:
    wait = f"{_note(here, '$BASTION_TASK')}; until [ -e {here.home}/go ]; do sleep 1; done"
    here.submit(new_jobspec(name="sleep", user="u0", project="p0", command=wait, resources={"v4": 1}, count=RUNNING))
    until(lambda: _starts(here).total() == RUNNING)


def _note(here: Town, what: str) -> str:
    return f"echo {what} >> {here.home}/starts"


def _starts(here: Town) -> Counter[str]:
    log = here.home / "starts"
    return Counter(log.read_text().split()) if log.exists() else Counter()


def _twice(starts: Counter[str]) -> int:
    return sum(number > 1 for number in starts.values())
