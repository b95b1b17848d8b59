"""List what a new quota would change for the jobs, projects and users as they are now. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, plus, text, times

from ..model.state.state import Job, State
from .usage import held, shares

STOP_AFFECTED = "--stop_affected"


def affected(state: State, old: Quota, new: Quota) -> list[str]:
    """Return one line, for the admin, for each job, project and user that the change from `old` to `new` affects."""
    open_jobs = [job for job in state.jobs.values() if job.ended is None]
    return [
        *(line for job in open_jobs for line in _job(state, job, old, new)),
        *_projects(state, old, new),
        *_users(state, old, new),
    ]


def _job(state: State, job: Job, old: Quota, new: Quota) -> Iterator[str]:
    who = f"job {job.id} of {job.user}"
    if old.admits(job.user, job.project) and not new.admits(job.user, job.project):
        yield f"{who}: no longer a member of {job.project}; {_left(state, job)}"
    if old.grants(job.project, job.job_class) and not new.grants(job.project, job.job_class):
        yield f"{who}: {job.project} may no longer have {job.job_class} jobs; what runs goes on, what waits stays waiting"
    if fits(job.demand, _bound(old, job)) and not fits(job.demand, _bound(new, job)):
        yield f"{who}: needs {text(job.demand)}, more than the new total of {text(new.total())}"
    if not _over(job.demand, old.user_limit(job.project)) and _over(job.demand, new.user_limit(job.project)):
        yield f"{who}: needs {text(job.demand)}, more than each user of {job.project} may hold from now on"


def _left(state: State, job: Job) -> str:
    """Say what happens to a job whose user left its project."""
    tasks = len(state.live.get(job.id, ()))
    waits = "its waiting tasks stay waiting" if job.id in state.pending else ""
    if not tasks:
        return f"it stays waiting; {STOP_AFFECTED} ends it"
    held = (
        f"{tasks} tasks run and hold {text(times(job.demand, tasks))}"
        if tasks > 1
        else f"it runs and holds {text(job.demand)}"
    )
    return f"{held}, from now on as borrowed{f', {waits}' if waits else ''}; {STOP_AFFECTED} ends it"


def left(state: State, new: Quota) -> list[Job]:
    """Return the jobs that have not ended and whose users are no members of their projects under the new quota."""
    return [job for job in state.jobs.values() if job.ended is None and not new.admits(job.user, job.project)]


def _bound(quota: Quota, job: Job) -> Resources:
    """Return the total where it limits the job. A kind that the file does not name is limited by machines only."""
    return {**job.demand, **quota.total()}


def _over(used: Resources, limit: Resources) -> dict[str, int]:
    """Return the kinds that are used beyond the limit, each with the limit."""
    return {kind: most for kind, most in limit.items() if used.get(kind, 0) > most}


def _projects(state: State, old: Quota, new: Quota) -> Iterator[str]:
    before, after = shares(state, old), shares(state, new)
    had, has = held(state, old), held(state, new)
    # Not the holders of `had` and `has`: the lines of their jobs already report users who left a project.
    for project in sorted({job.project for _, job, _ in state.live_attempts()}):
        used, was = has.get(project, {}), before.borrowed(project, had.get(project, {}))
        for kind, now in after.borrowed(project, used).items():
            if now > was.get(kind, 0):
                units = after.units(project).get(kind, 0)
                yield f"project {project}: holds {used[kind]} {kind} and would be promised {units}; {now} can be reclaimed"


def _users(state: State, old: Quota, new: Quota) -> Iterator[str]:
    found: dict[tuple[str, str], Resources] = {}
    for _, job, _ in state.live_attempts():
        found[job.project, job.user] = plus(found.get((job.project, job.user), {}), job.demand)
    for (project, user), used in sorted(found.items()):
        was = _over(used, old.user_limit(project))
        for kind, most in _over(used, new.user_limit(project)).items():
            if was.get(kind) != most:
                yield f"user {user}: holds {used[kind]} {kind} of {project}, and may hold {most}; what runs goes on"
