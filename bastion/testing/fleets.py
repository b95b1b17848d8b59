"""What fleets in tests share: to wait for a condition, and to kill a worker that is a process of this machine."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress

import psutil

from ..platform.system import RandomIds
from ..stores.machine_seal import KeyedSeal

_DEADLINE_S = 180.0
_LOOK_S, _LOOK_MAX_S = 0.02, 1.0


def until(condition: Callable[[], object], what: str, *, more: Callable[[], str] = lambda: "") -> None:
    """Return when the condition holds. Fail, naming `what` and with what `more` has to say, if it does not in 3 minutes.

    After each look it rests twice as long as that has taken: what is waited for needs the processor, too.
    """
    begun = time.monotonic()
    deadline = begun + _DEADLINE_S
    while not condition():
        looked = time.monotonic()
        assert looked < deadline, f"no sign of {what}; {more()}"
        time.sleep(min(max(_LOOK_S, 2 * (looked - begun)), _LOOK_MAX_S))
        begun = time.monotonic()


def workers(machine: str) -> list[int]:
    """The pids of the worker on a machine, and of its keeper."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if _works(process.info["cmdline"], machine)]


def sealing() -> KeyedSeal:
    """A seal as a bastion has one. All that this makes have the same key, as those of one bastion after a restart."""
    return KeyedSeal(lambda: b"0" * 64, RandomIds())


class ProcessFleet:
    """The part of a fleet that is the same wherever a worker is a process of this machine."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds; fail, naming `what`, if it does not in good time."""
        until(condition, what)

    def crash_worker(self, machine: str) -> None:
        """Kill -9 of the worker with its keeper, at one moment; of nothing else."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in workers(machine):
                with suppress(ProcessLookupError):  # it had only begun to be another program
                    os.kill(pid, number)
        self.until(lambda: not workers(machine), "the worker's death")

    def take_away(self, machine: str) -> None:
        """SIGTERM to the worker, as of a system that goes down."""
        for pid in workers(machine):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def is_idle(self, machine: str) -> bool:
        """Never: such a machine ends with its worker."""
        return False

    def answers_lost(self) -> AbstractContextManager[None]:
        """Nothing: who starts a process knows it."""
        return nullcontext()


def _works(words: list[str] | None, machine: str) -> bool:
    return words is not None and "worker" in words and f"--machine={machine}" in words
