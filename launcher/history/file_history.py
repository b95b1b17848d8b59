"""Who changed an admin's file, when and how: from the events of the journal that tell of it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff

from bastion.model.job.audit_line import Byline, split
from bastion.model.stored.events import FileBroken, FileChanged
from bastion.model.stored.journal_object import JournalObject

from ..read.job_rows import Row, rfc3339

HEADS = ("TIME", "WHO", "WHAT")
NEVER = "not read by the bastion yet"

Compare = Callable[[str, str], Sequence[str]]
"""What a text changes of the one before, which is empty if there was none; one line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One text that came into force, or a hindrance. `who` is empty where nobody is named, `time` where it is not known.

    `lines` say what it changed; `diff` is the difference of the two texts, line by line.
    """

    time: str
    seq: int | None
    who: str
    lines: tuple[str, ...]
    diff: tuple[str, ...] = ()

    def cells(self) -> tuple[str, ...]:
        """One line of a table, in the order of `HEADS`."""
        return self.time, self.who, "; ".join(self.lines)

    def row(self) -> Row:
        """For scripts."""
        return {
            "time": self.time or None,
            "seq": self.seq,
            "who": self.who or None,
            "changes": list(self.lines),
            "diff": list(self.diff),
        }


@dataclass(slots=True)
class Teller:
    """Tells changes one after the other: each of them is one against the last good text."""

    file: str
    compare: Compare
    text: str = ""

    def told(self, record: JournalObject) -> Iterator[FileChange]:
        """What a journal object says of the file."""
        for event in record.events:
            if isinstance(event, FileChanged) and event.file == self.file:
                yield self.change(*split(event.text), at=record.now, seq=record.seq)
            elif isinstance(event, FileBroken) and event.file == self.file:
                lines = (f"not put in force: {event.problem}",)
                yield FileChange(time=_time(record.now), seq=record.seq, who="", lines=lines)

    def change(self, body: str, byline: Byline | None, *, at: datetime | None, seq: int | None) -> FileChange:
        """The change to this text; without a time and a number it lies in the bucket only."""
        lines = [*self.compare(self.text, body)] or ["words and comments only"]
        diff = tuple(unified_diff(self.text.splitlines(), body.splitlines(), "before", "after", lineterm="", n=2))
        self.text = body
        who, said = (byline.user, byline.at) if byline else ("", "")
        if seq is None:
            lines.append(NEVER)
        return FileChange(time=_time(at) or said, seq=seq, who=who, lines=tuple(lines), diff=diff)


def _time(moment: datetime | None) -> str:
    return rfc3339(moment) or ""
