"""Track which jobs wait for which image build, and what its end means for them. Pure but for the state it changes."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.errors import IllegalMove
from ..model.interfaces import Built
from ..model.job.image_ref import log_link
from ..model.job.spec import BundleRef
from ..model.state.state import Job, JobState, State
from ..model.stored.events import ImageBuilt, Lapsed


def enter(state: State, job: Job, bundle: BundleRef) -> None:
    """Let the job wait for the build of its bundle, if its image has no digest yet."""
    if bundle.build and not bundle.digest:
        job.build = bundle.build
        state.builds.setdefault(bundle.build, {})[job.id] = bundle.image


def leave(state: State, job: Job) -> None:
    """Stop waiting for a build."""
    if job.build:
        waiting = state.builds[job.build]
        del waiting[job.id]
        if not waiting:
            del state.builds[job.build]
        job.build = ""


def built(state: State, event: ImageBuilt, *_at: int) -> None:
    """Give the job its image.

    It counts as waiting only from now on. So other jobs get time to end by themselves before they are stopped for it.
    """
    job = state.jobs.get(event.job)
    if job is None or not job.build:
        raise IllegalMove(f"{event.job} waits for no build")
    assert state.now is not None
    leave(state, job)
    job.digest, job.since = event.digest, state.now


def ended(state: State, build: str, end: Built) -> Iterator[ImageBuilt | Lapsed]:
    """Yield what the end of a build means for the jobs that wait for it."""
    for job, name in tuple(state.builds.get(build, {}).items()):
        if digest := end.images.get(name):
            yield ImageBuilt(job=job, digest=digest)
        else:
            told = end.problem or f"it made no {name}"
            reason = f"its image could not be built: {told}; log: {log_link(build)}"
            yield Lapsed(job=job, outcome=JobState.FAILED, reason=reason)
