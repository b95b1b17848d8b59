"""The wide and the CSV table of jobs: `launch ls -o wide` and `-o csv`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from bastion.model.durations import short
from bastion.model.state.state import Attempt, Job
from bastion.quota import resources

from .job_rows import newest_attempt, rfc3339
from .queue import QueueView, run_s, state_text, tries, where
from .view import Known

WIDE_HEADS = (
    "JOB", "USER", "PROJECT", "PRI", "RESOURCES", "REPLICAS", "STATE", "SUBMITTED", "STARTED", "ENDED", "RUNTIME",
    "TRY", "ATTEMPTS", "EXIT", "ID", "WHY / WHERE",
)  # fmt: skip
WIDE_RIGHT = frozenset({"PRI", "REPLICAS", "RUNTIME", "ATTEMPTS", "EXIT"})

CSV_HEADS = (
    "id", "name", "user", "project", "priority", "resources", "num_replicas", "count", "state", "reason", "where",
    "submitted", "started", "ended", "runtime_s", "attempts", "exit_code",
)  # fmt: skip
"""Scripts read these names, so new ones go to the end."""


def wide_cells(shown: QueueView) -> list[tuple[str, ...]]:
    """Return the lines of the wide table, with the columns of `WIDE_HEADS`.

    Times are UTC. RUNTIME is that of the newest attempt.
    """
    return [_wide(shown, known) for known in shown.jobs]


def csv_rows(shown: QueueView) -> Iterator[tuple[Any, ...]]:
    """Yield the names of the columns, then one row for each job.

    Times are RFC 3339 in UTC, durations are seconds, and unknown values are empty. `started` and `runtime_s` are those
    of the newest attempt, `ended` is that of the job.
    """
    yield CSV_HEADS
    for known in shown.jobs:
        row, (last, ended, attempts) = shown.row(known), _of(known)
        values = {
            **row,
            "resources": resources.text(row["resources"]),
            "where": where(last) if last else "",
            "started": _started(last),
            "ended": rfc3339(ended),
            "runtime_s": round(run_s(last, shown.view.now), 3) if last else None,
            "attempts": attempts,
            "exit_code": last.exit_code if last and last.ended else None,
        }
        yield tuple("" if values[head] is None else values[head] for head in CSV_HEADS)


def _wide(shown: QueueView, known: Known) -> tuple[str, ...]:
    row, (last, ended, attempts) = shown.row(known), _of(known)
    code = last.exit_code if last and last.ended else None
    return (
        row["name"],
        row["user"],
        row["project"],
        str(row["priority"]),
        resources.text(row["resources"]),
        str(row["num_replicas"]),
        state_text(row),
        row["submitted"],
        _started(last) or "",
        rfc3339(ended) or "",
        short(run_s(last, shown.view.now)) if last else "",
        tries(known) if isinstance(known, Job) else "",
        str(attempts),
        "" if code is None else str(code),
        row["id"],
        row["reason"] or (where(last) if last and last.ended is None else ""),
    )


def _of(known: Known) -> tuple[Attempt | None, datetime | None, int]:
    """Return the newest attempt, the end of the job, and the number of attempts."""
    if not isinstance(known, Job):
        return None, None, 0
    return newest_attempt(known), known.ended, sum(len(task.attempts) for task in known.tasks.values())


def _started(last: Attempt | None) -> str | None:
    return rfc3339(last.running or last.started) if last else None
