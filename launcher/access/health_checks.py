"""Checks of a bastion's health. Each check takes gathered facts, and says what to do if something is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from bastion.model import layout
from bastion.model.clocks import HEAL, OFF_MAX_S, WriteTime, ahead, offset, words
from bastion.model.durations import short
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import State
from bastion.model.stored.status import RUNNING, Status, problems, word
from bastion.model.stored.status import accounts as told

RIGHTS = ("list", "create", "read", "replace", "delete")
OFF_S = 5.0
LATE_S = 30.0
"""Longest time that a status may be on its way to the store."""
SILENT = timedelta(seconds=60)
FRESHLY_ENDED = timedelta(minutes=5)
NAMED = 3

WorkerKey = tuple[AttemptKey, int]

_LOOKS = frozenset({"list", "read"})
_ALL = frozenset(RIGHTS)
_OF_USERS: Mapping[str, frozenset[str]] = {
    layout.INBOX: frozenset({"list", "create", "read"}),
    layout.BUNDLES: frozenset({"list", "create", "replace"}),
    layout.WATCH: frozenset({"create", "replace"}),
    layout.JOURNAL: _LOOKS,
    layout.SNAPSHOTS: _LOOKS,
    layout.ENDED: _LOOKS,
    layout.FACTS: _LOOKS,
    layout.LOGS: _LOOKS,
    layout.BASTION_LOG: _LOOKS,
    layout.OUTPUTS: _LOOKS,
    layout.ATTEMPTS: frozenset(),
    layout.BUILDS: frozenset(),
    layout.CLAIMS: frozenset(),
    layout.BEATS: frozenset(),
}
PREFIXES = tuple(_OF_USERS)
FILES = (layout.CONFIG, layout.QUOTA, layout.STATUS)


class HealthLevel(StrEnum):
    """The result of a check.

    OK: all is well.
    WARNING: something to look at.
    FAILED: something to repair.
    """

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    """One check with its result.

    level: how well it is.
    name: what was checked.
    found: what was found.
    advice: what to do; empty if all is well.
    """

    level: HealthLevel
    name: str
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The result of trying each right below a prefix.

    prefix: the prefix.
    url: URL of the bucket.
    refused: what the store answered, for each right that it refused.
    """

    prefix: str
    url: str
    refused: Mapping[str, str]


def rights(probe: Probe, *, user: str, admin: bool) -> Check:
    """Check the rights of the user below this prefix. An admin needs all rights, as the bastion does."""
    needed = _ALL if admin else _OF_USERS[probe.prefix.split("/", 1)[0] + "/"]
    name = f"rights on {probe.prefix}"
    lacking = [right for right in RIGHTS if right in needed and right in probe.refused]
    allowed = ", ".join(right for right in RIGHTS if right not in probe.refused) or "none"
    if not lacking:
        return Check(HealthLevel.OK, name, allowed if needed == _ALL else f"{allowed}; needed: {_words(needed)}")
    found = f"may not {_words(lacking)}: {probe.refused[lacking[0]]}"
    return Check(
        HealthLevel.FAILED,
        name,
        found,
        f"ask for the right of {user} to {_words(lacking)} below {probe.url}/{probe.prefix}",
    )


def readable(file: str, problem: str) -> Check:
    """Check that a file can be read if it exists. `problem` is empty if so."""
    if problem:
        return Check(HealthLevel.FAILED, f"rights on {file}", problem, f"ask for the right to read {file}")
    return Check(HealthLevel.OK, f"rights on {file}", "read")


def exclusive(url: str, wrong: Sequence[str], *, tried: bool) -> Check:
    """Check that the store creates exclusively. `wrong` lists the promises that it broke. `tried`: it was tested."""
    name = f"exclusive create in {url}"
    if not tried:
        return Check(HealthLevel.OK, name, "not tested: the test needs the rights to list, create, read and delete")
    if wrong:
        return Check(
            HealthLevel.FAILED, name, wrong[0], "move the bastion to another store; see bastion doctor --store"
        )
    return Check(HealthLevel.OK, name, "of several creators at the same time, one won")


def clock(moment: WriteTime | None) -> Check:
    """Compare this machine's clock with the store's. `moment` is None if no object could be written."""
    if moment is None:
        return Check(HealthLevel.OK, "clock", "not compared: nothing could be written")
    off = offset(moment)
    if abs(off) <= OFF_S:
        return Check(HealthLevel.OK, "clock", f"within {OFF_S:.0f} s of the store's")
    found = f"this machine's is {words(off)} the store's"
    level = HealthLevel.FAILED if abs(off) > OFF_MAX_S else HealthLevel.WARNING
    return Check(
        level,
        "clock",
        found,
        "set this machine's clock, for example by NTP; stores refuse requests that are 15 minutes off",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockFacts:
    """The facts on clocks.

    ours: a write by this machine, just now; None: not possible.
    host: name of this machine.
    theirs: time of the bastion's last status, by its own clock and by the store's; None: no status.
    their_host: host of that bastion.
    journalled: time of the journal's end; None: there is no journal.
    folder_s: seconds by which a folder's times are ahead of its file system.
    """

    ours: WriteTime | None
    host: str
    theirs: tuple[datetime, datetime] | None = None
    their_host: str = ""
    journalled: datetime | None = None
    folder_s: float = 0.0


def clocks(seen: ClockFacts, now: datetime) -> Iterator[Check]:
    """Find which clock is wrong: this machine's, the bastion's or the store's, or the journal's time.

    `now` is by the store's clock.
    """
    ours = offset(seen.ours) if seen.ours else 0.0
    theirs = _off_of(*seen.theirs) if seen.theirs else 0.0
    if seen.folder_s > OFF_MAX_S:
        found = (
            f"the folder dates {short(seen.folder_s)} ahead of its file system: a clock was ahead when it was written"
        )
        yield Check(HealthLevel.FAILED, "clock", found, HEAL)
        now -= timedelta(seconds=seen.folder_s)
    elif abs(ours) > OFF_S and abs(ours - theirs) <= LATE_S and seen.host != seen.their_host:
        found = f"the store's is {words(-ours)} this machine's and the bastion's on {seen.their_host}, which agree"
        yield Check(HealthLevel.FAILED, "clock", found, "set the clock of the store's server, for example by NTP")
    else:
        yield clock(seen.ours)
        if theirs and not (seen.host == seen.their_host and abs(ours - theirs) <= LATE_S):
            found = f"the bastion's on {seen.their_host} is {words(theirs)} the store's"
            advice = f"set the clock of {seen.their_host}, for example by NTP, and start the bastion again"
            yield Check(HealthLevel.FAILED if abs(theirs) > OFF_MAX_S else HealthLevel.WARNING, "clock", found, advice)
    if problem := ahead(seen.journalled, now):
        yield Check(HealthLevel.FAILED, "clock", problem.partition(";")[0], HEAL)


def _off_of(said: datetime, stored: datetime) -> float:
    """Return the seconds to add to the clock that showed `said` when an object was written, by the store's time of it.

    0 if the difference is small, or if a late arrival explains it.
    """
    off = (stored - said).total_seconds()
    return 0.0 if -OFF_S <= off <= LATE_S else off


def age(status: Status | None, *, now: datetime, died: bool) -> Check:
    """Check that the bastion lives."""
    if status is None:
        return Check(HealthLevel.FAILED, "bastion", "has never started", "run bastion create")
    seen = f"last seen {short((now - status.written).total_seconds())} ago"
    state = word(status, now=now, died=died)
    if state == RUNNING:
        return Check(HealthLevel.OK, "bastion", f"{state}, {seen}, pid {status.pid} on {status.host}")
    return Check(
        HealthLevel.WARNING, "bastion", f"{state}, {seen} as pid {status.pid} on {status.host}", "run bastion create"
    )


def troubles(status: Status | None, *, now: datetime, died: bool) -> Iterator[Check]:
    """Yield a failed check for each problem that the bastion itself reports."""
    for said in problems(status, now=now, died=died) if status else ():
        if said in status.problems:  # type: ignore[union-attr]
            yield Check(HealthLevel.FAILED, "problem of the bastion", said, "see bastion logs")


def accounts(status: Status | None, url: str) -> Iterator[Check]:
    """Check the account of jobs' processes. Each user can do on the bastion's host what that account can."""
    if status is None or not (found := told(status)):
        return
    shared = not url.startswith(("file://", "memory://"))  # on one machine users have that account, or are trusted
    if shared and status.jobs_as == status.account:
        advice = "start the bastion as root and let jobs run as another (run_as); see docs/run/secrets.md"
        yield Check(HealthLevel.WARNING, "jobs run as", found, advice)
    else:
        yield Check(HealthLevel.OK, "jobs run as", found)


def damaged(what: str, problem: str) -> Check:
    """Return the failed check of an object of the bastion that cannot be read."""
    return Check(
        HealthLevel.FAILED,
        what.rstrip("/"),
        problem,
        f"put {what} back as it was, from the store's versions or a backup",
    )


def versions(client: str, status: Status | None, workers: Iterable[str]) -> Check:
    """Check that client, bastion and workers have one version."""
    of_workers = sorted({version or "unknown" for version in workers})
    bastion = status.version if status else "none"
    found = f"client {client}, bastion {bastion}, workers {', '.join(of_workers) or 'none'}"
    if {bastion if status else client, *of_workers} == {client}:
        return Check(HealthLevel.OK, "versions", found)
    return Check(HealthLevel.WARNING, "versions", found, "upgrade the older ones: the bastion first, then clients")


def file(name: str, problem: str, in_force: str) -> Check:
    """Check an admin's file. `in_force` says what the bastion uses now."""
    if problem:
        return Check(HealthLevel.FAILED, name, f"{problem} In force: {in_force}", f"correct it: bastion {name} edit")
    return Check(HealthLevel.OK, name, in_force)


def workers(state: State, beats: Mapping[WorkerKey, datetime], now: datetime) -> Iterator[Check]:
    """Check that the workers of live attempts send beats, and no others. `now` and `beats` are by the store's clock."""
    live = {key: attempt for key, _, attempt in state.live_attempts()}
    silent = [
        f"{key}, worker {number}"
        for key, attempt in live.items()
        for number, worker in enumerate(attempt.workers)
        if worker.seen
        and not worker.over
        and now - beats.get((key, number), attempt.running or attempt.started) > SILENT
    ]
    beating = [named for named, at in beats.items() if now - at < SILENT and named[0] not in live]
    strays = [f"{key}, worker {number}" for key, number in beating if _long_over(state, key, now)]
    total = sum(len(attempt.workers) for attempt in live.values())
    yield _some(
        "stale machines", silent, "silent", f"none of {total} workers is silent",
        "see bastion logs: the bastion looks for their machines, and starts the jobs again if these are gone",
    )  # fmt: skip
    yield _some(
        "stray machines", strays, "still at work for jobs that have ended", "none",
        "a running bastion ends them at its next turn; if none runs, end them by hand",
    )  # fmt: skip


def odd(found: Sequence[str], *, more: bool) -> Check:
    """List objects that no program of ours writes or reads. They do no harm, and are never removed."""
    if not found:
        return Check(HealthLevel.OK, "odd objects", "none")
    names = ", ".join(found) + (" and more" if more else "")
    return Check(
        HealthLevel.OK, "odd objects", f"{names}: not named like an object of Bastion; nothing reads or removes them"
    )


def claims(state: State, listed: Mapping[WorkerKey, datetime], now: datetime) -> Check:
    """Check for claims of jobs that the state does not have."""
    unknown = [str(key) for (key, _), at in listed.items() if key.job not in state.jobs and now - at > FRESHLY_ENDED]
    advice = "do not remove them by hand: they keep a late machine from running a job twice"
    return _some("stale claims", unknown, "of jobs that the bastion does not know", f"none of {len(listed)}", advice)


def _long_over(state: State, key: AttemptKey, now: datetime) -> bool:
    job = state.jobs.get(key.job)
    attempt = state.attempt(key)
    if job is None:
        return state.now is not None
    ended = attempt.ended if attempt else job.ended
    return ended is not None and now - ended > FRESHLY_ENDED


def _some(name: str, found: Sequence[str], what: str, none: str, advice: str) -> Check:
    if not found:
        return Check(HealthLevel.OK, name, none)
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return Check(HealthLevel.WARNING, name, f"{', '.join(found[:NAMED])}{more}: {what}", advice)


def _words(names: Iterable[str]) -> str:
    ordered = [right for right in RIGHTS if right in set(names)]
    return ", ".join(ordered) or "nothing"
