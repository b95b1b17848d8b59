"""Select the jobs that a command line means with `-u`, `-p`, `-s` and `--since`."""

from __future__ import annotations

from datetime import datetime

from bastion.launcher.moments import moment
from bastion.launcher.read.job_selection import Filter, states, words
from bastion.model.errors import UsageError

from ..terminal.main import Call


def named(call: Call, now: datetime) -> Filter:
    """Return the filter that the flags set, and nothing else. Raises `UsageError`."""
    flags = call.flags
    return Filter(
        users=words(flags["user"]),
        projects=words(flags["project_id"]),
        states=states(flags["state"]),
        since=moment(flags["since"], now) if flags["since"] else None,
    )


def limit_of(call: Call) -> int | None:
    """Return the largest number of jobs to show; None for all. Raises `UsageError`."""
    limit = call.flags["limit"]
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}; use 1 or more")
    return None if limit is None else int(limit)
