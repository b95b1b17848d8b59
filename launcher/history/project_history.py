"""The history of a project: events of its jobs and of its share, with what it held after each. Pure but for itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from bastion.journal.attempts import shape
from bastion.journal.fold import apply, concerned
from bastion.model.job.audit_line import split
from bastion.model.state.state import Job, State
from bastion.model.stored.events import AnyEvent, CapacityChanged, Ended, FileChanged, Started
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, minus, plus
from bastion.quota.shares import Shares
from bastion.schedule.plan import inputs
from bastion.schedule.usage import shares

from ..read.job_rows import Row, rfc3339
from .job_history import HistoryEntry, happening

HEADS = ("TIME", "BY", "JOB", "CHANGE", "USED", "WHAT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectEntry:
    """One event, and the usage of the project after it. Amounts are in units by kind.

    told: the event.
    used: what the project's attempts hold, stopping ones included.
    share: what the project is promised.
    borrowed: part of `used` beyond the share.
    """

    told: HistoryEntry
    used: Resources
    share: Resources
    borrowed: Resources

    def cells(self) -> tuple[str, ...]:
        """Return a line of the table, with the columns of `HEADS`."""
        told = self.told
        job = told.job + (f"[{told.task}]" if told.task else "")
        return str(rfc3339(told.at)), told.actor, job, told.change, self._amounts(), told.text

    def row(self) -> Row:
        """Return a row for scripts."""
        amounts = {"used": dict(self.used), "share": dict(self.share), "borrowed": dict(self.borrowed)}
        return {"job": self.told.job or None, **self.told.row(), **amounts}

    def _amounts(self) -> str:
        """Format used, share and borrowed amounts: `v4 96/64 +32`."""
        kinds = sorted({*self.used, *self.share})
        return ", ".join(
            f"{kind} {self.used.get(kind, 0)}/{self.share.get(kind, 0)}"
            + (f" +{self.borrowed[kind]}" if self.borrowed.get(kind) else "")
            for kind in kinds
        )


class ProjectHistory:
    """A collector of journal objects that makes an entry of each event of a project. Mutable.

    `jobs` are the jobs of the project; the caller may add more to it. `facts` holds quota and capacity as they were
    before the first object.
    """

    def __init__(self, project: str, jobs: Mapping[str, Job], facts: State) -> None:
        self._project, self._jobs, self._facts = project, jobs, facts
        self._quota = inputs(facts).quota or Quota.open()
        self._shares = shares(facts, self._quota)
        self._known = State()
        self._used: Resources = {}
        self._entries: list[tuple[ProjectEntry, Shares]] = []

    def take(self, record: JournalObject) -> None:
        """Add one journal object. Objects must come in the order of the journal."""
        self._known.now = record.now
        for index, event in enumerate(record.events):
            if isinstance(event, FileChanged | CapacityChanged):
                self._changed(record, event)
            for job in concerned(event):
                if job in self._jobs:
                    self._happened(happening(self._known, record, index, event, job), event)

    def entries(self, before: Resources) -> Iterator[ProjectEntry]:
        """Yield all entries. `before` is what the project held before the first one."""
        for entry, promised in self._entries:
            used = {kind: amount for kind, amount in sorted(plus(before, entry.used).items()) if amount}
            yield replace(entry, used=used, borrowed=promised.borrowed(self._project, used))

    def _happened(self, told: HistoryEntry, event: AnyEvent) -> None:
        if told.own and isinstance(event, Started):
            self._used = plus(self._used, self._demand(event))
        elif told.own and isinstance(event, Ended):
            self._used = minus(self._used, self._demand(event))
        self._enter(told)

    def _demand(self, event: Started | Ended) -> Resources:
        """Return what the attempt holds or held."""
        job = self._jobs[event.job]
        task = job.tasks.get(event.task)
        known = task is not None and event.attempt < len(task.attempts)  # else its start lies in a gap of the journal
        return shape(job, task.attempts[event.attempt].choice if task and known else 0).demand

    def _changed(self, record: JournalObject, event: FileChanged | CapacityChanged) -> None:
        """Apply a new quota file or capacity, and make an entry if it changes the project's share."""
        before = self._shares.units(self._project)
        apply(self._facts, event, record.seq, 0)
        if isinstance(event, FileChanged):  # parsing is slow, and the capacity changes more often
            self._quota = inputs(self._facts).quota or Quota.open()
        self._shares = shares(self._facts, self._quota)
        after = self._shares.units(self._project)
        moved = [kind for kind in sorted({*before, *after}) if before.get(kind, 0) != after.get(kind, 0)]
        if not moved:
            return
        what = ", ".join(f"{kind} {before.get(kind, 0)} -> {after.get(kind, 0)}" for kind in moved)
        by = split(event.text)[1] if isinstance(event, FileChanged) else None
        self._enter(
            HistoryEntry(
                at=record.now,
                seq=record.seq,
                kind=type(event).__name__,
                actor=by.user if by else f"bastion/{record.epoch}",
                job="",
                own=True,
                task=None,
                attempt=None,
                before="",
                after="",
                text=f"{'the quota file' if isinstance(event, FileChanged) else 'the capacity'} changed its share: {what}",
            )
        )

    def _enter(self, told: HistoryEntry) -> None:
        share = {kind: amount for kind, amount in self._shares.units(self._project).items() if amount}
        self._entries.append((ProjectEntry(told=told, used=self._used, share=share, borrowed={}), self._shares))


def held_at(jobs: Iterable[Job], moment: datetime) -> Resources:
    """Sum up what the attempts of these jobs held just before a time."""
    used: Resources = {}
    for job in jobs:
        for task in job.tasks.values():
            for one in task.attempts:
                if one.started < moment and (one.ended is None or one.ended >= moment):
                    used = plus(used, shape(job, one.choice).demand)
    return used
