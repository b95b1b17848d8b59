"""The health of the worker's GPUs: checked at intervals, and at once after an error, without trust in their driver."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import msgspec

from bastion.model.interfaces import Clock
from bastion.model.stored.gpu_facts import XIDS_MAX, Gpu, Xid, blame

from .interfaces import Gpus, WorkerPace


class GpuHealth:
    """The last look at the GPUs and the errors since.

    `look` and `listen` are tasks; all else belongs to the worker's loop.
    """

    def __init__(self, gpus: Gpus, indices: Sequence[str], clock: Clock, pace: WorkerPace) -> None:
        self.seen: list[Gpu] = []
        self._indices = indices
        self._gpus, self._clock, self._pace = gpus, clock, pace
        self._first: list[Gpu] | None = None
        self._xids: dict[str, list[Xid]] = {}
        self._deaf = False
        self._answered_at, self._answered = clock.monotonic(), clock.wall()
        self._begun = -math.inf

    def look(self) -> tuple[float, list[Gpu]]:
        """Return when this look began, and what it showed."""
        return self._clock.monotonic(), self._gpus.sample()

    def looked(self, result: tuple[float, list[Gpu]]) -> bool:
        """Take in a look. Return True for the first one: from then on errors can be listened to."""
        self._begun, gpus = result
        self._answered_at, self._answered = self._clock.monotonic(), self._clock.wall()
        first, self._first = self._first is None, self._first or gpus
        self.seen = [self._with_errors(gpu) for gpu in gpus]
        return first

    def listen(self) -> list[tuple[str, int]] | None:
        """Wait for errors."""
        return self._gpus.errors()

    def listen_period(self) -> float:
        """Return the seconds until the next wait for errors, which are more while the driver reports none."""
        return self._pace.gpu_s if self._deaf else self._pace.report_s

    def heard(self, errors: list[tuple[str, int]] | None) -> bool:
        """Take in errors. Return True if there is a new one, which calls for a look at once."""
        self._deaf, news = errors is None, False
        for index, code in errors or ():
            known = self._xids.setdefault(index, [])
            if len(known) < XIDS_MAX and code not in [xid.code for xid in known]:
                known.append(Xid(code=code, at=self._clock.wall()))
                news = True
        self.seen = [self._with_errors(gpu) for gpu in self.seen]
        return news

    def check(self) -> None:
        """Mark the GPUs if their driver has not answered for too long."""
        if self._clock.monotonic() - self._answered_at >= self._pace.driver_s:
            since = self._answered.replace(microsecond=0).isoformat()
            known = self.seen or [Gpu(index=index) for index in self._indices]
            self.seen = [_silent(gpu, since) for gpu in known]

    def fresh_since(self, moment: float) -> Callable[[], bool]:
        """Return a check: True once a look that began after this monotonic time is back, or the time for it is over."""
        deadline = moment + self._pace.last_look_s
        return lambda: self._begun >= moment or self._clock.monotonic() >= deadline

    def blame(self) -> str:
        """Return what broke since the first look, in one line."""
        return blame(self._first or (), self.seen)

    def _with_errors(self, gpu: Gpu) -> Gpu:
        xids = self._xids.get(gpu.index)
        return msgspec.structs.replace(gpu, xids=list(xids)) if xids else gpu


def _silent(gpu: Gpu, since: str) -> Gpu:
    return msgspec.structs.replace(gpu, problem=f"the driver has not answered since {since}")
