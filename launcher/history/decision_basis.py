"""One decision in full: its inputs, its answer in the journal, and its answer when taken again. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import msgspec

from bastion.model.codec import encode
from bastion.model.state.state import JobState, State
from bastion.model.stored.events import AnyEvent, AttemptEvent
from bastion.quota import resources
from bastion.schedule.plan import current_capacity, inputs
from bastion.schedule.replay import RepeatedDecision

from ..read.job_rows import Row, rfc3339
from .job_history import WORDS

SHOWN = 20
"""Most rows of a list that are shown."""


@dataclass(frozen=True, slots=True)
class DecisionBasis:
    """One decision, described twice.

    row: values for scripts.
    lines: text for people.
    """

    row: Row
    lines: tuple[str, ...]


def told(each: RepeatedDecision, state: State) -> DecisionBasis:
    """Describe a decision. `state` is the one on which it was taken."""
    said, rested = each.difference, _rested(state)
    row = {
        "seq": each.seq,
        "event": each.index,
        "time": rfc3339(each.now),
        "epoch": each.epoch,
        "version": each.version,
        "difference": said.name.lower() if said else None,
        "rested_on": rested,
        "recorded": [msgspec.to_builtins(event) for event in each.written],
        "again": [msgspec.to_builtins(event) for event in each.again.events],
    }
    lines = (
        f"decision  in journal object {each.seq}, event {each.index}, of {rfc3339(each.now)}",
        f"taken by  bastion/{each.epoch}, version {each.version}",
        f"replayed  {said or 'equal, bit for bit'}",
        *_on(rested),
        *_listed("waiting", [_waits(one) for one in rested["waiting"]]),
        *_listed("holding", [_holds(one) for one in rested["holding"]]),
        *_answers(each),
    )
    return DecisionBasis(row, lines)


def _rested(state: State) -> Row:
    found = inputs(state)
    return {
        "policy": found.config.policy,
        "pool": [dict(tier) for tier in current_capacity(state, found).tiers],
        "paused": str(state.paused) if state.paused else None,
        "reclaims": list(state.reclaims),
        "files": {name: {"version": file.version, "text": file.text} for name, file in sorted(state.files.items())},
        "waiting": list(_waiting(state)),
        "holding": list(_holding(state)),
    }


def _waiting(state: State) -> Iterator[Row]:
    for job in (state.jobs[job_id] for job_id in state.pending):
        yield {
            "job": job.id,
            "user": job.user,
            "project": job.project,
            "priority": job.priority,
            "resources": dict(job.demand),
            "tasks": job.counts.get(JobState.PENDING, 0),
            "since": rfc3339(job.since),
            "held": job.held is not None,
        }


def _holding(state: State) -> Iterator[Row]:
    for key, job, attempt in state.live_attempts():
        yield {
            "job": job.id,
            "task": key.task,
            "attempt": key.attempt,
            "user": job.user,
            "project": job.project,
            "priority": job.priority,
            "resources": dict(job.demand),
            "tier": attempt.tier,
            "since": rfc3339(attempt.started),
            "state": attempt.state.value,
        }


def _on(rested: Row) -> Iterator[str]:
    capacity = " then ".join(resources.text(tier) for tier in rested["pool"])
    files = [f"{name} file of version {file['version'] or '-'}" for name, file in rested["files"].items()]
    yield f"inputs    {', '.join(['policy ' + rested['policy'], 'capacity ' + capacity, *files])}"
    if rested["paused"]:
        yield f"          {rested['paused']}"
    if rested["reclaims"]:
        yield f"          resources are being freed for {', '.join(rested['reclaims'][:SHOWN])}"


def _waits(one: Row) -> str:
    tasks = f" x {one['tasks']} tasks" if one["tasks"] > 1 else ""
    return f"{_who(one)}{tasks}, priority {one['priority']}, since {one['since']}{', held' if one['held'] else ''}"


def _holds(one: Row) -> str:
    return f"{_who(one)}, task {one['task']} attempt {one['attempt']}, {one['state']} on tier {one['tier']} since {one['since']}"


def _who(one: Row) -> str:
    return f"{one['project']}: {one['user']}/{one['job']} {resources.text(one['resources'])}"


def _answers(each: RepeatedDecision) -> Iterator[str]:
    """Yield both answers: once where they agree, else as `diff` shows them."""
    recorded = [_word(event) for event in each.written]
    # The journal may lack the end of a large answer; only what it holds is compared.
    again = [_word(event) for event in each.again.events[: len(recorded)] or each.again.events]
    lines: list[str] = []
    for old, new in zip_longest(recorded, again):
        if old == new:
            lines.append(f"  {old}")
        else:
            lines += [f"{sign} {one}" for sign, one in (("-", old), ("+", new)) if one]
    return _listed("answer", lines or ["nothing starts, nothing stops"])


def _word(event: AnyEvent) -> str:
    if isinstance(event, AttemptEvent):
        return f"{event.job} task {event.task} attempt {event.attempt} {WORDS[type(event)](event)}"
    return encode(event).decode()


def _listed(word: str, lines: Sequence[str]) -> Iterator[str]:
    shown = [*lines[:SHOWN], *([f"and {len(lines) - SHOWN} more: --json"] if len(lines) > SHOWN else [])]
    yield from (f"{word if not number else '':<10}{line}" for number, line in enumerate(shown))
