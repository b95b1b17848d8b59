"""The output of the process on its way from a local file to log segments: at its own speed, and nothing lost on it.

While the bucket cannot be asked the file grows, up to a limit; what is newer than that is dropped, and the log says so.
"""

from __future__ import annotations

import threading

from bastion.errors import RecordError
from bastion.logs import SEGMENT_MAX, SegmentWriter
from runners.worker.doors import Machine

_DROPPED = "\n[bastion] dropped {} bytes of output here: it came faster than it could be stored\n"


class Spool:
    """Uploads the machine's log file. `flush` is called by one task at a time; all else by the worker's loop."""

    def __init__(self, machine: Machine, writer: SegmentWriter, limit: int, segment_max: int = SEGMENT_MAX) -> None:
        self.ended = False
        self._machine = machine
        self._writer = writer
        self._limit = limit
        self._segment_max = segment_max
        self._sent = 0
        self._chunk = b""
        self._forgotten = 0
        self._gap: tuple[int, int] | None = None
        self._note: bytes | None = None
        self._local = threading.Lock()

    @property
    def unsent(self) -> bool:
        """There is output that no segment holds."""
        return bool(self._chunk) or self._machine.log_size() > self._sent

    @property
    def closed(self) -> bool:
        """No more output comes."""
        return self._note is not None

    def close(self, note: str = "") -> None:
        """No more output comes; a note of ours goes below it. The next full flush ends the log."""
        self._note = f"[bastion] {note}\n".encode() if note else b""

    def curb(self) -> None:
        """Hold what waits within the limit by dropping the newest output.

        It becomes a hole in the file, which the process writes on behind: so the count of bytes is exact.
        """
        with self._local:
            start, end = self._gap or (self._sent + self._limit, self._sent + self._limit)
            size = self._machine.log_size()
            if size > end:
                self._machine.forget_log(end, size)
                self._gap = start, size

    def flush(self) -> None:
        """Upload all there is. After a `BucketError` the same bytes go to the same segment at the next call."""
        note = self._note
        try:
            while self._upload():
                pass
            if note is not None and not self.ended:
                self._end(note)
        except RecordError:
            self.ended = True  # the log has another writer: a second voice in it would be worse than none
            raise

    def _upload(self) -> bool:
        self._chunk = self._chunk or self._take()
        if not self._chunk:
            return False
        self._writer.append(self._chunk)
        self._chunk = b""
        self._forget(self._sent - self._limit)
        return True

    def _forget(self, end: int) -> None:
        if end - self._forgotten >= self._segment_max:
            self._machine.forget_log(self._forgotten, end)
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
            if self._gap is not None and self._sent >= self._gap[0]:
                (start, self._sent), self._gap = self._gap, None
                return _DROPPED.format(self._sent - start).encode()
            size = self._segment_max if self._gap is None else min(self._segment_max, self._gap[0] - self._sent)
            data = self._machine.read_log(self._sent, size)
            self._sent += len(data)
            return data
