"""Helpers for fleets in tests: wait for a condition, and kill a worker that is a process of this machine."""

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
    """Return when the condition holds. Fail after 3 minutes, naming `what` and adding the text of `more`.

    After each check it rests twice as long as the check took, because the work that it waits for needs the processor,
    too.
    """
    begun = time.monotonic()
    deadline = begun + _DEADLINE_S
    while not condition():
        looked = time.monotonic()
        assert looked < deadline, f"no sign of {what}; {more()}"
        time.sleep(min(max(_LOOK_S, 2 * (looked - begun)), _LOOK_MAX_S))
        begun = time.monotonic()


def workers(machine: str) -> list[int]:
    """Return the pids of the worker on a machine, and of its keeper."""
    return [process.pid for process in psutil.process_iter(["cmdline"]) if _works(process.info["cmdline"], machine)]


def sealing() -> KeyedSeal:
    """Return a seal like a bastion's. All of these have the same key, like one bastion before and after a restart."""
    return KeyedSeal(lambda: b"0" * 64, RandomIds())


class ProcessFleet:
    """The part of a fleet that is the same wherever a worker is a process of this machine."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds. Fail, naming `what`, if it does not hold in good time."""
        until(condition, what)

    def crash_worker(self, machine: str) -> None:
        """Kill the worker and its keeper with signal 9, at the same moment, and nothing else."""
        # Stop both before the kill, so that neither reacts to the death of the other.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in workers(machine):
                with suppress(ProcessLookupError):  # a child before its exec looks like the worker, and may be gone
                    os.kill(pid, number)
        self.until(lambda: not workers(machine), "the worker's death")

    def take_away(self, machine: str) -> None:
        """Send SIGTERM to the worker, as a system that goes down does."""
        for pid in workers(machine):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def is_idle(self, machine: str) -> bool:
        """Return False: such a machine ends with its worker."""
        return False

    def answers_lost(self) -> AbstractContextManager[None]:
        """Do nothing: a start of a process always gives its answer."""
        return nullcontext()


def _works(words: list[str] | None, machine: str) -> bool:
    return words is not None and "worker" in words and f"--machine={machine}" in words
