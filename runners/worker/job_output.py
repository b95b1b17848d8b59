"""The output of the process as readers may see it: the machine's output file, with the values of secrets hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .interfaces import WorkerMachine
from .secret_mask import EVERYTHING, Mask


class JobOutput:
    """The only way to the output. Call `hide` before a process can know the values to hide."""

    def __init__(self, machine: WorkerMachine) -> None:
        self._machine = machine
        self._mask = Mask()

    def hide(self, values: Iterable[str]) -> None:
        """Hide these values from now on."""
        self._mask = Mask(values)

    def hide_all(self) -> None:
        """Hide every byte from now on, because the values to hide are unknown."""
        self._mask = EVERYTHING

    @property
    def size(self) -> int:
        """The size of the output so far, in bytes."""
        return self._machine.log_size()

    @property
    def reach(self) -> int:
        """The number of bytes on either side of a piece that decide which of its bytes are hidden."""
        return self._mask.reach

    def read(self, start: int, size: int, *, more: bool = False) -> bytes:
        """Return at most `size` bytes from `start` on.

        `more`: the output may grow, so the end is left out while it may still become a value to hide.
        """
        reach = self._mask.reach
        first = max(0, start - reach)
        data = self._machine.read_log(first, start - first + size + reach)
        end = min(len(data) - (self._mask.held(data) if more else 0), start - first + size)
        return self._mask.hidden(data)[start - first : max(end, start - first)]

    def joint(self, end: int, size: int) -> bytes:
        """Return the last bytes before `end` as the process printed them.

        They serve to compare later, and are shown to no reader.
        """
        start = max(0, end - size)
        return self._machine.read_log(start, end - start)

    def last(self, size: int, start: int = 0) -> bytes:
        """Return at most the last `size` bytes of those from `start` on."""
        end = self.size
        return self.read(max(start, end - size), size)

    def forget(self, start: int, end: int) -> None:
        """Free the disk space of output that is not read again."""
        self._machine.forget_log(start, end)

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        """Store which parts of the output were dropped."""
        self._machine.keep_gaps(gaps)

    def gaps(self) -> Mapping[int, int]:
        """Return the gaps that were stored last."""
        return self._machine.gaps()
