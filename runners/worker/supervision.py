"""The early end of a process: when it is due, and how it is done: notice to the whole tree, grace, kill."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from dataclasses import dataclass

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import ObjectNotFound, RecordError
from bastion.model.interfaces import AttemptKey, Bucket, Clock
from bastion.model.state.state import Cause
from bastion.model.stored.records import RECORD_BYTES_MAX, StopOrder

from .exit_reason import KILLED
from .interfaces import Process, TerminationNotice, WorkerPace
from .linux.bounds import BrokenBound

SLEPT_S = 3600.0
"""A worker that has not looked for a stop order for so long has slept. Meanwhile its job may be ended and forgotten."""

_LAST_GRACE_S = 10.0


def has_left(bucket: Bucket, job: str) -> bool:
    """Return True for a job that ended so long ago that the bastion has forgotten it. Raises `BucketError`.

    Its tombstone was written before its orders and claims were removed, and stays for ever.
    """
    try:
        bucket.read(layout.ended(job))
    except ObjectNotFound:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Halt:
    """A reason to end the attempt.

    cause: the cause that the attempt ends with.
    reason: the reason in words, for the user.
    grace_s: the grace in seconds; None means the job's own grace.
    most_s: the most seconds that there are, whatever the grace is.
    """

    cause: Cause
    reason: str
    grace_s: float | None = None
    most_s: float = math.inf


class Halted(Exception):
    """Raised out of a work that is given up, with the `halt` that ended it."""

    def __init__(self, halt: Halt) -> None:
        super().__init__(halt.reason)
        self.halt = halt


_FORGOTTEN = Halt(Cause.LOST, "the job ended while this machine slept", _LAST_GRACE_S)


class StopWatch:
    """The check for reasons to end the attempt: a stop order, or a machine that is going away.

    A notice of the machine (SIGTERM) means: look for a stop order. If a look that began after the notice finds none, or
    no look succeeds within `notice_s`, then the machine itself is being taken away. A farewell means the same. An order
    that cannot be read, because it is damaged or from a newer bastion, counts as an order to stop, with the job's own
    grace.
    """

    def __init__(self, bucket: Bucket, key: AttemptKey, clock: Clock, pace: WorkerPace) -> None:
        self._bucket = bucket
        self._job = key.job
        self._key = layout.stop(key)
        self._clock = clock
        self._pace = pace
        self._order: Halt | None = None
        self._looks = 0
        self._looked_at = clock.monotonic()
        self._noticed_after = math.inf  # this many looks had begun
        self._leave_at = math.inf
        self._farewell: Halt | None = None

    def period(self) -> float:
        """Return the seconds between looks. After the first order there are no more looks."""
        return self._pace.stop_s if self._order is None else math.inf

    def look(self) -> tuple[int, Halt | None]:
        """Return the number of this look, and the order it found. A task."""
        self._looks = number = self._looks + 1
        slept = self._clock.monotonic() - self._looked_at > SLEPT_S
        try:
            order = decode(self._bucket.read(self._key, RECORD_BYTES_MAX).data, StopOrder, self._key)
        except ObjectNotFound:
            return number, _FORGOTTEN if slept and has_left(self._bucket, self._job) else None
        except RecordError as wrong:
            return number, Halt(Cause.CANCELLED, str(wrong))
        finally:
            self._looked_at = self._clock.monotonic()
        return number, Halt(order.cause, order.reason, order.grace_s)

    def looked(self, result: tuple[int, Halt | None]) -> None:
        """Take in the result of a look."""
        number, order = result
        self._order = self._order or order
        if number > self._noticed_after:
            self._leave_at = self._clock.monotonic()

    def noticed(self) -> None:
        """Take in a notice of the machine."""
        self._noticed_after = self._looks
        self._leave_at = min(self._leave_at, self._clock.monotonic() + self._pace.notice_s)

    def bidden(self, farewell: TerminationNotice | None) -> None:
        """Take in a farewell of the machine; None if it has none."""
        if farewell is not None:
            self._farewell = Halt(Cause.LOST, farewell.reason, most_s=farewell.seconds)

    def halt(self) -> Halt | None:
        """Return the reason to end now; None if there is none."""
        if self._order is not None or self._farewell is not None:
            return self._order or self._farewell
        if self._clock.monotonic() >= self._leave_at:
            return Halt(Cause.LOST, "the machine is being taken away")
        return None

    def settled(self) -> Callable[[], bool]:
        """Return a check that is True once it is clear whether a failed command had been asked to end.

        Where a machine gives notice to all its processes, the command may end before the notice arrives here: by the
        signal, or with a code of its own after it has saved its state.
        """
        heard = self._clock.monotonic() + self._pace.notice_late_s
        return lambda: self.halt() is not None or (math.isinf(self._leave_at) and self._clock.monotonic() >= heard)

    def check_stop(self) -> float:
        """A turn of the work loop. Raises `Halted` when it is time to end."""
        halt = self.halt()
        if halt is not None:
            raise Halted(halt)
        return self._pace.poll_s


class TimeLimit:
    """The time that an attempt may run, counted from the start of its setup, or of its command if there is no setup."""

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._at = math.inf

    def begin(self) -> None:
        """Start to count, unless the count has started already."""
        if self._seconds is not None:
            self._at = min(self._at, self._clock.monotonic() + self._seconds)

    def left(self) -> float:
        """Return the seconds that are left; 0 when the limit is over."""
        return max(0.0, self._at - self._clock.monotonic())

    def halt(self) -> Halt | None:
        """Return the reason to end now; None if there is none."""
        if self.left() > 0:
            return None
        return Halt(Cause.TIME_LIMIT, f"the time limit of {self._seconds:g} s is over")

    def check_stop(self) -> float:
        """A turn of the work loop. Raises `Halted` when the limit is over."""
        halt = self.halt()
        if halt is not None:
            raise Halted(halt)
        return self.left()


class Supervision:
    """The supervision of one process, from its start to the end of its tree.

    The first reason to end counts, and gets the only grace.
    """

    def __init__(
        self, process: Process, clock: Clock, stops: StopWatch, pace: WorkerPace, *, limit: TimeLimit, grace_s: float
    ) -> None:
        self.halt: Halt | None = None
        self._process = process
        self._clock = clock
        self._stops = stops
        self._pace = pace
        self._grace_s = grace_s
        self._limit = limit
        self._kill_at = math.inf
        self._ended = self._over = False

    def turn(self) -> float:
        """Take a turn of the work loop: begin the end if it is time, and kill what outlasts its grace."""
        if self.halt is None and not self._ended:
            self._begin(self._stops.halt() or self._limit.halt())
        now = self._clock.monotonic()
        if now >= self._kill_at:
            self._process.signal(signal.SIGKILL)
            return self._pace.kill_s
        left = math.inf if self.halt or self._ended else self._limit.left()
        return max(0.0, min(self._pace.poll_s, self._kill_at - now, left))

    def command_ended(self) -> None:
        """Note the end of the command. The rest of the tree gets a short grace, and a notice unless it had one."""
        self._ended = True
        if self.halt is None and self._process.alive():
            self._notify(min(self._grace_s, self._pace.rest_grace_s))

    def looked(self, excess: BrokenBound | None) -> None:
        """Take in a look at the bounds. A tree that breaks one gets no grace, and fails even after exit code 0."""
        if excess is None:
            return
        if self.halt is None:
            self.halt, self._over = Halt(excess.cause, excess.reason), True
        self._kill_at = self._clock.monotonic()

    def all_ended(self, code: int) -> int:
        """Return the exit code that counts, when no process is left and the command ended with `code`."""
        if code and self._process.guard:
            self.looked(self._process.guard.look())
        return KILLED if self._over and code == 0 else code

    def _begin(self, halt: Halt | None) -> None:
        if halt is not None:
            self.halt = halt
            self._notify(min(self._grace_s if halt.grace_s is None else halt.grace_s, halt.most_s))

    def _notify(self, grace_s: float) -> None:
        self._process.signal(signal.SIGTERM)
        self._kill_at = self._clock.monotonic() + grace_s
