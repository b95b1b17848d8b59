"""The changes of an admin's file: who made them, when and how, from events of the journal. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff

from bastion.model.job.audit_line import AuditLine, split
from bastion.model.stored.events import FileBroken, FileChanged
from bastion.model.stored.journal_object import JournalObject

from ..read.job_rows import Row, rfc3339

HEADS = ("TIME", "WHO", "WHAT")
NEVER = "not read by the bastion yet"

Compare = Callable[[str, str], Sequence[str]]
"""A function that lists the changes from one text to the next, one line each. The first may be empty: none before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """A text that came into force, or one that could not.

    time: when it came into force, in RFC 3339; else the time in its audit line; empty: unknown.
    seq: number of the journal object; None: the text lies in the bucket only.
    who: user in its audit line; empty: none.
    lines: what it changed, or why it could not come into force.
    diff: unified diff of the two texts.
    """

    time: str
    seq: int | None
    who: str
    lines: tuple[str, ...]
    diff: tuple[str, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """Return a line of the table, with the columns of `HEADS`."""
        return self.time, self.who, "; ".join(self.lines)

    def row(self) -> Row:
        """Return a row for scripts."""
        return {
            "time": self.time or None,
            "seq": self.seq,
            "who": self.who or None,
            "changes": list(self.lines),
            "diff": list(self.diff),
        }


@dataclass(slots=True)
class FileHistory:
    """A series of changes, each compared with the last valid text. Mutable.

    file: name of the file.
    compare: function that lists the changes.
    text: last valid text; empty: none yet.
    """

    file: str
    compare: Compare
    text: str = ""

    def told(self, record: JournalObject) -> Iterator[FileChange]:
        """Yield the changes of the file in a journal object."""
        for event in record.events:
            if isinstance(event, FileChanged) and event.file == self.file:
                yield self.change(*split(event.text), at=record.now, seq=record.seq)
            elif isinstance(event, FileBroken) and event.file == self.file:
                lines = (f"not put in force: {event.problem}",)
                yield FileChange(time=_time(record.now), seq=record.seq, who="", lines=lines)

    def change(self, body: str, byline: AuditLine | None, *, at: datetime | None, seq: int | None) -> FileChange:
        """Describe the change to this text, and keep the text. Without a number (`seq`) it lies in the bucket only."""
        lines = [*self.compare(self.text, body)] or ["words and comments only"]
        diff = tuple(unified_diff(self.text.splitlines(), body.splitlines(), "before", "after", lineterm="", n=2))
        self.text = body
        who, said = (byline.user, byline.at) if byline else ("", "")
        if seq is None:
            lines.append(NEVER)
        return FileChange(time=_time(at) or said, seq=seq, who=who, lines=tuple(lines), diff=diff)


def _time(moment: datetime | None) -> str:
    return rfc3339(moment) or ""
