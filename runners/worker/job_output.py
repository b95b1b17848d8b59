"""What the process prints, as others may see it: the machine's output file, with the values of secrets hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .interfaces import WorkerMachine
from .secret_mask import EVERYTHING, Mask


class JobOutput:
    """The only way to the output. `hide` is called before a process can know what is to be hidden."""

    def __init__(self, machine: WorkerMachine) -> None:
        self._machine = machine
        self._mask = Mask()

    def hide(self, values: Iterable[str]) -> None:
        """From now on these values are hidden."""
        self._mask = Mask(values)

    def hide_all(self) -> None:
        """From now on no byte is shown, for nobody knows what is to be hidden."""
        self._mask = EVERYTHING

    @property
    def size(self) -> int:
        """Bytes so far."""
        return self._machine.log_size()

    @property
    def reach(self) -> int:
        """How many bytes around what is read decide what is hidden of it."""
        return self._mask.reach

    def read(self, start: int, size: int, *, more: bool = False) -> bytes:
        """At most `size` bytes from `start` on. `more`: the end is left out as long as it may become a value."""
        reach = self._mask.reach
        first = max(0, start - reach)
        data = self._machine.read_log(first, start - first + size + reach)
        end = min(len(data) - (self._mask.held(data) if more else 0), start - first + size)
        return self._mask.hidden(data)[start - first : max(end, start - first)]

    def joint(self, end: int, size: int) -> bytes:
        """The last bytes before `end` as the process printed them, to be compared with later and shown to nobody."""
        start = max(0, end - size)
        return self._machine.read_log(start, end - start)

    def last(self, size: int, start: int = 0) -> bytes:
        """At most the last `size` bytes of those from `start` on."""
        end = self.size
        return self.read(max(start, end - size), size)

    def forget(self, start: int, end: int) -> None:
        """Give back the disk of what is read no more."""
        self._machine.forget_log(start, end)

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        """Remember what of the output was dropped."""
        self._machine.keep_gaps(gaps)

    def gaps(self) -> Mapping[int, int]:
        """What is remembered of that."""
        return self._machine.gaps()
