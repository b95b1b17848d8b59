"""The upload of the process's output from a local file to log segments, at its own pace.

After a worker crashes the next one knows from the stored segments and gaps where to go on.

While the bucket is unreachable the file grows, up to a limit. What exceeds the limit is dropped, and the log says so.
"""

from __future__ import annotations

import threading

from bastion.journal.logs import SEGMENT_MAX, SegmentWriter
from bastion.model.errors import RecordError

from .job_output import JobOutput

_TRUNCATED = "\n[bastion] the job truncated its own output: at least {} bytes are not in this log\n"
_JOINT = 64
_DROPPED = "\n[bastion] dropped {} bytes of output here: it came faster than it could be stored\n"


class Spool:
    """The upload of the output. One task at a time calls `flush`; all else belongs to the worker's loop."""

    def __init__(self, output: JobOutput, writer: SegmentWriter, limit: int, segment_max: int = SEGMENT_MAX) -> None:
        self.ended = False
        self._output = output
        self._writer = writer
        self._limit = limit
        self._segment_max = segment_max
        self._sent = 0
        self._chunk = b""
        self._forgotten = 0
        self._gap: tuple[int, int] | None = None
        self._gaps: dict[int, int] = {}
        self._heir = False
        self._note: bytes | None = None
        self._highest, self._told = 0, b""
        self._joint = 0, b""
        self._local = threading.Lock()

    def resume(self) -> None:
        """Continue where an earlier writer of this log stopped; its last segment may still arrive.

        Raises `BucketError`.
        """
        stored = self._writer.resume()
        with self._local:
            self._heir, self.ended, self._chunk, self._gap = True, stored.ended, b"", None
            self._joint = 0, b""
            self._sent, self._gaps = stored.size, dict(self._output.gaps())
            for start, end in sorted(self._gaps.items()):
                note = len(_note_of(start, end))
                if self._sent < start + note:  # the gap is not stored yet
                    self._gap = start, end
                    break
                self._sent += end - start - note

    @property
    def unsent(self) -> bool:
        """Return True while there is output that no segment holds."""
        return bool(self._chunk or self._told) or self._output.size > self._sent

    @property
    def closed(self) -> bool:
        """Return True if no more output comes."""
        return self._note is not None

    def close(self, note: str = "") -> None:
        """Note that no more output comes, and append a note of ours. The next full flush ends the log."""
        self._note = f"[bastion] {note}\n".encode() if note else b""

    def curb(self) -> None:
        """Keep the waiting output within the limit by dropping the newest part.

        That part becomes a gap in the file. The process continues to write behind it, so the count of bytes stays
        exact.
        """
        with self._local:
            self._see_truncation()
            start, end = self._gap or (self._sent + self._limit, self._sent + self._limit)
            size, reach = self._output.size, self._output.reach
            if size > end:
                self._gaps[start] = size
                self._output.keep_gaps(self._gaps)
                self._forget_between(max(start + reach, end - reach), size - reach)
                self._gap = start, size

    def flush(self) -> None:
        """Upload all waiting output. After a `BucketError` the next call sends the same bytes to the same segment."""
        while not self.ended:
            try:
                self._flush(self._note)
                return
            except RecordError:
                if not self._heir:
                    self.ended = True  # the log has another writer: two writers in it would be worse than no output
                    raise
                # a late segment of the crashed writer: continue behind it
                self.resume()

    def _flush(self, note: bytes | None) -> None:
        while self._upload():
            pass
        if note is not None:
            self._end(note)

    def _upload(self) -> bool:
        self._chunk = self._chunk or self._take()
        if not self._chunk:
            return False
        self._writer.append(self._chunk)
        self._chunk = b""
        self._forget(self._sent - max(self._limit, self._output.reach))
        return True

    def _forget_between(self, start: int, end: int) -> None:
        """Free less than the gap: the bytes next to it decide what is hidden before and after it."""
        if start < end:
            self._output.forget(start, end)

    def _forget(self, end: int) -> None:
        if end - self._forgotten >= self._segment_max:
            self._output.forget(self._forgotten, end)
            self._forgotten = end

    def _end(self, note: bytes) -> None:
        if note:
            self._note = b""
            self._chunk = note
            self._upload()
        self._writer.end()
        self.ended = True

    def _take(self) -> bytes:
        with self._local:
            self._see_truncation()
            if self._told:
                told, self._told = self._told, b""
                return told
            if self._gap is not None and self._sent >= self._gap[0]:
                (start, self._sent), self._gap = self._gap, None
                self._remember()
                return _note_of(start, self._sent)
            size = self._segment_max if self._gap is None else min(self._segment_max, self._gap[0] - self._sent)
            data = self._output.read(self._sent, size, more=not self.closed)
            self._sent += len(data)
            self._remember()
            return data

    def _remember(self) -> None:
        """Store the bytes right before the place that is read next."""
        self._joint = self._sent, self._output.joint(self._sent, min(_JOINT, self._limit))

    def _see_truncation(self) -> None:
        """Start at the beginning again if the process made its output shorter, and make the log say so.

        The size shows it. If more was printed since, other bytes before the place that is read next show it.
        """
        size, (end, before) = self._output.size, self._joint
        if size < self._highest or (end == self._sent and self._output.joint(end, len(before)) != before):
            self._told += _TRUNCATED.format(max(0, self._highest - self._sent)).encode()
            self._sent, self._forgotten, self._gap, self._gaps = 0, 0, None, {}
            self._output.keep_gaps({})
            self._remember()
        self._highest = size


def _note_of(start: int, end: int) -> bytes:
    return _DROPPED.format(end - start).encode()
