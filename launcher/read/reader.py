"""Look at a bastion: the inbox first, the journal last.

In this order every command sees a job once `launch` has exited: a request that left the inbox between the two reads is
in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bastion.journal import journal_reader
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import Bucket, Clock, Stat, Tasks
from bastion.model.state.state import State
from bastion.model.stored.journal_object import Gaps, lost_end
from bastion.model.stored.status import Status

from .view import UnreadJob, View


class BastionReader:
    """A reader of one bastion that looks again and again. A look without news costs two lists and one read."""

    def __init__(self, bucket: Bucket, clock: Clock, tasks: Tasks, *, user: str | None = None) -> None:
        """Create a reader. With `user`, it reads only the unread requests of this user."""
        self._bucket = bucket
        self._clock = clock
        self._tasks = tasks
        self._inbox = f"{layout.INBOX}{user}/" if user else layout.INBOX
        self._state: State | None = None
        self._gaps = Gaps()
        self._parsed: dict[str, UnreadJob | None] = {}
        self._listed: list[Stat] = []
        self._status: Status | None = None
        self._looks = 0

    def look(self, *, thrifty: bool = False) -> View:
        """Return the present view. Raises `BucketError`, `RecordError`.

        With `thrifty`, looks read the inbox and the status in turn, so that a look without news costs two requests. The
        other of the two is then as old as the look before. That is for callers that look every few seconds.
        """
        asks_both = not thrifty or self._state is None
        self._looks += 1
        if asks_both or self._looks % 2:
            self._listed = list(self._bucket.list(self._inbox))
        if asks_both or not self._looks % 2:
            self._status = read_status(self._bucket)
        state = self._grown()
        if self._read(state):  # some requests were consumed after the list: they are in the journal now
            state = self._grown()
        return View(
            state=state,
            unread=tuple(self._unread(state)),
            status=self._status,
            now=self._clock.wall(),
            gaps=(*self._gaps.found, *lost_end(state, self._status)),
        )

    def _grown(self) -> State:
        """Return the state with everything that the journal holds by now and that can be read."""
        if self._state is None:
            self._state = journal_reader.load(self._bucket, self._tasks.map, self._gaps)
        else:
            journal_reader.catch_up(self._bucket, self._state, self._tasks.map, self._gaps)
        return self._state

    def _read(self, state: State) -> bool:
        """Read each listed request that is not consumed, once. Return True if one of them has vanished."""
        waiting = {stat.key: stat for stat in self._listed if layout.request_name(stat.key) not in state.requests}
        self._parsed = {key: value for key, value in self._parsed.items() if key in waiting}
        fresh = [stat for key, stat in waiting.items() if key not in self._parsed and _id(key)]
        if not fresh:
            return False
        from .stored_spec import unread_of

        vanished = False
        for stat, found in zip(fresh, self._tasks.map(partial(unread_of, self._bucket), fresh), strict=True):
            if isinstance(found, ObjectNotFound):
                vanished = True
            elif isinstance(found, Exception):
                raise found
            else:
                self._parsed[stat.key] = found
        return vanished

    def _unread(self, state: State) -> Iterator[UnreadJob]:
        """Yield the submissions in the inbox that the bastion has not consumed."""
        for key, found in self._parsed.items():
            if found is not None and layout.request_name(key) not in state.requests:
                yield found


def read_status(bucket: Bucket) -> Status | None:
    """Return the bastion's status; None if the bucket has none."""
    try:
        return decode(bucket.read(layout.STATUS).data, Status, layout.STATUS)
    except ObjectNotFound:
        return None


def _id(key: str) -> str:
    named = layout.request_of(key)
    return named[1] if named else ""
