"""Virtual time: strands of the real code run one at a time, in an order that a seed decides. Nothing ever really waits."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

from bastion.model.interfaces import TaskEnd
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.trace import Trace

START = datetime(2026, 1, 1, tzinfo=UTC)


TURN_S = 0.001
"""What a turn of a loop that waits for nothing takes at least."""

STILL_MAX = 50_000
"""So many turns of strands without time going on are a loop that waits for nothing."""


class Life:
    """What strands belong to: a program or a machine. Nothing of it runs on after its end, not even its `finally`.

    `paused_until`: its strands stand still till then, as those of a suspended process do.
    """

    def __init__(self) -> None:
        self.alive = True
        self.paused_until = 0.0

    def end(self) -> None:
        self.alive = False


class Strand:
    """One line of execution."""

    def __init__(self, life: Life, work: Callable[[], Any], hub: greenlet, number: int) -> None:
        self.life = life
        self.ticket = 0
        self.number = str(number)
        self.greenlet = greenlet(work, hub)


class Kernel:
    """Runs strands. Among those that are due at the same moment the seed chooses. The `trace` hears of every turn."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.trace = Trace()
        self.random = Random(seed)
        self._hub = getcurrent()
        self._strands: dict[greenlet, Strand] = {}
        self._due: list[tuple[float, float, int, int, Strand]] = []
        self._count = self._still = 0

    def spawn(self, life: Life, work: Callable[[], Any], after: float = 0.0) -> None:
        """Begin `work` after so many seconds."""
        strand = Strand(life, work, self._hub, self._count)
        self._strands[strand.greenlet] = strand
        self._at(self.now + after, strand)

    def sleep(self, seconds: float) -> None:
        """Let the others run for so long. Outside of strands: run them."""
        if getcurrent() is self._hub:
            self.run(lambda: False, seconds)
        else:
            self._at(self.now + max(0.0, seconds), self.current())
            self._hub.switch()

    def current(self) -> Strand:
        """The strand that runs now."""
        return self._strands[getcurrent()]

    def park(self, seconds: float = math.inf) -> None:
        """Stop the current strand until `wake`, or for so many seconds."""
        if seconds < math.inf:
            self._at(self.now + max(0.0, seconds), self.current())
        self._hub.switch()

    def wake(self, strand: Strand) -> None:
        """Let a parked strand go on."""
        strand.ticket += 1
        self._at(self.now, strand)

    def run(self, until: Callable[[], bool], limit: float) -> bool:
        """Run until the condition holds: True; or until `limit` seconds have passed, or nothing can happen any more."""
        end = self.now + limit
        while not until():
            if not self._due or self._due[0][0] > end:
                self.now = end if limit < math.inf else self.now
                return False
            self._step()
        return True

    def end(self) -> None:
        """Let go of all strands. What one that stands still holds would never be collected: nobody sees into it."""
        strands, self._strands = list(self._strands.values()), {}
        self._due.clear()
        for strand in strands:
            strand.greenlet.throw()

    def _step(self) -> None:
        when, _, _, ticket, strand = heapq.heappop(self._due)
        if strand.ticket != ticket or not strand.life.alive:
            return
        strand.ticket += 1
        self._still += 1
        if when > self.now:
            self.now, self._still = when, 0
            self.trace.moved(when)
        if strand.life.paused_until > when:
            self._at(strand.life.paused_until, strand)
            return
        if self._still > STILL_MAX:
            raise Broken("time stands still: something turns without end")
        self.trace.note(strand.number)
        strand.greenlet.switch()
        if strand.greenlet.dead:
            del self._strands[strand.greenlet]

    def _at(self, when: float, strand: Strand) -> None:
        self._count += 1
        heapq.heappush(self._due, (when, self.random.random(), self._count, strand.ticket, strand))


class Event:
    """Something that happens once; or again, after `clear`."""

    def __init__(self, kernel: Kernel) -> None:
        self.is_set = False
        self._kernel = kernel
        self._waiting: list[Strand] = []

    def set(self) -> None:
        self.is_set = True
        waiting, self._waiting = self._waiting, []
        for strand in waiting:
            self._kernel.wake(strand)

    def clear(self) -> None:
        self.is_set = False

    def wait(self, seconds: float = math.inf) -> bool:
        """True once it happened; False if the time passed first."""
        if not self.is_set:
            strand = self._kernel.current()
            self._waiting.append(strand)
            self._kernel.park(seconds)
            if strand in self._waiting:
                self._waiting.remove(strand)
        return self.is_set


class SimClock:
    """`Clock` in virtual time. Its time of day is `off_s` ahead."""

    def __init__(self, kernel: Kernel, off_s: float = 0.0) -> None:
        self._kernel, self._off_s = kernel, off_s

    def wall(self) -> datetime:
        return START + timedelta(seconds=self._kernel.now + self._off_s)

    def monotonic(self) -> float:
        return self._kernel.now

    def sleep(self, seconds: float) -> None:
        self._kernel.sleep(seconds)


class SimIds:
    """`Ids` that a seed decides."""

    def __init__(self, kernel: Kernel) -> None:
        self._random, self._trace = kernel.random, kernel.trace

    def new(self) -> str:
        name = f"{self._random.getrandbits(128):032x}"
        self._trace.note(name)
        return name


class SimTasks:
    """`Tasks` as strands of one life, whose clock runs at this rate."""

    def __init__(self, kernel: Kernel, life: Life, rate: float = 1.0) -> None:
        self._kernel, self._rate = kernel, rate
        self._life = life
        self._begun: set[Hashable] = set()
        self._results: list[TaskEnd] = []
        self._ended = Event(kernel)

    def start(self, task: Hashable, work: Callable[[], Any]) -> bool:
        if task in self._begun:
            return False
        self._begun.add(task)
        self._kernel.spawn(self._life, lambda: self._run(task, work))
        return True

    def finished(self) -> list[TaskEnd]:
        results, self._results = self._results, []
        self._begun -= {end.task for end in results}
        self._ended.clear()
        return results

    def wait(self, seconds: float) -> None:
        self._ended.wait(max(TURN_S, seconds / self._rate))

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [_attempt(work, item) for item in items]

    def close(self) -> None:
        pass

    def _run(self, task: Hashable, work: Callable[[], Any]) -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as problem:
            error = problem
        self._results.append(TaskEnd(task, result, error))
        self._ended.set()


def _attempt(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except Exception as problem:
        return problem
