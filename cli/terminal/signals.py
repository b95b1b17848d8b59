"""How a program in the foreground is asked to end, and by whom."""

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
"""A program that was asked to end has so long for its last words: less than a supervisor waits before it kills."""

ASKS = frozenset({signal.SIGTERM, signal.SIGINT})
_WAIT, _WAIT_FOR = getattr(signal, "sigwaitinfo", None), getattr(signal, "sigtimedwait", None)
_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.forkpty")

log = logging.getLogger("bastion")


class StopSignals:
    """True once SIGTERM or SIGINT came. The second one of a kind has its usual, rude effect.

    Who has not ended `limit_s` seconds later, since a store does not answer, is ended with exit code 1: whatever was not
    written by then is nobody's, and is decided anew by the next one.
    """

    def __init__(self, limit_s: int = LIMIT_S) -> None:
        self._asked = False
        self._limit_s = limit_s
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in ASKS:
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked

    def wait(self) -> None:
        """Return when a signal comes."""
        os.read(self._read, 1)

    def watch(self) -> None:
        """Log the sender of a signal, too, which a handler is not told: a thread waits for them. Before there are others.

        So that the signal comes to no other thread it is blocked in all; what they start must not inherit that. A thread that
        has started something may get it once in a while: then the handler does the same, and knows no sender.
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
        log.info("asked to stop: %s; its sender is not known", signal.Signals(number).name)
        self._asked = True
        signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, self._give_up)
        signal.alarm(self._limit_s)

    def _give_up(self, *_: object) -> None:
        text = f"error: no last word in {self._limit_s} s, the bucket does not answer: ended without it; what runs goes on\n"
        os.write(2, text.encode())
        os._exit(1)


def told(found: Any) -> str:
    """Which signal, and who sent it: `SIGTERM from pid 812 (bash) of ada (uid 1000)`."""
    name = signal.Signals(found.si_signo).name
    if found.si_code > 0 or not found.si_pid:  # by the kernel: a terminal's Ctrl-C; or from outside of our container
        return f"{name} from the terminal, or from outside of this container"
    program = ""
    with suppress(psutil.Error):
        program = f" ({psutil.Process(found.si_pid).name()})"
    return f"{name} from pid {found.si_pid}{program} of {name_of(found.si_uid)} (uid {found.si_uid})"


def _let_through(event: str, _args: object) -> None:
    """A thread that starts a program: it begins with the signals as they usually are."""
    if event in _STARTS:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKS)


def _die(number: int) -> None:
    """At once, with the code of a program that this signal ended; also where the first thread hangs."""
    os._exit(128 + number)
