"""Describe what new settings change, and for whom, in lines for the people who edit them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bastion.quota.quota import Quota
from bastion.quota.resources import total

from ..model.codec import whole
from ..model.settings.config import Config
from ..model.state.state import State
from ..schedule.runner_choice import places
from ..schedule.usage import held


def diff(old: Config, new: Config) -> list[str]:
    """Return one line for each setting that differs."""
    pairs = ((key, getattr(old, key), getattr(new, key)) for key in new.__struct_fields__)
    return [f"{key}: {whole(was)} -> {whole(now)}" for key, was, now in pairs if was != now]


def affected(state: State, old: Config, new: Config) -> list[str]:
    """Return one line for each person and each kind of machine that the change affects."""
    return [*_admins(old, new), *_capacity(state, old, new), *_placing(state, old, new), *_jobs(old, new)]


def _admins(old: Config, new: Config) -> Iterator[str]:
    for user in old.admins:
        if user not in new.admins:
            yield f"{user}: no longer an admin; may stop only their own jobs"
    for user in new.admins:
        if user not in old.admins:
            yield f"{user}: an admin from now on; may stop everybody's jobs"


def _capacity(state: State, old: Config, new: Config) -> Iterator[str]:
    runners = [key for key in ("runners", "runner_options", "google") if getattr(old, key) != getattr(new, key)]
    if old.capacity == new.capacity and not runners:
        return
    yield "changes to capacity, runners and google take effect after a restart"
    used = total(held(state, Quota.open()).values())
    for kind in old.capacity:
        if new.capacity and used.get(kind, 0) > new.capacity.get(kind, 0):
            yield f"{kind}: jobs hold {used[kind]}, more than the new capacity of {new.capacity.get(kind, 0)}"


def _placing(state: State, old: Config, new: Config) -> Iterator[str]:
    if (old.runners, old.placing) == (new.runners, new.placing):
        return
    there = places(state, new)
    for runners, kinds in there.shared().items():
        yield f"{', '.join(kinds)}: {' and '.join(runners)} have it, only {runners[0]} gives it; placing can name another"
    moved = Counter[tuple[int, str, str]]()
    for _, job, attempt in state.live_attempts():
        if attempt.runner not in (gives := there.runners_at(job.resources, attempt.tier)):
            moved[attempt.tier, attempt.runner, " or ".join(gives) or "no runner"] += 1
    for (tier, runner, now), number in sorted(moved.items()):
        stay, count = (f"{number} attempts stay", "count") if number > 1 else ("1 attempt stays", "counts")
        yield f"tier {tier}: {stay} on {runner} and {count} as use of {now}, which gives it from now on"


def _jobs(old: Config, new: Config) -> Iterator[str]:
    for key in ("run_as", "job_limits"):
        if getattr(old, key) != getattr(new, key):
            yield f"{key}: changes take effect after a restart; until then jobs start as before"
