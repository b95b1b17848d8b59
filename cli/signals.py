"""How a program in the foreground is asked to end."""

from __future__ import annotations

import os
import signal

LIMIT_S = 15
"""A program that was asked to end has so long for its last words: less than a supervisor waits before it kills."""


class Stopping:
    """True once SIGTERM or SIGINT came. The second one of a kind has its usual, rude effect.

    Who has not ended `limit_s` seconds later, since a store does not answer, is ended with exit code 1: whatever was not
    written by then is nobody's, and is decided anew by the next one.
    """

    def __init__(self, limit_s: int = LIMIT_S) -> None:
        self._asked = False
        self._limit_s = limit_s
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def __call__(self) -> bool:
        """Whether to stop."""
        return self._asked

    def wait(self) -> None:
        """Return when a signal comes."""
        os.read(self._read, 1)

    def _ask(self, number: int, _frame: object) -> None:
        self._asked = True
        signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, self._give_up)
        signal.alarm(self._limit_s)

    def _give_up(self, _number: int, _frame: object) -> None:
        text = f"error: no last word in {self._limit_s} s, the bucket does not answer: ended without it; what runs goes on\n"
        os.write(2, text.encode())
        os._exit(1)
