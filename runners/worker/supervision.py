"""When a process has to end before it wants to, and how: notice to the whole tree, grace, kill."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from dataclasses import dataclass

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import Missing, RecordError
from bastion.model.interfaces import AttemptKey, Bucket, Clock
from bastion.model.state.state import Cause
from bastion.model.stored.records import PAPER_BYTES_MAX, StopOrder

from .exit_reason import KILLED
from .interfaces import Farewell, Process, WorkerPace
from .linux.bounds import Excess

SLEPT_S = 3600.0
"""Who has not looked for a stop order for so long has slept, and may have been given up and forgotten meanwhile."""

_LAST_GRACE_S = 10.0


def has_left(bucket: Bucket, job: str) -> bool:
    """True for a job that ended so long ago that the bastion has forgotten it. Raises `BucketError`.

    Its trace was written before its orders and claims were removed, and stays for ever.
    """
    try:
        bucket.read(layout.ended(job))
    except Missing:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Halt:
    """The attempt has to end. `grace_s` None: the job's own grace. `most_s`: what there is time for, whatever the grace is."""

    cause: Cause
    reason: str
    grace_s: float | None = None
    most_s: float = math.inf


class Halted(Exception):
    """Raised out of a work that is given up."""

    def __init__(self, halt: Halt) -> None:
        super().__init__(halt.reason)
        self.halt = halt


_FORGOTTEN = Halt(Cause.LOST, "the job ended while this machine slept", _LAST_GRACE_S)


class StopWatch:
    """Knows whether the attempt has to end: by a stop order, or because the machine is going away.

    A notice of the machine (SIGTERM) means: look for a stop order. If a look that began after it finds none,
    or none succeeds within `notice_s`, then the machine itself is being taken away; so it is after a farewell. An order that
    cannot be read, as it is damaged or a newer bastion's, is one to stop, with the job's own grace.
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
        """Seconds between looks; the first order found is the only one."""
        return self._pace.stop_s if self._order is None else math.inf

    def look(self) -> tuple[int, Halt | None]:
        """The number of this look, and the order it found. A task."""
        self._looks = number = self._looks + 1
        slept = self._clock.monotonic() - self._looked_at > SLEPT_S
        try:
            order = decode(self._bucket.read(self._key, PAPER_BYTES_MAX).data, StopOrder, self._key)
        except Missing:
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
        """The machine gave notice."""
        self._noticed_after = self._looks
        self._leave_at = min(self._leave_at, self._clock.monotonic() + self._pace.notice_s)

    def bidden(self, farewell: Farewell | None) -> None:
        """The machine knows whether it is about to be taken away."""
        if farewell is not None:
            self._farewell = Halt(Cause.LOST, farewell.reason, most_s=farewell.seconds)

    def halt(self) -> Halt | None:
        """Why to end now, if so."""
        if self._order is not None or self._farewell is not None:
            return self._order or self._farewell
        if self._clock.monotonic() >= self._leave_at:
            return Halt(Cause.LOST, "the machine is being taken away")
        return None

    def settled(self) -> Callable[[], bool]:
        """Is it known whether a command that has failed now was told to end?

        Where a machine gives notice to all its processes, the command may end of it before the notice is taken in here: by
        the signal, or with a code of its own once it has saved.
        """
        heard = self._clock.monotonic() + self._pace.notice_late_s
        return lambda: self.halt() is not None or (math.isinf(self._leave_at) and self._clock.monotonic() >= heard)

    def heed(self) -> float:
        """A pump's turn. Raises `Halted` when it is time."""
        halt = self.halt()
        if halt is not None:
            raise Halted(halt)
        return self._pace.poll_s


class TimeLimit:
    """How long an attempt may run, from when its setup begins, or else its command."""

    def __init__(self, clock: Clock, seconds: float | None) -> None:
        self._clock = clock
        self._seconds = seconds
        self._at = math.inf

    def begin(self) -> None:
        """Count from now, unless it counts already."""
        if self._seconds is not None:
            self._at = min(self._at, self._clock.monotonic() + self._seconds)

    def left(self) -> float:
        """Seconds, 0 when it is over."""
        return max(0.0, self._at - self._clock.monotonic())

    def halt(self) -> Halt | None:
        """Why to end now, if so."""
        if self.left() > 0:
            return None
        return Halt(Cause.TIME_LIMIT, f"the time limit of {self._seconds:g} s is over")

    def heed(self) -> float:
        """A pump's turn. Raises `Halted` when it is over."""
        halt = self.halt()
        if halt is not None:
            raise Halted(halt)
        return self.left()


class Supervision:
    """One process from its start to the end of its tree. The first reason to end counts, and gets the only grace."""

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
        """A pump's turn: begin the end if it is time, kill what outlasts its grace."""
        if self.halt is None and not self._ended:
            self._begin(self._stops.halt() or self._limit.halt())
        now = self._clock.monotonic()
        if now >= self._kill_at:
            self._process.signal(signal.SIGKILL)
            return self._pace.kill_s
        left = math.inf if self.halt or self._ended else self._limit.left()
        return max(0.0, min(self._pace.poll_s, self._kill_at - now, left))

    def command_ended(self) -> None:
        """The command ended: what it left behind gets notice too, unless it had some, and a short grace."""
        self._ended = True
        if self.halt is None and self._process.alive():
            self._notify(min(self._grace_s, self._pace.rest_grace_s))

    def looked(self, excess: Excess | None) -> None:
        """Take in a look at the bounds: what breaks one gets no grace, and fails also if its command ends well."""
        if excess is None:
            return
        if self.halt is None:
            self.halt, self._over = Halt(excess.cause, excess.reason), True
        self._kill_at = self._clock.monotonic()

    def all_ended(self, code: int) -> int:
        """Nothing is left of the command, which ended with this exit code: the one that counts."""
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
