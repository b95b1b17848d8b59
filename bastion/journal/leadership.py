"""Whether this bastion is still the one: its time, its fence, its sign of life in `status.json`."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from ..model import layout
from ..model.clocks import OFF_MAX_S, ClockReading
from ..model.codec import decode, encode
from ..model.errors import BucketError, Deposed, LostEnd, Missing, Newer, RecordError
from ..model.interfaces import Bucket, Clock
from ..model.stored.records import Status

log = logging.getLogger("bastion")

WINDOW_S = 30.0
RETRY_S = 1.0
PATIENCE_S = 10.0
DRIFT = 0.05
"""The part by which a clock may run too slow; what a store's clock is ahead beyond that is a jump."""


class LeaderTime:
    """The time that decisions see: it begins at the store's time or the journal's end, whichever is later, and only flows.

    Where the store was not asked, it begins at the wall clock. The wall clock's jumps are not seen; what the monotonic clock
    runs too fast or too slow is made good by later readings of the store's.
    """

    def __init__(self, clock: Clock, journalled: datetime | None, asked: ClockReading | None = None) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._start = self._floor = asked.least(self._began) if asked else clock.wall()
        if journalled and journalled > self._start:
            self._floor = journalled
            self._start = self._start if asked else journalled

    def now(self) -> datetime:
        """The moment, in UTC."""
        return max(self._floor, self._start + timedelta(seconds=self._clock.monotonic() - self._began))

    def correct(self, asked: ClockReading) -> float:
        """Go by the store's time again. Seconds that we are off and stay off, for the store's clock jumped ahead: 0 is the rule.

        Where we are ahead, time stands still until the store's has come. A jump ahead is not followed: it would begin and end
        jobs too early, for good.
        """
        now, monotonic = self.now(), self._clock.monotonic()
        least, most = asked.least(monotonic), asked.most(monotonic)
        behind = (least - now).total_seconds()
        if behind > OFF_MAX_S + DRIFT * (monotonic - self._began):
            return behind
        if behind > 0 or now > most:
            self._floor, self._start, self._began = now, least if behind > 0 else most, monotonic
        return 0.0


class LeaderWindow:
    """Runners may be called for 30 s from when the last confirmed append or swap was first sent, and no longer."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._confirmed = float("-inf")

    def confirm(self, first_sent: float | None) -> None:
        """A write of ours, first sent at this monotonic time, stands."""
        if first_sent is not None:
            self._confirmed = max(self._confirmed, first_sent)

    def age_s(self) -> float:
        """Seconds since the last write of ours that stands was first sent."""
        return self._clock.monotonic() - self._confirmed

    def may_act(self) -> bool:
        """True while nobody can have taken over without our having had the time to notice."""
        return self.age_s() <= WINDOW_S


class StatusBeat:
    """`status.json`, swapped by the one that wrote it last. Who finds a larger epoch in it is deposed.

    `version` is its version before the journal was read. `began` is the end of the journal that this epoch began behind: the
    number after its last object, and the digest of that object.
    """

    def __init__(self, bucket: Bucket, clock: Clock, fence: LeaderWindow, version: str, began: tuple[int, str]) -> None:
        self._bucket, self._clock, self._fence = bucket, clock, fence
        self._version, self._began = version, began

    def swap(self, status: Status) -> None:
        """Write the status. Retries the same bytes until it is settled. Raises `Deposed`; `LostEnd` where another bastion has
        this epoch, too, or an earlier one knows objects behind which this epoch should have begun.
        """
        first, data, problem = self._clock.monotonic(), encode(status), ""
        while True:
            try:
                version = self._try(data, status)
            except BucketError as error:
                if str(error) != problem:
                    log.warning("the sign of life cannot be written, trying on: %s", error)
                problem = str(error)
                self._clock.sleep(RETRY_S)
                continue
            if version:
                self._version = version
                self._fence.confirm(first)
                return

    def look(self, epoch: int) -> bool:
        """False if nobody can tell now who is at work. Raises `Deposed` if a bastion of a larger epoch is or was."""
        try:
            status, _ = read(self._bucket)
        except BucketError:
            return False
        _heed(status, epoch)
        return True

    def _try(self, data: bytes, status: Status) -> str | None:
        if self._version:
            version = self._bucket.replace(layout.STATUS, data, self._version)
        else:
            version = self._bucket.create(layout.STATUS, data)
        if version:
            return version
        try:
            found = self._bucket.read(layout.STATUS)
        except Missing:
            self._version = ""
            return None
        if found.data == data:
            return found.version
        try:
            theirs = parse(found.data)
        except Newer as newer:
            raise Deposed(f"a newer version of Bastion took over: this one ends ({newer})") from newer
        _heed(theirs, status.epoch)
        if theirs is not None and theirs.epoch == status.epoch and _who(theirs) != _who(status):
            raise LostEnd(
                f"epoch {status.epoch} is also that of pid {theirs.pid} on {theirs.host}, so the journal lost what the first of "
                "them wrote: this one ends"
            )
        if theirs is not None and theirs.head and theirs.epoch < status.epoch:
            self._follows(theirs)
        self._version = found.version
        return None

    def _follows(self, theirs: Status) -> None:
        """Raise `LostEnd` if the end of an earlier epoch was lost while this one read the journal, and began."""
        number, head = self._began
        if theirs.seq > number or (theirs.seq == number and head and theirs.head != head):
            raise LostEnd(
                f"epoch {theirs.epoch} wrote the journal up to object {theirs.seq - 1}, and this one began at object {number} "
                "behind another end, so the journal lost what that one wrote: this one ends"
            )


def _heed(theirs: Status | None, epoch: int) -> None:
    if theirs is not None and theirs.epoch > epoch:
        raise Deposed(f"the bastion of epoch {theirs.epoch} on {theirs.host} took over: this one ends")


def _who(status: Status) -> tuple[str, str, int]:
    return status.host, status.boot, status.pid


def parse(data: bytes) -> Status | None:
    """A status from its bytes; None if they are nobody's. Raises `Newer`."""
    try:
        return decode(data, Status, layout.STATUS)
    except Newer:
        raise
    except RecordError:
        return None


def read(bucket: Bucket) -> tuple[Status | None, str]:
    """The status and its version; (None, "") if there is none."""
    try:
        found = bucket.read(layout.STATUS)
    except Missing:
        return None, ""
    return parse(found.data), found.version


def vacant(status: Status | None, host: str, boot: str, alive: bool) -> bool:
    """True if nobody can be at work: no status, cleanly stopped, or its process on this very host is dead."""
    if status is None or status.state == "stopped":
        return True
    return status.host == host and (status.boot != boot or not alive)
