"""Reads off what a play of a scenario came to: of the journal's events, and of what lies in the bucket."""

from __future__ import annotations

from collections import defaultdict

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.stored.events import (
    CancelRequested,
    Ended,
    Forgotten,
    Held,
    JobRejected,
    Paused,
    Released,
    RequestRejected,
    Resumed,
    Started,
    Submitted,
    Topped,
    Updated,
)
from bastion.model.stored.status import Status
from tests.simulation.crashes.outcome import Log, Outcome, WorkerKey
from tests.simulation.crashes.stage import Stage

_OF_REQUESTS = (
    Submitted,
    JobRejected,
    RequestRejected,
    CancelRequested,
    Held,
    Released,
    Topped,
    Updated,
    Paused,
    Resumed,
)


def outcome(stage: Stage) -> Outcome:
    """What a play came to."""
    found, truth = Outcome(), stage.laws.truth
    for event in stage.events:
        if isinstance(event, _OF_REQUESTS):
            found.requests.append((event.request, type(event).__name__, getattr(event, "job", "")))
        match event:
            case Started():
                found.began.add(event.key)
            case Ended():
                found.causes[event.job, event.task].append(event.cause)
            case Forgotten():
                found.forgotten |= set(event.jobs)
    for job in truth.jobs.values():
        found.tasks |= {(job.id, number): job.task_state(number) for number in range(job.count)}
        found.held |= {job.id} if job.held else set()
    found.paused = truth.paused is not None
    found.files = {name: (file.text, file.problem) for name, file in truth.files.items()}
    found.keys = sorted(stage.store.objects)
    found.logs = _logs(stage)
    found.machines = [name for name, host in stage.hosts.items() if host.there]
    status = decode(stage.store.objects[layout.STATUS][0], Status, layout.STATUS)
    found.problems = list(status.problems)
    if status.epoch != truth.epoch:
        found.problems.append(f"status.json is of epoch {status.epoch}, the journal of {truth.epoch}")
    return found


def _logs(stage: Stage) -> dict[WorkerKey, Log]:
    logs: dict[WorkerKey, Log] = defaultdict(Log)
    for key in sorted(stage.store.objects):
        prefix, _, number = key.rpartition("/")
        named = layout.worker_of(prefix) if key.startswith(layout.LOGS) else None
        if named is None:
            continue
        log, data = logs[named], stage.store.objects[key][0]
        following = sum(other.startswith(f"{prefix}/") and other < key for other in stage.store.objects)
        log.gaps |= int(number.removesuffix(".log")) != following or log.ended
        log.text += data.decode()
        log.ended = not data
    return dict(logs)
