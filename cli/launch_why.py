"""`launch why`: the whole account of a job, and what happened to it last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bastion.holes import Holes
from bastion.plan import inputs
from bastion.state import Job, JobState
from cli.desk import Desk, desk_of, job_of
from cli.main import DONE, Call
from cli.table import table
from launcher import account, gaps, telling
from launcher.account import Account
from launcher.derive import decided
from launcher.durations import short
from launcher.find import Found
from launcher.gpus import Seen, gpus_in
from launcher.history import HEADS, Happening, history
from launcher.pulse import Said, facts_of, pulses
from launcher.queue import Queue, sign_of_life
from launcher.recall import records
from launcher.rows import Row
from launcher.view import View, tick_age_s
from launcher.waiting import Waiting, waiting

OBJECTS_MAX = 64
"""A job of more journal objects is told by the first and the newest of them."""

EVENTS_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """All that was found out."""

    view: View
    found: Found
    row: Row
    account: Account | None
    gpus: list[Seen]
    events: list[Happening]
    holes: Holes


def run(call: Call) -> int:
    """Print the account of a job, or of one task of it."""
    desk = desk_of(call)
    why = _find_out(call, desk)
    if call.output.json:
        age = tick_age_s(why.view.status, why.view.now)
        events = [event.row() for event in why.events]
        shown = {"schema": 1, "job": why.row, **(why.account.row() if why.account else {}), "events": events}
        shown["gpus"] = [gpu.row() for gpu in why.gpus]
        bastion = {"name": desk.bastion, "last_tick_age_s": age}
        call.output.data({**shown, "bastion": bastion, **gaps.rows(why.holes.found)})
    else:
        foot = f"bastion {desk.bastion}: {sign_of_life(why.view)}."
        call.output.say("\n".join([*_page(why), *gaps.lines(why.holes.found), foot]))
    return DONE


def _find_out(call: Call, desk: Desk) -> Why:
    view = desk.reader().look()
    found = job_of(call, desk, view)
    holes = Holes(list(view.holes))
    told = records(desk.bucket, desk.tasks, view, found, holes, most=OBJECTS_MAX)
    events = list(history(told, found.id, found.task))
    job = found.job
    waits = job is not None and job.ended is None and bool(job.counts.get(JobState.PENDING))
    answer = decided(view) if waits else None
    row = Queue(view, (), answer.reasons if answer else {}).row(found.known)
    if job is None:
        return Why(view=view, found=found, row=row, account=None, gpus=[], events=events, holes=holes)
    against = waiting(view.state, job, inputs(view.state), answer, view.now) if answer else None
    facts = facts_of(desk.bucket, desk.tasks, job, found.task)
    return Why(
        view=view,
        found=found,
        row=row,
        account=_account(desk, job, found.task, against, facts),
        gpus=gpus_in(facts),
        events=events,
        holes=holes,
    )


def _account(desk: Desk, job: Job, task: int | None, against: Waiting | None, facts: Sequence[Said]) -> Account:
    live = account.live(job, task)
    said = pulses(desk.bucket, desk.tasks, [key for key, _ in live], facts)
    return Account(
        since=account.since(job),
        waiting=against,
        running=tuple(account.running(job, attempt, key.task, said.get(key)) for key, attempt in live),
        end=account.end(job, task),
    )


def _page(why: Why) -> list[str]:
    row, found = why.row, why.found
    age = f" for {short((why.view.now - why.account.since).total_seconds())}" if why.account else ""
    reason = f": {row['reason']}" if row["reason"] else ""
    lines = [f"{found.id} of {found.user} in {row['project']} is {row['state']}{age}{reason}"]
    if why.account:
        name = f"'{found.id}[{found.task}]'" if found.task is not None else found.id
        lines += [f"{word:<10}{text}" for word, text in telling.told(why.account, name, row["project"], why.view.now)]
    lines += [f"{'gpu':<10}{gpu.line()}" for gpu in why.gpus]
    if why.events:
        _, *shown = table(HEADS, [event.cells() for event in why.events[-EVENTS_SHOWN:]])
        lines += ["", *shown, f"all of it: launch history {found.id}"]
    return lines
