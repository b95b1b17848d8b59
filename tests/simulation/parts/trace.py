"""What happens in a world, step by step: counted, hashed and told to who listens. One seed is one run, bit for bit."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable

_LINES = 4096


class Trace:
    """A step is one answered call, one fault or one move of the clock. All of it goes into one hash.

    `seen` counts the faults, and what else is worth counting. `listener` is told of every fault and of what is `said`.
    """

    def __init__(self) -> None:
        self.steps = 0
        self.seen: Counter[str] = Counter()
        self.listener: Callable[[str], None] | None = None
        self._lines: list[str] = []
        self._hash = hashlib.blake2b(digest_size=16)

    def answered(self, call: str, answer: object) -> None:
        """A door answered."""
        self.steps += 1
        self.note(f"{call} = {answer}")

    def moved(self, now: float) -> None:
        """The clock moved on."""
        self.steps += 1
        self.note(now.hex())

    def fault(self, kind: str, where: str) -> None:
        """Something went wrong."""
        self.steps += 1
        self.seen[kind] += 1
        self.note(f"{kind} {where}")
        self.say(f"fault: {kind} {where}")

    def note(self, line: str) -> None:
        """Something that is no step, and part of the run all the same."""
        self._lines.append(line)
        if len(self._lines) >= _LINES:
            self._settle()

    def say(self, line: str) -> None:
        """A line for the story; it is no part of the run."""
        if self.listener is not None:
            self.listener(line)

    def digest(self) -> str:
        """The hash of all so far."""
        self._settle()
        return self._hash.hexdigest()

    def _settle(self) -> None:
        self._hash.update("\n".join(self._lines).encode("utf-8", "backslashreplace") + b"\n")
        self._lines.clear()
