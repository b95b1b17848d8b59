"""Start conditions of a job: turn job names into ids, as a name may mean another job tomorrow; and show them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from datetime import datetime

from bastion.model.errors import SpecError
from bastion.model.job.spec import JobSpec
from bastion.model.job.start_conditions import Condition, condition
from bastion.model.state.job_dependencies import faults, in_vain, verdict
from bastion.model.wording import clock

from ..read.job_lookup import FoundJob


def resolved(texts: Iterable[str], look_up: Callable[[str], FoundJob], known: Container[str]) -> list[str]:
    """Return the conditions with the ids of their jobs.

    `known` holds the ids of the jobs that the bastion still has. A condition is dropped if it is met and its job has
    left the bastion. Raises `SpecError`, also for a condition that can never be met, and `JobNotFound`.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return list(dict.fromkeys(found for word in words if (found := _resolved(word, look_up, known))))


def when(spec: JobSpec, now: datetime) -> str:
    """Return the start and the end in words; "" for most jobs.

    Example: `starts after ok:prep-0d4af07e, not before 14:00 UTC, in 2h; ends by 18:00 UTC, in 6h`.
    """
    starts = [f"after {', '.join(spec.after)}"] if spec.after else []
    starts += [f"not before {clock(spec.begin, now)}"] if spec.begin else []
    parts = [f"starts {', '.join(starts)}"] if starts else []
    parts += [f"ends by {clock(spec.deadline, now)}"] if spec.deadline else []
    return "; ".join(parts)


def _resolved(word: str, look_up: Callable[[str], FoundJob], known: Container[str]) -> str:
    wanted = condition(word)
    if wanted is None:
        raise SpecError(f"--after is {word[:64]!r}; use ok:JOB, any:JOB or fail:JOB, or of an array's task ok:JOB[17]")
    found = look_up(str(wanted).partition(":")[2])
    wanted = Condition(wanted.kind, found.id, found.task)
    job = found.job
    if job is None:
        return str(wanted)
    if wrong := "; ".join(faults([wanted], "", {job.id: job})):
        raise SpecError(wrong)
    met = verdict(wanted, job)
    if met is False:
        raise SpecError(in_vain({job.id: job}, str(wanted)))
    return "" if met and job.id not in known else str(wanted)
