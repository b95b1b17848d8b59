"""Find what is old enough to remove: bundles that no job needs, logs and outputs of jobs that have ended. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from ..model.errors import UsageError
from ..model.interfaces import Stat
from ..model.layout import BASTION_LOG, LOGS, OUTPUTS
from ..model.settings.config import Config
from ..model.state.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionDays:
    """The days for which objects are kept; 0 means for ever.

    bundles_days: for bundles.
    logs_days: for logs.
    outputs_days: for outputs.
    """

    bundles_days: int
    logs_days: int
    outputs_days: int = 0


def term(
    config: Config, *, bundles_days: int | None = None, logs_days: int | None = None, outputs_days: int | None = None
) -> RetentionDays:
    """Return the days that the settings give, unless they are given here. Raises `UsageError`.

    A launch uploads a bundle again if it is older than half its days: so it can count on a younger one.
    """
    said = RetentionDays(
        bundles_days=config.bundles_days if bundles_days is None else bundles_days,
        logs_days=config.logs_days if logs_days is None else logs_days,
        outputs_days=config.outputs_days if outputs_days is None else outputs_days,
    )
    for name in ("bundles_days", "logs_days", "outputs_days"):
        if not 0 <= (days := getattr(said, name)) <= 36_500:
            raise UsageError(f"--{name} is {days}; use a whole number of days, 0 to keep them for ever")
    if 0 < said.bundles_days < config.bundles_days / 2 or (said.bundles_days and not config.bundles_days):
        kept = f"{config.bundles_days} days" if config.bundles_days else "ever"
        raise UsageError(
            f"--bundles_days is {said.bundles_days}, but launch expects bundles to be kept for {kept}; "
            f"first run: bastion config set retention.bundles_days={said.bundles_days}"
        )
    return said


def old_bundles(stats: Iterable[Stat], days: int, now: datetime) -> list[Stat]:
    """List the bundles that are older than this many days."""
    return [stat for stat in stats if is_old(stat, days, now)]


def old_logs(stats: Iterable[Stat], days: int, now: datetime, state: State) -> Iterator[Stat]:
    """List the segments of logs whose newest segment is older than this, and whose job, or bastion, is not at work.

    `stats` are in the order of their keys. Only whole logs are listed: a log with a gap at its beginning is damaged.
    """
    for log, segments in groupby(stats, _log):
        listed = list(segments)
        if not lives(log, state) and all(is_old(stat, days, now) for stat in listed):
            yield from listed


def old_outputs(
    stats: Iterable[Stat], days: int, now: datetime, state: State, in_use: Collection[str]
) -> Iterator[Stat]:
    """List the files of output folders in which nothing is younger than this, and which no open job uses.

    `stats` are in the order of their keys. Only whole folders are listed: a checkpoint with missing files is useless.
    `in_use` are prefixes of keys that open jobs name as their folders: a job may go on from the checkpoints of another.
    """
    for folder, files in groupby(stats, _task_of):
        listed = list(files)
        job = state.jobs.get(folder.removeprefix(OUTPUTS).split("/", 1)[0])
        is_open = job is not None and job.ended is None
        is_used = any(folder.startswith(used) or used.startswith(folder) for used in in_use)
        if not is_open and not is_used and all(is_old(stat, days, now) for stat in listed):
            yield from listed


def _task_of(stat: Stat) -> str:
    """Return `outputs/<job>/<task>/`. A file that lies elsewhere below `outputs/` counts as in a folder of its own."""
    return "/".join(stat.key.split("/")[:3]) + "/"


def lives(log: str, state: State) -> bool:
    """Return True if this log may still be written, or may be read for a job that still runs."""
    if log.startswith(BASTION_LOG):
        return log.removeprefix(BASTION_LOG).rstrip("/") == f"{state.epoch:06d}"
    job = state.jobs.get(log.removeprefix(LOGS).split("/", 1)[0])
    return job is not None and job.ended is None


def is_old(stat: Stat, days: int, now: datetime) -> bool:
    """Return True if the store received it more than this many days ago."""
    return days > 0 and now - stat.modified > timedelta(days=days)


def _log(stat: Stat) -> str:
    return stat.key[: stat.key.rfind("/") + 1]
