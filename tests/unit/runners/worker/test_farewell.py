"""A machine that is about to be taken away: the job gets notice, and no more grace than there is time for."""

from __future__ import annotations

import signal

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause
from bastion.runners.worker.interfaces import TerminationNotice, WorkerPace
from bastion.runners.worker.supervision import Halt, Halted, StopWatch, Supervision, TimeLimit
from bastion.stores.memory import MemoryBucket
from tests.unit.bundler.doors import TestClock

KEY = AttemptKey("train-12345678", 0, 0)
FAREWELL = TerminationNotice("Google preempts this machine", 20.0)


class Stubborn:
    """A process that no signal ends; it remembers each, and when it came."""

    def __init__(self, clock: TestClock) -> None:
        self.got: list[tuple[int, float]] = []
        self._clock = clock

    def wait(self) -> int:
        raise NotImplementedError

    def wait_rest(self) -> None:
        raise NotImplementedError

    def alive(self) -> bool:
        return True

    def signal(self, number: int) -> None:
        self.got.append((number, self._clock.monotonic()))

    def out_of_memory(self) -> bool:
        return False


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def stops(clock: TestClock) -> StopWatch:
    return StopWatch(MemoryBucket(f"memory://{id(clock)}"), KEY, clock, WorkerPace())


def test_without_a_farewell_nothing_ends(stops: StopWatch) -> None:
    stops.bidden(None)
    assert stops.halt() is None


def test_a_farewell_is_the_machines_loss(stops: StopWatch) -> None:
    stops.bidden(FAREWELL)
    stops.bidden(None)
    assert stops.halt() == Halt(Cause.LOST, FAREWELL.reason, most_s=20.0)
    with pytest.raises(Halted):
        stops.check_stop()


def test_an_order_to_stop_counts_before_it(stops: StopWatch) -> None:
    stops.bidden(FAREWELL)
    order = Halt(Cause.CANCELLED, "cancelled by ada", 5.0)
    stops.looked((1, order))
    assert stops.halt() == order


@pytest.mark.parametrize(("grace_s", "killed_at"), [(600.0, 20.0), (3.0, 3.0)])
def test_its_grace_is_the_jobs_own_as_far_as_there_is_time(
    clock: TestClock, stops: StopWatch, grace_s: float, killed_at: float
) -> None:
    process = Stubborn(clock)
    supervision = Supervision(process, clock, stops, WorkerPace(), limit=TimeLimit(clock, None), grace_s=grace_s)
    stops.bidden(FAREWELL)
    while len(process.got) < 2:
        clock.sleep(supervision.turn())
    assert process.got == [(signal.SIGTERM, 0.0), (signal.SIGKILL, killed_at)]
