"""Write the bastion's own log: one line for each event, to the terminal and as segments to the bucket."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..model import layout
from ..model.codec import encode
from ..model.interfaces import Bucket, Clock
from ..model.stored.events import AnyEvent, FileChanged, Submitted
from .logs import SEGMENT_MAX, SegmentWriter

FLUSH_S = 5.0
"""Seconds between two writes to the bucket."""
LINES_MAX = 10_000
"""At most this many lines wait to be written."""
LINES_AT_ONCE = 1_000
"""At most this many lines go into one segment."""
LINE_MAX = 1_000
"""A message is cut to this many characters."""

log = logging.getLogger("bastion")


class OwnLog(logging.Handler):
    """A handler that collects the lines of the `bastion` logger and writes them as segments, beside the tick.

    It keeps at most 10,000 lines while the bucket is unreachable. Newer ones are dropped, and a line in their place
    says how many.
    """

    def __init__(self, bucket: Bucket, clock: Clock, epoch: int) -> None:
        super().__init__()
        self._writer = SegmentWriter(bucket, layout.bastion_log(epoch))
        self._clock = clock
        self._lines: list[str] = []
        self._dropped = 0
        self._sending = b""
        self._due = float("-inf")

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, or count it as dropped."""
        if len(self._lines) >= LINES_MAX:
            self._dropped += 1
            return
        at = self._clock.wall().isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._lines.append(f"{at} {record.levelname[0]} {record.getMessage()[:LINE_MAX]}\n")

    def event(self, event: AnyEvent) -> None:
        """Log one line for an event of the journal."""
        if log.isEnabledFor(logging.INFO):
            log.info("%s", told(event))

    def flush_beside(self, start: Callable[[], bool]) -> None:
        """Have what is there written, every `FLUSH_S` seconds.

        `start` starts `send` as a task, and returns False if that is not possible now.
        """
        now = self._clock.monotonic()
        if now >= self._due and (self._lines or self._sending) and start():
            self._due = now + FLUSH_S

    def send(self) -> None:
        """Write what is there. Raises `BucketError`; the next call then sends the same bytes again."""
        while self._sending or self._lines:
            self._sending = self._sending or self._taken()
            self._writer.append(self._sending)
            self._sending = b""

    def _taken(self) -> bytes:
        """Take the oldest lines, as one segment."""
        self.acquire()  # a line may come from any thread
        try:
            lines, self._lines = self._lines[:LINES_AT_ONCE], self._lines[LINES_AT_ONCE:]
            dropped, self._dropped = (0, self._dropped) if self._lines else (self._dropped, 0)
        finally:
            self.release()
        note = f"{dropped} lines were dropped here\n" if dropped else ""
        return ("".join(lines) + note).encode("utf-8", "replace")[:SEGMENT_MAX]


def told(event: AnyEvent) -> str:
    """Return an event as a line for people: its name and its fields, without the bulk of specs and files."""
    name = type(event).__name__
    if isinstance(event, Submitted):
        spec = event.spec
        return f"{name} {event.job} user={spec.user} project={spec.project} count={spec.count}"
    if isinstance(event, FileChanged):
        return f"{name} {event.file} version={event.version}"
    fields = [(field, getattr(event, field)) for field in event.__struct_fields__]
    return " ".join([name, *(f"{field}={_short(value)}" for field, value in fields if value not in (None, "", {}, []))])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else encode(value).decode()
    text = text.replace("\n", " ")
    return text if len(text) <= 200 else f"{text[:197]}..."
