"""How a program in the foreground is asked to end."""

from __future__ import annotations

import os
import signal


class Stopping:
    """True once SIGTERM or SIGINT came. The second one of a kind has its usual, rude effect."""

    def __init__(self) -> None:
        self._asked = False
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
