"""`python -m tests.bench [NAME ...]`: all benchmarks, or those named."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tests.bench import client, followers, history, memory, slurm, start, usage
from tests.bench.bastion import crash, decide, first_create, idle, inbox, quiet, takeover
from tests.bench.rows import Row, show

BENCHMARKS: dict[str, Callable[[], list[Row]]] = {
    "idle": idle.rows,
    "start": start.rows,
    "first-create": first_create.rows,
    "inbox": inbox.local,
    "gcs": inbox.gcs,
    "decide": decide.rows,
    "client": client.rows,
    "followers": followers.rows,
    "history": history.rows,
    "crash": crash.rows,
    "takeover": takeover.rows,
    "memory": memory.rows,
    "usage": usage.rows,
    "quiet": quiet.rows,
    "slurm": slurm.rows,
}


def main(names: list[str]) -> int:
    """Run them one after the other. 2 for an unknown name; a goal that is missed is for people to judge."""
    if unknown := sorted(set(names) - BENCHMARKS.keys()):
        print(f"there is no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names or BENCHMARKS:
        show(name, BENCHMARKS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
