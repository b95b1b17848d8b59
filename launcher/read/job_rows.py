"""Jobs as rows. Pure.

For people: the queue, one line for each job, with why it waits or where it runs; also wide, and as CSV. For scripts:
plain values in the shape of `launch ls --json`. Gaps of the journal have rows, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bastion.journal.attempts import shape
from bastion.journal.control import why_held, why_paused
from bastion.model.durations import short
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import JobSpec
from bastion.model.layout import job_id
from bastion.model.state.state import Attempt, AttemptState, Cause, Job, JobState
from bastion.model.stored.journal_object import Gap
from bastion.quota import resources

from .view import JobFilter, Known, View, newest, not_read_yet, submitted, tick_age_s

Row = dict[str, Any]

HEADS = ("JOB", "USER", "PROJECT", "PRI", "RESOURCES", "STATE", "AGE", "RUN", "TRY", "WHY / WHERE")
RIGHT = frozenset({"PRI", "AGE", "RUN"})
SPARE = ("TRY", "PRI", "RUN", "RESOURCES", "AGE", "PROJECT", "USER")
"""Columns that a narrow terminal omits, in this order."""
CAPS = {"USER": 12, "PROJECT": 12, "RESOURCES": 14}

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


def queue(
    view: View, reasons: Mapping[str, str], *, user: str, meant: JobFilter, limit: int | None = None
) -> QueueView:
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
    halted = f"; {why_paused(view.state)}" if view.state.paused else ""
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
        row, (last, ended, attempts) = shown.row(known), _attempts_of(known)
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
    row, (last, ended, attempts) = shown.row(known), _attempts_of(known)
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


def _attempts_of(known: Known) -> tuple[Attempt | None, datetime | None, int]:
    """Return the newest attempt, the end of the job, and the number of attempts."""
    if not isinstance(known, Job):
        return None, None, 0
    return newest_attempt(known), known.ended, sum(len(task.attempts) for task in known.tasks.values())


def _started(last: Attempt | None) -> str | None:
    return rfc3339(last.running or last.started) if last else None


def row(job: Job, reason: str) -> Row:
    """Return the row of a job that the bastion has read. `reason` is why the job is pending, or empty."""
    return {
        "id": job.id,
        "name": job.name,
        "user": job.user,
        "project": job.project,
        "priority": job.priority,
        "resources": dict(job.resources),
        "num_replicas": job.replicas,
        **_choices(job.choices),
        "count": job.count,
        **({"labels": dict(job.labels)} if job.labels else {}),
        "state": job.state.value,
        "reason": reason_of(job, reason),
        "submitted": rfc3339(job.came),
        "tasks": {state.value: number for state, number in sorted(job.counts.items()) if number},
        "attempts": [_attempt(job, n, a) for n, task in sorted(job.tasks.items()) for a in task.attempts],
    }


def unread_row(spec: JobSpec, request_id: str, submitted: datetime, reason: str) -> Row:
    """Return the row of a job whose request the bastion has not read yet. Such a job is pending."""
    return {
        "id": job_id(spec.name, request_id),
        "name": spec.name,
        "user": spec.user,
        "project": spec.project,
        "priority": spec.priority,
        "resources": dict(spec.resources),
        "num_replicas": spec.replicas,
        **_choices(spec.choices if spec.alternatives else ()),
        "count": spec.count,
        **({"labels": dict(spec.labels)} if spec.labels else {}),
        "state": JobState.PENDING.value,
        "reason": reason,
        "submitted": rfc3339(submitted),
        "tasks": {JobState.PENDING.value: spec.count},
        "attempts": [],
    }


def _choices(choices: Sequence[Alternative]) -> Row:
    """Return the shapes of a job that lists several, best first; nothing for other jobs."""
    shapes = [{"resources": dict(choice.resources), "num_replicas": choice.replicas} for choice in choices]
    return {"choices": shapes} if shapes else {}


def reason_of(job: Job, derived: str) -> str:
    """Return one line that says what the job waits for, or how it ended; empty if there is nothing to say.

    `derived` is the reason from the decision, if there is one.
    """
    last = newest_attempt(job)
    match job.state:
        case JobState.PENDING:
            return _tasks(job) + (derived or job.reason or "not decided yet")
        case JobState.REJECTED:
            return job.reason
        case JobState.RUNNING | JobState.PROVISIONING:
            if derived and job.counts.get(JobState.PENDING):
                return _tasks(job) + derived
            if last and (last.waits_for or derived):
                return last.waits_for or derived
            return f"runs on, and is not started again: {why_held(job)}" if job.held else ""
        case JobState.PREEMPTING | JobState.CANCELLING:
            return (last.reason if last else "") or job.reason
        case JobState.CANCELLED:
            return f"cancelled by {job.cancelled_by}" if job.cancelled_by else job.reason
        case _:
            return job.reason or (ended_text(last) if last else "")


def _tasks(job: Job) -> str:
    """Return how many tasks of an array a reason is about, as the beginning of a sentence; empty for a plain job."""
    return f"{job.counts.get(JobState.PENDING, 0)} of {job.count} tasks wait: " if job.count > 1 else ""


def ended_at(attempt: Attempt) -> datetime | None:
    """Return when the attempt was over; None while it lives.

    That is when its last process ended, as the workers reported it, but not after the bastion recorded the end.
    """
    return attempt.ended and min(attempt.ended, attempt.finished or attempt.ended)


def ended_text(attempt: Attempt) -> str:
    """Return how an attempt ended or is about to end: the bastion's reason, or else the cause. Empty if all is well."""
    cause = attempt.cause or attempt.stopping
    if attempt.reason or cause is None:
        return attempt.reason
    return _CAUSES[cause].format(code=attempt.exit_code, signal=(attempt.exit_code or 128) - 128)


_CAUSES: Mapping[Cause, str] = {
    Cause.OK: "",
    Cause.CODE: "exit code {code}",
    Cause.SIGNAL: "killed by signal {signal}",
    Cause.OOM: "out of memory",
    Cause.TIME_LIMIT: "time limit passed",
    Cause.PREEMPTED: "preempted",
    Cause.CANCELLED: "cancelled",
    Cause.LOST: "machine lost",
    Cause.SETUP: "setup failed",
    Cause.VOID: "given up before it began",
    Cause.UPDATED: "replaced by a new command",
    Cause.DEADLINE: "deadline passed",
    Cause.STRAGGLED: "ran on after others had ended",
}


def newest_attempt(job: Job) -> Attempt | None:
    """Return the attempt that began last, of any task."""
    attempts = [task.attempts[-1] for task in job.tasks.values() if task.attempts]
    return max(attempts, key=lambda attempt: attempt.started, default=None)


def rfc3339(moment: datetime | None) -> str | None:
    """Format a time for scripts: `2026-01-31T09:30:00.250Z`."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _attempt(job: Job, task: int, attempt: Attempt) -> Row:
    return {
        "task": task,
        "attempt": attempt.number,
        "state": attempt.state.value,
        "cause": attempt.cause.value if attempt.cause else None,
        "started": rfc3339(attempt.started),
        "ended": rfc3339(ended_at(attempt)),
        "exit_code": attempt.exit_code if attempt.state is AttemptState.ENDED else None,
        "replicas": shape(job, attempt.choice).replicas,
        **({"resources": dict(shape(job, attempt.choice).resources)} if job.choices else {}),
    }


def gap_lines(gaps: Iterable[Gap]) -> list[str]:
    """Return one line for each gap: what cannot be read, and the time of the events that may be missing."""
    return [f"{_what_is_missing(hole)}; events {_when_written(hole)} may be missing" for hole in gaps]


def gap_rows(gaps: Iterable[Gap]) -> dict[str, list[Row]]:
    """Return `{"holes": [...]}` for scripts, or nothing if there are no gaps."""
    found = [
        {
            "first": hole.first,
            "last": hole.last,
            "problem": hole.problem,
            "after": rfc3339(hole.after),
            "before": rfc3339(hole.before),
        }
        for hole in gaps
    ]
    return {"holes": found} if found else {}


def _what_is_missing(hole: Gap) -> str:
    return hole.problem if hole.first == hole.last else f"{hole.problem}, and so are all up to object {hole.last}"


def _when_written(hole: Gap) -> str:
    if hole.after and hole.before:
        return f"between {rfc3339(hole.after)} and {rfc3339(hole.before)}"
    if hole.after:
        return f"after {rfc3339(hole.after)}"
    return f"before {rfc3339(hole.before)}" if hole.before else "of any time"
