"""Prove that this bastion still leads: its time, its fencing, and its heartbeat in `status.json`."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from ..model import layout
from ..model.clocks import OFF_MAX_S, ClockReading
from ..model.codec import decode, encode
from ..model.errors import BucketError, JournalEndLost, LeadershipLost, NewerVersion, ObjectNotFound, RecordError
from ..model.interfaces import Bucket, Clock
from ..model.stored.status import Status

log = logging.getLogger("bastion")

WINDOW_S = 30.0
"""Seconds after the last confirmed write in which a bastion may act."""
RETRY_S = 1.0
"""Seconds between two tries to write the status."""
PATIENCE_S = 10.0
"""Seconds without a new heartbeat after which another bastion may take over."""
DRIFT = 0.05
"""The part by which a clock may run too slow. If the store's clock is ahead by more than that, it has jumped."""


class LeaderTime:
    """The time that decisions use. It never goes back.

    It begins at the store's time or at the journal's end, whichever is later. If the store's time is not known, it
    begins at the wall clock. It ignores later jumps of the wall clock. If the monotonic clock runs too fast or too
    slow, later readings of the store's time correct it.
    """

    def __init__(self, clock: Clock, journalled: datetime | None, asked: ClockReading | None = None) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._start = self._floor = asked.least(self._began) if asked else clock.wall()
        if journalled and journalled > self._start:
            self._floor = journalled
            self._start = self._start if asked else journalled

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return max(self._floor, self._start + timedelta(seconds=self._clock.monotonic() - self._began))

    def correct(self, asked: ClockReading) -> float:
        """Follow the store's time again.

        Return the seconds by which we stay behind because the store's clock jumped ahead; usually 0. If we are ahead,
        our time stands still until the store's time has come. A jump ahead is not followed: it would start and end jobs
        too early, and that cannot be undone.
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
    """The time in which this bastion may call runners.

    It is 30 s from when the last confirmed append or swap was first sent.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._confirmed = float("-inf")

    def confirm(self, first_sent: float | None) -> None:
        """Note that a write of ours stands, which was first sent at this monotonic time."""
        if first_sent is not None:
            self._confirmed = max(self._confirmed, first_sent)

    def age_s(self) -> float:
        """Return the seconds since the last confirmed write of ours was first sent."""
        return self._clock.monotonic() - self._confirmed

    def may_act(self) -> bool:
        """Return True while no other bastion can have taken over without time for us to notice."""
        return self.age_s() <= WINDOW_S


class StatusBeat:
    """The writer of `status.json`. It replaces only the version that it wrote last.

    If it finds a larger epoch there, this bastion is deposed. `version` is the object's version before the journal was
    read. `began` is the end of the journal behind which this epoch began: the number after its last object, and the
    digest of that object.
    """

    def __init__(
        self, bucket: Bucket, clock: Clock, window: LeaderWindow, version: str, began: tuple[int, str]
    ) -> None:
        self._bucket, self._clock, self._window = bucket, clock, window
        self._version, self._began = version, began

    def swap(self, status: Status) -> None:
        """Write the status, and retry the same bytes until the outcome is known.

        Raises `LeadershipLost` if a larger epoch is there. Raises `JournalEndLost` if another bastion has this epoch too,
        or if an earlier epoch knows objects behind which this epoch should have begun.
        """
        first, data, problem = self._clock.monotonic(), encode(status), ""
        while True:
            try:
                version = self._try(data, status)
            except BucketError as error:
                if str(error) != problem:
                    log.warning("the heartbeat, status.json, cannot be written, retrying: %s", error)
                problem = str(error)
                self._clock.sleep(RETRY_S)
                continue
            if version:
                self._version = version
                self._window.confirm(first)
                return

    def look(self, epoch: int) -> bool:
        """Return False if the status cannot be read now. Raises `LeadershipLost` if a bastion of a larger epoch leads or
        led.
        """
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
        except ObjectNotFound:
            self._version = ""
            return None
        if found.data == data:  # our write of an earlier try, whose answer was lost
            return found.version
        try:
            theirs = parse(found.data)
        except NewerVersion as newer:
            raise LeadershipLost(f"a newer version of Bastion took over: this one ends ({newer})") from newer
        _heed(theirs, status.epoch)
        if theirs is not None and theirs.epoch == status.epoch and _who(theirs) != _who(status):
            raise JournalEndLost(
                f"pid {theirs.pid} on {theirs.host} has epoch {status.epoch}, too, so the journal lost what the "
                "first of the two wrote: this bastion ends"
            )
        if theirs is not None and theirs.head and theirs.epoch < status.epoch:
            self._follows(theirs)
        self._version = found.version
        return None

    def _follows(self, theirs: Status) -> None:
        """Raise `JournalEndLost` if the end of an earlier epoch was lost when this one read the journal and began."""
        number, head = self._began
        if theirs.seq > number or (theirs.seq == number and head and theirs.head != head):
            raise JournalEndLost(
                f"epoch {theirs.epoch} wrote the journal up to object {theirs.seq - 1}, but this bastion began at object "
                f"{number} of a journal without that part: the journal lost it, and this bastion ends"
            )


def _heed(theirs: Status | None, epoch: int) -> None:
    if theirs is not None and theirs.epoch > epoch:
        raise LeadershipLost(f"the bastion of epoch {theirs.epoch} on {theirs.host} took over: this one ends")


def _who(status: Status) -> tuple[str, str, int]:
    return status.host, status.boot, status.pid


def parse(data: bytes) -> Status | None:
    """Return the status from its bytes; None if they are no status. Raises `NewerVersion`."""
    try:
        return decode(data, Status, layout.STATUS)
    except NewerVersion:
        raise
    except RecordError:
        return None


def read(bucket: Bucket) -> tuple[Status | None, str]:
    """Return the status and its version; (None, "") if there is none."""
    try:
        found = bucket.read(layout.STATUS)
    except ObjectNotFound:
        return None, ""
    return parse(found.data), found.version


def vacant(status: Status | None, host: str, boot: str, alive: bool) -> bool:
    """Return True if no bastion can be at work.

    That is so without a status, after a clean stop, or if its process ran on this very host and is dead.
    """
    if status is None or status.state == "stopped":
        return True
    return status.host == host and (status.boot != boot or not alive)
