"""The queue as people read it: one line a job, with why it waits or where it runs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bastion.model.state.state import Attempt, Job, JobState
from bastion.quota import resources
from bastion.schedule.plan import paused

from ..durations import short
from .job_rows import Row, ended_at, newest_attempt, row, unread_row
from .job_selection import Filter, newest, submitted
from .view import Known, View, not_read_yet, tick_age_s

HEADS = ("JOB", "USER", "PROJECT", "PRI", "RESOURCES", "STATE", "AGE", "RUN", "TRY", "WHY / WHERE")
RIGHT = frozenset({"PRI", "AGE", "RUN"})
SPARE = ("TRY", "PRI", "RUN", "RESOURCES", "AGE", "PROJECT", "USER")
"""What a narrow terminal does without, the first one first."""
CAPS = {"USER": 12, "PROJECT": 12, "RESOURCES": 14}


@dataclass(frozen=True, slots=True)
class QueueView:
    """The jobs of a view that were asked for, in order, with the reasons of the pending ones."""

    view: View
    jobs: tuple[Known, ...]
    reasons: Mapping[str, str]

    def rows(self) -> list[Row]:
        """As `launch ls --json` shows them."""
        return [self.row(known) for known in self.jobs]

    def row(self, known: Known) -> Row:
        """One job as `launch ls --json` shows it."""
        if isinstance(known, Job):
            return row(known, self.reasons.get(known.id, ""))
        why = not_read_yet(self.view.status, self.view.now)
        return unread_row(known.spec, known.request_id, known.stored, why)

    def cells(self) -> list[tuple[str, ...]]:
        """The lines of the table, in the order of `HEADS`."""
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
    """The jobs that are meant, at most the newest `limit` of them: the user's own first, then as submitted."""
    jobs = [job for job in view.state.jobs.values() if meant.matches(job)]
    jobs.sort(key=lambda job: (job.user != user, job.seq, job.index))
    unread = [found for found in view.unread if meant.matches(found)]
    unread.sort(key=lambda found: (found.spec.user != user, found.stored, found.request_id))
    known: list[Known] = [*jobs, *unread]
    return QueueView(view, tuple(known if limit is None else newest(known, limit)), reasons)


def footer(shown: QueueView, bastion: str) -> str:
    """How many stand where, and when the bastion was last seen: `1 PENDING, 2 RUNNING. bastion b: last tick 2s ago.`"""
    counts = Counter(known.state if isinstance(known, Job) else JobState.PENDING for known in shown.jobs)
    jobs = ", ".join(f"{counts[state]} {state}" for state in JobState if counts[state]) or "no jobs"
    return f"{jobs}. bastion {bastion}: {sign_of_life(shown.view)}."


def sign_of_life(view: View) -> str:
    """When the bastion ticked last, for people."""
    age = tick_age_s(view.status, view.now)
    if view.status is None or age is None:
        return "never seen"
    stopped = "stopped; " if view.status.state == "stopped" else ""
    halted = f"; {paused(view.state)}" if view.state.paused else ""
    return f"{stopped}last tick {short(age)} ago{halted}"


def run_s(attempt: Attempt, now: datetime) -> float:
    """Seconds that an attempt has run, or ran."""
    return max(0.0, ((ended_at(attempt) or now) - (attempt.running or attempt.started)).total_seconds())


def where(attempt: Attempt) -> str:
    """Where an attempt runs: `local/127.0.0.1`, `tpu/10.0.0.7+3`."""
    addresses = [worker.address for worker in attempt.workers if worker.address]
    more = f"+{len(addresses) - 1}" if len(addresses) > 1 else ""
    return "/".join([attempt.runner, *addresses[:1]]) + more


def tries(job: Job) -> str:
    """Which of the user's tries it is: `1/5`; nothing for an array, whose tasks have their own."""
    if job.count > 1:
        return ""
    task = job.tasks.get(0)
    if not task or not task.attempts:
        return f"0/{job.max_tries}"
    over = job.state is JobState.FAILED and task.failures  # by the crash guard also before all tries are used up
    begun = task.failures if over else min(task.failures + 1, job.max_tries)
    return f"{begun}/{job.max_tries}"


def _resources(shown: Row) -> str:
    each = resources.text(shown["resources"])
    return each if shown["num_replicas"] == 1 else f"{shown['num_replicas']}x{each}"


def state_text(shown: Row) -> str:
    """`RUNNING`, and of an array how many tasks: `RUNNING(3/100)`."""
    state: str = shown["state"]
    return state if shown["count"] == 1 else f"{state}({shown['tasks'].get(state, 0)}/{shown['count']})"
