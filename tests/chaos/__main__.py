"""`python -m tests.chaos --store=folder|gcs --kills=10 --pauses=2 --seed=1`: rounds of chaos, until so much was done.

This process is a guard: all that a round starts is below it, and ends with it, however either ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from bastion.runners.worker.linux.session import adopt_orphans
from tests.chaos.play import Round, play
from tests.support.alone import end_all, follow

A_ROUND = 20
"""Kills of one round at most: a journal and a bucket of their own keep the last round as fast as the first."""

_SUM = "sum.json"


def main(argv: list[str]) -> int:
    """0 if all promises held."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--store", choices=("folder", "gcs", "both"), default="both")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--pauses", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    wished = parser.parse_args(argv)
    adopt_orphans()
    follow(signal.SIGTERM)
    signal.signal(signal.SIGTERM, _leave)
    began, total = time.monotonic(), Counter[str]()
    for plan in _rounds(wished):
        total += _guarded(plan)
        if total["broken"]:
            break
    told = f"{total['killed']} kill -9 and {total['paused']} long pauses in {time.monotonic() - began:.0f} s"
    checked = f"{total['jobs']} jobs, {total['lines']:,} lines"
    print(f"{told}; {checked}: {total['broken'] or 'no'} promise broken", flush=True)
    return 1 if total["broken"] else 0


def _rounds(wished: argparse.Namespace) -> list[Round]:
    """The work, in equal parts."""
    stores = ("folder", "gcs") if wished.store == "both" else (wished.store,)
    number = max(len(stores), -(-wished.kills // A_ROUND))
    return [
        Round(
            store=stores[i % len(stores)],
            seed=wished.seed + i,
            kills=wished.kills * (i + 1) // number - wished.kills * i // number,
            pauses=wished.pauses * (i + 1) // number - wished.pauses * i // number,
        )
        for i in range(number)
    ]


def _guarded(plan: Round) -> Counter[str]:
    """Play a round in a child. What was done, and `broken` promises. Its folder goes when nobody is left to write to it."""
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as home:
        try:
            broken = _in_a_child(plan, Path(home))
            said = Path(home, _SUM)
            return Counter(broken=broken) + Counter(json.loads(said.read_text()) if said.exists() else {})
        finally:
            end_all()


def _in_a_child(plan: Round, home: Path) -> int:
    child = os.fork()
    if child == 0:
        follow(signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os._exit(_play(plan, home))
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            return os.waitstatus_to_exitcode(status) and 1


def _play(plan: Round, home: Path) -> int:
    began, wrong = time.monotonic(), ["the round fell"]
    try:
        wrong = play(plan, home)
    except BaseException:
        traceback.print_exc()
    told = f"{plan.store}, seed {plan.seed}: {plan.killed} kill -9 and {plan.paused} long pauses"
    print(f"{told} in {time.monotonic() - began:.0f} s", *plan.did, *wrong, sep="\n  ", flush=True)
    done = {name: getattr(plan, name) for name in ("killed", "paused", "jobs", "lines")}
    (home / _SUM).write_text(json.dumps(done))
    return 1 if wrong else 0


def _leave(*_: object) -> None:
    """End, once: a second signal must not break off the end of all others."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
