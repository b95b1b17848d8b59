"""The status of a bastion, and what its last one means at the present time. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..codec import AuditEntry, Moment, Record, numbered, readable, since
from ..version import STATUS

SILENCE_S = 30.0
SILENT_POLLS = 10
RUNNING = "running"
STOPPED = "stopped"
UNKNOWN = "unknown"
ROOT = "root"
NO_ROOM = (
    "no room is left on the disk of the bucket, or in the disk quota of the bastion's account; "
    "make some, and the bastion goes on by itself"
)


class Status(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`status.json`: the bastion's heartbeat, swapped at most every 5 s. `epoch` and `nonce` fence.

    schema: the number of this form.
    name: the bastion's name.
    state: running or stopped.
    epoch: number of its leadership.
    nonce: new in every status.
    pid: its process.
    host: its machine.
    boot: the boot of that machine; process ids mean something only within it.
    version: its version.
    seq: number after the newest journal object that is written.
    ticks: number of its ticks so far.
    written: wall time of this status.
    last_tick: wall time of its last tick.
    poll_s: seconds between two ticks.
    counts: number of tasks in each state, of jobs that have not ended.
    capacity: what the runners report together.
    problems: what an admin should know, the worst first.
    paused: who paused it, and since when; while it is paused nothing starts. None: it is not paused.
    quota: a quota file is in force, even if the file is no longer there.
    limited: users who reached a limit, each with the reason; only their cancel requests are read now.
    account: the bastion's account on its host.
    jobs_as: the account of jobs' processes.
    offers: the kinds of each runner that reported; null: it names none, so maybe it has any.
    head: digest of the newest journal object; "" if it is not known.
    """

    schema: int = numbered(STATUS)
    name: str
    state: str
    epoch: int
    nonce: str
    pid: int
    host: str
    boot: str
    version: str
    seq: int
    ticks: int
    written: Moment
    last_tick: Moment
    poll_s: float
    counts: dict[str, int]
    capacity: dict[str, int]
    problems: list[str]
    paused: AuditEntry | None = None
    quota: bool = False
    limited: dict[str, str] = {}
    account: str = ""
    jobs_as: str = ""
    offers: dict[str, list[str] | None] = {}
    head: str = ""


readable(Status)


def word(status: Status | None, *, now: datetime, died: bool) -> str:
    """Return one word: running, stopped, or unknown if the bastion has been silent for too long.

    `died`: its process was on this machine and is certainly gone. A bastion that never started is stopped.
    """
    if status is None or died:
        return STOPPED
    if status.state != STOPPED and age(status.written, now) > max(SILENCE_S, SILENT_POLLS * status.poll_s):
        return UNKNOWN
    return status.state


def problems(status: Status | None, *, now: datetime, died: bool, full: bool = False) -> list[str]:
    """Return what is wrong: what the bastion reports, and what its silence means.

    `full`: the bucket has no room for a new status.
    """
    if status is None:
        return ["the bastion has never started; run bastion create"]
    said = list(status.problems)
    if died:
        return [f"pid {status.pid} ended without a last status; start it again with bastion create", *said]
    if word(status, now=now, died=died) == UNKNOWN:
        silent = f"pid {status.pid} on {status.host} has been silent for {age(status.written, now):.0f} s"
        if full:
            return [f"{silent}: {NO_ROOM}", *said]
        return [f"{silent}; look at that machine, or start another with bastion start", *said]
    return [NO_ROOM, *said] if full and status.state != STOPPED else said


def accounts(status: Status | None) -> str:
    """Describe the account that jobs run under, and what it lets them do; empty if it is not known."""
    if status is None or not status.jobs_as:
        return ""
    if status.jobs_as != status.account:
        return f"{status.jobs_as}, and the bastion as {status.account}"
    reach = "do everything on the machine" if status.jobs_as == ROOT else "read its files and its credentials"
    return f"{status.jobs_as}, as the bastion itself: a job can {reach}"


def age(then: datetime, now: datetime) -> float:
    """Return the seconds since then; 0 for a time in the future."""
    return max(0.0, (now - then).total_seconds())


def summary(name: str, status: Status | None, *, now: datetime, died: bool, full: bool = False) -> dict[str, Any]:
    """Return what `bastion status --json` prints. Ages are in seconds; null stands for values that are not known."""
    return {
        "name": name,
        "state": word(status, now=now, died=died),
        "epoch": status.epoch if status else 0,
        "pid": status.pid if status else None,
        "host": status.host if status else None,
        "ticks": status.ticks if status else 0,
        "last_tick_age_s": round(age(status.last_tick, now), 3) if status else None,
        "version": status.version if status else None,
        "poll_s": status.poll_s if status else None,
        "capacity": status.capacity if status else {},
        "counts": status.counts if status else {},
        "paused": {"user": status.paused.user, "since": since(status.paused)} if status and status.paused else None,
        "account": status.account if status else "",
        "jobs_as": status.jobs_as if status else "",
        "problems": problems(status, now=now, died=died, full=full),
    }
