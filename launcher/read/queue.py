"""The queue as people read it: one line for each job, with why it waits or where it runs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bastion.model.durations import short
from bastion.model.state.state import Attempt, Job, JobState
from bastion.quota import resources
from bastion.schedule.plan import paused

from .job_rows import Row, ended_at, newest_attempt, row, unread_row
from .job_selection import Filter, newest, submitted
from .view import Known, View, not_read_yet, tick_age_s

HEADS = ("JOB", "USER", "PROJECT", "PRI", "RESOURCES", "STATE", "AGE", "RUN", "TRY", "WHY / WHERE")
RIGHT = frozenset({"PRI", "AGE", "RUN"})
SPARE = ("TRY", "PRI", "RUN", "RESOURCES", "AGE", "PROJECT", "USER")
"""Columns that a narrow terminal omits, in this order."""
CAPS = {"USER": 12, "PROJECT": 12, "RESOURCES": 14}


@dataclass(frozen=True, slots=True)
class QueueView:
    """The jobs of a view that were asked for, in order.

    view: view of the bastion.
    jobs: jobs to show.
    reasons: why each pending job waits, by the id of the job.
    """

    view: View
    jobs: tuple[Known, ...]
    reasons: Mapping[str, str]

    def rows(self) -> list[Row]:
        """Return the rows of `launch ls --json`."""
        return [self.row(known) for known in self.jobs]

    def row(self, known: Known) -> Row:
        """Return the row of one job in `launch ls --json`."""
        if isinstance(known, Job):
            return row(known, self.reasons.get(known.id, ""))
        why = not_read_yet(self.view.status, self.view.now)
        return unread_row(known.spec, known.request_id, known.stored, why)

    def cells(self) -> list[tuple[str, ...]]:
        """Return the lines of the table, with the columns of `HEADS`."""
        return [self._cells(known) for known in self.jobs]

    def _cells(self, known: Known) -> tuple[str, ...]:
        shown = self.row(known)
        last = newest_attempt(known) if isinstance(known, Job) else None
        return (
            shown["id"] + (f"[0-{shown['count'] - 1}]" if shown["count"] > 1 else ""),
            shown["user"],
            shown["project"],
            str(shown["priority"]),
            _resources(shown),
            state_text(shown),
            short((self.view.now - submitted(known)).total_seconds()),
            short(run_s(last, self.view.now)) if last else "",
            tries(known) if isinstance(known, Job) else "",
            shown["reason"] or (where(last) if last and last.ended is None else ""),
        )


def queue(view: View, reasons: Mapping[str, str], *, user: str, meant: Filter, limit: int | None = None) -> QueueView:
    """Select at most the newest `limit` matching jobs: first those of `user`, then in the order of submission."""
    jobs = [job for job in view.state.jobs.values() if meant.matches(job)]
    jobs.sort(key=lambda job: (job.user != user, job.seq, job.index))
    unread = [found for found in view.unread if meant.matches(found)]
    unread.sort(key=lambda found: (found.spec.user != user, found.stored, found.request_id))
    known: list[Known] = [*jobs, *unread]
    return QueueView(view, tuple(known if limit is None else newest(known, limit)), reasons)


def footer(shown: QueueView, bastion: str) -> str:
    """Count the jobs by state, and say when the bastion ticked last.

    Example: `1 PENDING, 2 RUNNING. bastion b: last tick 2s ago.`
    """
    counts = Counter(known.state if isinstance(known, Job) else JobState.PENDING for known in shown.jobs)
    jobs = ", ".join(f"{counts[state]} {state}" for state in JobState if counts[state]) or "no jobs"
    return f"{jobs}. bastion {bastion}: {sign_of_life(shown.view)}."


def sign_of_life(view: View) -> str:
    """Say when the bastion ticked last, for people."""
    age = tick_age_s(view.status, view.now)
    if view.status is None or age is None:
        return "never seen"
    stopped = "stopped; " if view.status.state == "stopped" else ""
    halted = f"; {paused(view.state)}" if view.state.paused else ""
    return f"{stopped}last tick {short(age)} ago{halted}"


def run_s(attempt: Attempt, now: datetime) -> float:
    """Return the seconds that an attempt has run so far, or ran in all."""
    return max(0.0, ((ended_at(attempt) or now) - (attempt.running or attempt.started)).total_seconds())


def where(attempt: Attempt) -> str:
    """Return the runner and the first address of an attempt: `local/127.0.0.1`, or `tpu/10.0.0.7+3` with 3 more."""
    addresses = [worker.address for worker in attempt.workers if worker.address]
    more = f"+{len(addresses) - 1}" if len(addresses) > 1 else ""
    return "/".join([attempt.runner, *addresses[:1]]) + more


def tries(job: Job) -> str:
    """Return the number of the present try and of all tries: `1/5`. Empty for an array: each task has its own tries."""
    if job.count > 1:
        return ""
    task = job.tasks.get(0)
    if not task or not task.attempts:
        return f"0/{job.max_tries}"
    # The crash guard may fail a job before all tries are used.
    over = job.state is JobState.FAILED and task.failures
    begun = task.failures if over else min(task.failures + 1, job.max_tries)
    return f"{begun}/{job.max_tries}"


def _resources(shown: Row) -> str:
    each = resources.text(shown["resources"])
    return each if shown["num_replicas"] == 1 else f"{shown['num_replicas']}x{each}"


def state_text(shown: Row) -> str:
    """Return the state; for an array with the number of tasks in it: `RUNNING(3/100)`."""
    state: str = shown["state"]
    return state if shown["count"] == 1 else f"{state}({shown['tasks'].get(state, 0)}/{shown['count']})"
