"""Select jobs by words of the command line: names, ids and patterns, together with a filter. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import translate

from bastion.model.errors import JobNotFound, UsageError
from bastion.model.state.state import JobState

from .job_lookup import FoundJob, found_of
from .view import LIVE, JobFilter, Known, View

PATTERN_MAX = 200
_PATTERN = re.compile(r"[*?]|\[[^\]]*[^0-9\]][^\]]*\]")


def is_pattern(word: str) -> bool:
    """Return True for `sweep-*`, `run-?` and `run-[ab]`. `sweep[3]` is no pattern, but task 3 of a job."""
    return _PATTERN.search(word) is not None


def chosen(
    words: Sequence[str], view: View, meant: JobFilter, named: Callable[[str], FoundJob], *, user: str | None
) -> tuple[FoundJob, ...]:
    """Return the jobs that the words name and `meant` matches, each once; without words, all live jobs that match.

    `named` finds the job of a word that is no pattern, or raises `JobNotFound`. A name or id selects that job of any user.
    A pattern is compared with the names and ids of jobs that have not ended. These are jobs of `user`, unless `meant`
    names users; a `user` of None means all users. Raises `JobNotFound`, `UsageError`.
    """
    scope = replace(meant, users=meant.users or (frozenset({user}) if user else None), states=_live(meant))
    everything: list[Known] = [*view.state.jobs.values(), *view.unread]
    live = [found_of(known) for known in everything if scope.matches(known)]
    jobs: dict[tuple[str, int | None], FoundJob] = {}
    for word in words:
        for found in _matching(word, live) if is_pattern(word) else _if_meant(named(word), meant):
            jobs[found.id, found.task] = found
    found_all = tuple(jobs.values()) if words else tuple(live)
    if not found_all:
        whose = f" of {user}" if user and meant.users is None else ""
        raise JobNotFound(f"no job{whose} that has not ended matches; see launch ls --all")
    return found_all


def _live(meant: JobFilter) -> frozenset[JobState]:
    states = meant.states or LIVE
    if not states & LIVE:
        raise UsageError(f"a job that is {' or '.join(sorted(states))} has ended; ask for {', '.join(sorted(LIVE))}")
    return states & LIVE


def _if_meant(found: FoundJob, meant: JobFilter) -> Iterator[FoundJob]:
    if meant.matches(found.known):
        yield found


def _matching(pattern: str, live: Sequence[FoundJob]) -> list[FoundJob]:
    if len(pattern) > PATTERN_MAX:
        raise UsageError(f"a pattern of {len(pattern)} characters; at most {PATTERN_MAX} are allowed")
    matches = re.compile(translate(pattern)).match
    jobs = [found for found in live if matches(found.name) or matches(found.id)]
    if not jobs:
        raise JobNotFound(f"no selected job that has not ended matches {pattern!r}; see launch ls")
    return jobs
