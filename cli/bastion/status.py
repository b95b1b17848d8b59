"""`bastion status`: show whether the bastion is alive, the usage of each project, and who asks for more than its share."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from bastion.journal import journal_reader
from bastion.launcher.read.job_rows import gap_lines
from bastion.model.codec import decode
from bastion.model.errors import BucketError, ObjectNotFound, RecordError
from bastion.model.layout import CLOCK
from bastion.model.stored.journal_object import Gaps, lost_end
from bastion.model.stored.records import ClockNote
from bastion.model.stored.status import SILENCE_S, accounts, age, summary
from bastion.platform import host
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.quota import resources
from bastion.quota.quota import Quota
from bastion.schedule import plan
from bastion.schedule.usage import ProjectUsage, excess, usage
from bastion.stores.folder_identity import is_full

from ..common.place import BastionPlace, known_place_of
from ..hosting import where
from ..terminal.flags import Options
from ..terminal.main import DONE, Call
from ..terminal.table import plain, table

HEADS = ("PROJECT", "KIND", "SHARE", "USED", "BORROWED")
NUMBERS = frozenset(HEADS[2:])


def run(call: Call[Options]) -> int:
    """Print one JSON object, or a page for people."""
    place, now = known_place_of(call), SystemClock().wall()
    status = place.status()
    died = status is not None and host.died(status)
    full = is_full(place.root.url)
    shown = summary(place.name, status, now=now, died=died, full=full)
    shown["problems"] += standing_by(place, now)
    hosting, gaps = where.told(place), Gaps()
    if call.output.json:
        call.output.data({**shown, "lodging": hosting, "excess": _excess(place, now)})
        return DONE
    state = journal_reader.load(place.bucket, ThreadTasks().map, gaps)
    quota = plan.inputs(state).quota or Quota.open()
    lines = [*page(shown, place.bucket.url, accounts(status), hosting), *usage_table(usage(state, quota))]
    beyond = [plain(row.text()) for row in excess(state, quota, now)]
    lines += ["", *beyond] if beyond else []
    call.output.say("\n".join([*lines, *gap_lines([*gaps.found, *lost_end(state, status)])]))
    return DONE


def _excess(place: BastionPlace, now: datetime) -> list[dict[str, Any]] | None:
    """Return what projects ask for beyond their shares; None if the journal cannot be read: the status tells more."""
    try:
        state = journal_reader.load(place.bucket, ThreadTasks().map, Gaps())
    except (BucketError, ObjectNotFound, RecordError):
        return None
    return [asdict(row) for row in excess(state, plan.inputs(state).quota or Quota.open(), now)]


def standing_by(place: BastionPlace, now: datetime) -> list[str]:
    """Return the message of a bastion that cannot begin because of its clock.

    Such a bastion repeats it every few seconds.
    """
    try:
        note = decode(place.bucket.read(CLOCK).data, ClockNote, CLOCK)
    except (ObjectNotFound, BucketError, RecordError):  # no bastion ever wrote one, or this user may not read it
        return []
    fresh = any(
        at and age(at, now) <= SILENCE_S for at in (note.at, note.wall)
    )  # our clock may agree with the store's or with the bastion's
    if not note.problem or not fresh:
        return []
    return [f"pid {note.pid} on {note.host} stands by: {note.problem}"]


def page(shown: dict[str, Any], url: str, jobs_as: str, hosting: str = "") -> list[str]:
    """Return the summary as lines for people."""
    jobs = ", ".join(f"{count} {state}" for state, count in shown["counts"].items() if count)
    rows = [("bastion", f"{shown['name']} in {url}"), ("state", _state(shown))]
    if shown["pid"] is not None:
        rows.append(("process", f"pid {shown['pid']} on {shown['host']}, version {shown['version']}"))
        rows.append(("last tick", f"{shown['last_tick_age_s']:.1f} s ago, number {shown['ticks']}"))
    rows += [("hosting", hosting)] if hosting else []
    rows += [("jobs", jobs or "none"), ("capacity", resources.text(shown["capacity"]))]
    if jobs_as:
        rows.append(("jobs as", jobs_as))
    if paused := shown["paused"]:
        rows.append(("paused", f"by {paused['user']} since {paused['since']}: no job starts until bastion resume"))
    rows += [("problem", problem) for problem in shown["problems"]]
    return [f"{word:<10} {plain(text)}" for word, text in rows]


def usage_table(uses: list[ProjectUsage]) -> list[str]:
    """Return one line for each project and kind; nothing without a quota."""
    rows = [(use.project, use.kind, str(use.share), str(use.used), str(use.borrowed)) for use in uses]
    return ["", *table(HEADS, rows, right=NUMBERS)] if rows else []


def _state(shown: dict[str, Any]) -> str:
    return f"{shown['state']}, epoch {shown['epoch']}" if shown["epoch"] else str(shown["state"])
