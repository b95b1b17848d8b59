"""Write the journal. Events are applied as they are decided, and are stored as objects before anything acts on them."""

from __future__ import annotations

import logging
from datetime import datetime

from ..model import layout
from ..model.codec import encode
from ..model.errors import BucketError, IllegalMove, JournalEndLost, LeadershipLost, ObjectNotFound, TooLarge
from ..model.interfaces import Bucket, Clock, Ids
from ..model.state.state import State
from ..model.stored.events import AnyEvent, Illegal, bounded
from ..model.stored.journal_object import OBJECT_BYTES_MAX, digest, pack
from ..stores.create_once import create_once
from .fold import apply, follow

SLOW_S = 30.0
"""An append that took longer than this many seconds looks for a later object of another bastion."""
RETRY_S = 1.0
"""Seconds between two tries to write an object."""

READ = 4
"""A look reads this many of the first unchecked objects, and this many of the newest."""

log = logging.getLogger("bastion")


class Journal:
    """The state in memory, and the events that are not written yet.

    The state runs ahead of the bucket by the events of one tick. That is safe: nothing acts on them before `commit`
    returns. And `commit` ends either with them in the journal or with the end of this bastion.
    """

    def __init__(self, bucket: Bucket, clock: Clock, ids: Ids, state: State, upto: int = 0) -> None:
        """Begin behind the state. A snapshot replaces the objects below `upto`: no reader uses them any more."""
        self._bucket, self._clock, self._ids = bucket, clock, ids
        self.state = state
        self.epoch = state.epoch
        self._events: list[bytes] = []
        self._bytes = 0
        self._full: list[tuple[bytes, str]] = []
        self._end = state.seq, state.head
        self._unseen = {state.seq - 1: state.head} if state.head and state.seq > upto else {}

    @property
    def end(self) -> tuple[int, str]:
        """Return the number after the newest object in the bucket, and the digest of that object."""
        return self._end

    @property
    def dirty(self) -> bool:
        """Return True if something is not written yet."""
        return bool(self._events or self._full)

    def begin(self, now: datetime) -> None:
        """Set the time of the events that follow. Unwritten events of a tick that failed keep theirs."""
        if not self.dirty:
            self.state.now = now

    def add(self, event: AnyEvent) -> bool:
        """Apply an event and keep it for the next commit.

        Return False if the event was illegal. An `Illegal` event is then kept in its place.
        """
        try:
            self._apply(event)
        except IllegalMove as refused:
            self._apply(Illegal(what=f"{type(event).__name__}: {refused}"))
            return False
        return True

    def commit(self) -> float | None:
        """Write all events that were added.

        Return the monotonic time at which the first object was first sent; None if there was nothing to write. Retries
        for as long as it takes: after an unknown answer, the same bytes go to the same number until that is settled. If
        this call fails, a later one continues. Raises `LeadershipLost` if another bastion wrote that number.
        """
        if not self.dirty:
            return None
        if self._events:
            self._close()
        first = self._clock.monotonic()
        while self._full:
            seq, (data, head) = self.state.seq - len(self._full), self._full[0]
            self._append(seq, data)
            self._end = seq + 1, head
            self._unseen[seq] = head
            del self._full[0]  # only now: if the append fails, the same bytes go to the same number again
        return first

    def look(self) -> None:
        """Check that the newest objects in the bucket are still ours. Raises `JournalEndLost` if one is gone or was replaced.

        These are the objects since the last look, and the one behind which this bastion began. A bastion that begins on
        a journal without its end writes the same numbers again, and this finds it. The first and the newest objects are
        read; if there are many, the others are only listed. Without new objects this costs one read. Only one thread
        may look.
        """
        unseen = list(self._unseen.copy().items())  # a copy, for another thread adds to it
        for seq, ours in dict(unseen[:READ] + unseen[-READ:]).items():
            try:
                same = digest(self._bucket.read(layout.journal(seq), OBJECT_BYTES_MAX).data) == ours
            except ObjectNotFound:
                raise _lost(seq, "was written and is gone") from None
            except TooLarge:
                same = False
            if not same:
                raise _lost(seq, "is not what this bastion wrote")
        self._list([seq for seq, _ in unseen[READ:-READ]])
        for seq, _ in unseen[:-1]:  # the newest stays: it is what the next look checks if nothing new comes
            del self._unseen[seq]

    def _list(self, numbers: list[int]) -> None:
        """Raise `JournalEndLost` if one of these objects is gone."""
        if not numbers:
            return
        shown = {stat.key for stat in self._bucket.list(layout.JOURNAL, after=layout.journal(numbers[0] - 1))}
        for seq in numbers:
            # A listing may miss an object; a read does not.
            if layout.journal(seq) not in shown and not self._exists(seq):
                raise _lost(seq, "was written and is gone")

    def _apply(self, event: AnyEvent) -> None:
        event = bounded(event)
        data = encode(event)  # before it is applied: what cannot be written must not happen
        # Objects stay below half of the limit, because a reader of one spec reads the whole object.
        if self._events and self._bytes + len(data) > OBJECT_BYTES_MAX // 2:
            self._close()
        apply(self.state, event, self.state.seq, len(self._events))
        self._events.append(data)
        self._bytes += len(data) + 2

    def _close(self) -> None:
        seq, nonce, now = self.state.seq, self._ids.new(), self.state.now
        assert now is not None
        prev = self.state.head
        data = pack(seq=seq, epoch=self.epoch, nonce=nonce, now=now, events=self._events, prev=prev)
        self._full.append((data, digest(data)))
        self._events, self._bytes = [], 0
        self.state.seq += 1
        follow(self.state, prev, self._full[-1][1])

    def _append(self, seq: int, data: bytes) -> None:
        started = self._clock.monotonic()
        problem = ""
        while True:
            try:
                if not create_once(self._bucket, layout.journal(seq), data).mine:
                    raise LeadershipLost(f"another bastion wrote journal object {seq}: this one ends")
                # If this took long, a successor may have folded our object already and gone on at the next number.
                # Then our object stands, but we are deposed.
                if self._clock.monotonic() - started <= SLOW_S or not self._exists(seq + 1):
                    return
            except BucketError as error:
                if str(error) != problem:
                    log.warning("journal object %d cannot be written, retrying: %s", seq, error)
                problem = str(error)
                self._clock.sleep(RETRY_S)
                continue
            raise LeadershipLost(f"another bastion wrote journal object {seq + 1} meanwhile: this one ends")

    def _exists(self, seq: int) -> bool:
        try:
            self._bucket.read(layout.journal(seq))
        except ObjectNotFound:
            return False
        return True


def _lost(seq: int, what: str) -> JournalEndLost:
    return JournalEndLost(f"journal object {seq} {what}; this bastion ends, so that it writes nothing behind the gap")


def take_over(journal: Journal, event: AnyEvent) -> bool:
    """Write the first event of a new epoch.

    Return False if another bastion was faster. Then the journal must be read again.
    """
    try:
        journal.add(event)
        journal.commit()
    except LeadershipLost:
        return False
    return True
