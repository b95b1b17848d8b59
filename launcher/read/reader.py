"""Looks at a bastion: the inbox first, the journal last.

So a job is seen by every command once `launch` has exited: a request that vanished between the two is in the journal.
"""

from __future__ import annotations

from collections.abc import Iterator

from bastion.journal import journal_reader
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import BastionError, BucketError, Missing
from bastion.model.interfaces import Bucket, Clock, Stat, Tasks
from bastion.model.state.state import State
from bastion.model.stored.gaps import Holes, lost_end
from bastion.model.stored.records import Status
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Request, Submit, parse

from .view import Unread, View


class Reader:
    """Looks at a bastion, again and again; a look where nothing is new costs two lists and one read."""

    def __init__(self, bucket: Bucket, clock: Clock, tasks: Tasks, *, user: str | None = None) -> None:
        """`user`: of the unread requests, read only those of this user."""
        self._bucket = bucket
        self._clock = clock
        self._tasks = tasks
        self._inbox = f"{layout.INBOX}{user}/" if user else layout.INBOX
        self._state: State | None = None
        self._holes = Holes()
        self._parsed: dict[str, Unread | None] = {}
        self._listed: list[Stat] = []
        self._status: Status | None = None
        self._looks = 0

    def look(self, *, thrifty: bool = False) -> View:
        """What is there now. Raises `BucketError`, `RecordError`.

        `thrifty`, for who looks every few seconds: the inbox and the sign of life are asked for in turn, so that a look
        where nothing is new costs two requests. What is shown of one of them is then as old as the look before.
        """
        asks_both = not thrifty or self._state is None
        self._looks += 1
        if asks_both or self._looks % 2:
            self._listed = list(self._bucket.list(self._inbox))
        if asks_both or not self._looks % 2:
            self._status = read_status(self._bucket)
        state = self._grown()
        if self._read(state):  # some were taken between list and read: they are in the journal now
            state = self._grown()
        return View(
            state=state,
            unread=tuple(self._unread(state)),
            status=self._status,
            now=self._clock.wall(),
            holes=(*self._holes.found, *lost_end(state, self._status)),
        )

    def _grown(self) -> State:
        """The state with all that the journal holds by now, as far as it can be read."""
        if self._state is None:
            self._state = journal_reader.load(self._bucket, self._tasks.map, self._holes)
        else:
            journal_reader.catch_up(self._bucket, self._state, self._tasks.map, self._holes)
        return self._state

    def _read(self, state: State) -> bool:
        """Read what is listed and not consumed, each request once. True if one of them has vanished."""
        waiting = {stat.key: stat for stat in self._listed if layout.request_name(stat.key) not in state.requests}
        self._parsed = {key: value for key, value in self._parsed.items() if key in waiting}
        fresh = [stat for key, stat in waiting.items() if key not in self._parsed and _id(stat)]
        vanished = False
        for stat, found in zip(fresh, self._tasks.map(self._parse, fresh), strict=True):
            if isinstance(found, Missing):
                vanished = True
            elif isinstance(found, Exception):
                raise found
            else:
                self._parsed[stat.key] = found
        return vanished

    def _unread(self, state: State) -> Iterator[Unread]:
        """The submits of the inbox that nobody has consumed."""
        for key, found in self._parsed.items():
            if found is not None and layout.request_name(key) not in state.requests:
                yield found

    def _parse(self, stat: Stat) -> Unread | None:
        """The job that a request asks for; None if it asks for something else, or makes no sense."""
        try:
            request: Request = parse(self._bucket.read(stat.key, REQUEST_BYTES_MAX).data)
        except (BucketError, Missing):
            raise
        except BastionError:
            return None
        if not isinstance(request, Submit):
            return None
        return Unread(request_id=_id(stat), spec=request.spec, stored=stat.modified)


def read_status(bucket: Bucket) -> Status | None:
    """The bastion's sign of life, if there ever was one."""
    try:
        return decode(bucket.read(layout.STATUS).data, Status, layout.STATUS)
    except Missing:
        return None


def _id(stat: Stat) -> str:
    named = layout.request_of(stat.key)
    return named[1] if named else ""
