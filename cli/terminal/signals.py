"""Stop a foreground program on a signal, and log who sent it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import suppress
from typing import Any

import psutil

from bastion.platform.system import SystemClock, ThreadTasks
from bastion.runners.worker.linux.unix_account import name_of

LIMIT_S = 15
"""Seconds that a program has to end after the first signal. This is less than a supervisor waits before it kills."""

ASKS = frozenset({signal.SIGTERM, signal.SIGINT})
_WAIT, _WAIT_FOR = getattr(signal, "sigwaitinfo", None), getattr(signal, "sigtimedwait", None)
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty")

log = logging.getLogger("bastion")


class StopSignals:
    """A flag that is True once SIGTERM or SIGINT came. A second signal of the same kind ends the process at once.

    The process also ends, with exit code 1, `limit_s` seconds after the signal, for example if a store does not answer.
    What was not written by then is lost, and the next process decides it again.
    """

    def __init__(self, limit_s: int = LIMIT_S) -> None:
        self._asked = False
        self._limit_s = limit_s
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)  # set_wakeup_fd requires it
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in ASKS:
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Return True if the program has to stop."""
        return self._asked

    def wait(self) -> None:
        """Return when a signal comes."""
        os.read(self._read, 1)

    def watch(self) -> None:
        """Log the sender of a signal, too. A handler cannot learn it, so a thread waits for the signals.

        Call it before other threads start: the signals are blocked in all threads, so that they come to no other one.
        Programs that a thread starts must not inherit the blocking. A thread that has started a program has the signals
        unblocked and may receive one. Then the handler does the same work, without the sender.
        """
        if _WAIT is None:  # macOS
            return
        signal.pthread_sigmask(signal.SIG_BLOCK, ASKS)
        sys.addaudithook(_let_through)
        ThreadTasks().start("signals", self._watch)

    def _watch(self) -> None:
        assert _WAIT
        assert _WAIT_FOR
        clock, known, deadline = SystemClock(), set[int](), float("inf")
        while True:
            found: Any = _WAIT_FOR(ASKS, max(0.0, deadline - clock.monotonic())) if known else _WAIT(ASKS)
            if found is None:
                self._give_up()
                return
            if found.si_signo in known:
                _die(found.si_signo)
            known.add(found.si_signo)
            deadline = clock.monotonic() + self._limit_s
            log.info("asked to stop: %s", told(found))
            self._asked = True
            with suppress(BlockingIOError):
                os.write(self._write, b"!")

    def _ask(self, number: int, _frame: object) -> None:
        log.info("asked to stop: %s; the sender is not known", signal.Signals(number).name)
        self._asked = True
        signal.signal(number, signal.SIG_DFL)  # the second signal of this kind ends the process
        signal.signal(signal.SIGALRM, self._give_up)
        signal.alarm(self._limit_s)

    def _give_up(self, *_: object) -> None:
        text = f"error: the bucket did not answer within {self._limit_s} s; the last status is lost, and running jobs continue\n"
        os.write(2, text.encode())  # unbuffered: this may run inside a signal handler
        os._exit(1)  # a usual exit would wait for threads that hang


def told(found: Any) -> str:
    """Return the signal and its sender: `SIGTERM from pid 812 (bash) of ada (uid 1000)`."""
    name = signal.Signals(found.si_signo).name
    if found.si_code > 0 or not found.si_pid:  # from the kernel (Ctrl-C), or from outside of our container
        return f"{name} from the terminal, or from outside of this container"
    program = ""
    with suppress(psutil.Error):
        program = f" ({psutil.Process(found.si_pid).name()})"
    return f"{name} from pid {found.si_pid}{program} of {name_of(found.si_uid)} (uid {found.si_uid})"


def _let_through(event: str, _args: object) -> None:
    """Unblock the signals in a thread that is about to start a program: the program must not inherit the blocking."""
    if event in _STARTS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKS)


def _die(number: int) -> None:
    """End at once, with the exit code of a program that this signal ended.

    It also works while the main thread hangs.
    """
    os._exit(128 + number)
