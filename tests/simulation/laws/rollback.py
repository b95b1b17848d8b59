"""What must hold once the store lost the end of the journal: nobody goes on from there before an admin accepts the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.stored.events import AnyEvent, Epoch, LossAccepted, Started
from tests.simulation.parts.broken import Broken

FLIGHT_S = 90.0
"""A call that was on its way when the end was lost is over after this time."""

SILENT_S = 60.0 + FLIGHT_S
"""So long a bastion may work on after its end was lost: what is on its way first comes back."""


STILL_S = 30.0
"""No bastion that runs rests so long between two turns."""


@dataclass(slots=True)
class RollbackLaws:
    """From the loss on these are the laws of the world: all others go by a journal that is there no more.

    `lost_at`: when the end was lost, None before. `newcomers`: the first pid that begins afterwards. `ordered`: the attempts
    of which there were orders. `missing`: the objects that are lost. `turns`: the last turn of each process, and when it `woke`
    after it had stood still. `pids`: of each epoch.
    """

    lost_at: float | None = None
    newcomers: int = 0
    accepted_at: float | None = None
    resumed_at: float | None = None
    missing: dict[str, bytes] = field(default_factory=dict)
    ordered: set[AttemptKey] = field(default_factory=set)
    turns: dict[int, float] = field(default_factory=dict)
    woke: dict[int, float] = field(default_factory=dict)
    pids: dict[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> bool:
        """The end was lost, whatever came afterwards."""
        return self.lost_at is not None

    @property
    def open(self) -> bool:
        """The end is lost, and nobody has accepted that."""
        return self.lost and self.accepted_at is None

    def loses(self, now: float, newcomers: int, missing: Mapping[str, bytes]) -> None:
        """The end is lost now: these objects."""
        self.lost_at, self.newcomers, self.missing = now, newcomers, dict(missing)

    def written(self, key: str, data: bytes, events: Sequence[AnyEvent], now: float) -> None:
        """A journal object was written, at any time. A late write may put back a lost object. If that is the newest of them,
        the journal has its end again, and the bastion that wrote it goes on. An older one that is still missing is a hole,
        and the next bastion that reads it refuses to begin.
        """
        if self.open and self.missing.get(key) == data:
            is_end = key == max(self.missing)
            del self.missing[key]
            if is_end:
                self.accepted_at = self.resumed_at = now
        if self.lost and any(isinstance(event, LossAccepted) for event in events):
            self.accepted_at = now
            return
        for event in events:
            if isinstance(event, Epoch):
                self.pids[event.epoch] = event.pid
                self.turns[event.pid] = now
                if self.lost:
                    self._begins(event, now)
            if isinstance(event, Started) and self.accepted_at is not None and event.key in self.ordered:
                raise Broken(f"{event.key} is given a second time, after a loss was accepted")

    def orders(self, key: str) -> None:
        """An object of an attempt was written: its key is taken from then on. Before that nobody outside knows of it."""
        if (attempt := layout.ordered(key)) is not None:
            self.ordered.add(attempt)

    def acts(self, what: str, epoch: int, now: float) -> None:
        """A bastion calls a runner for more than a look."""
        if self.open and self.lost_at is not None and now - self._since(self.pids.get(epoch, -1), now) > SILENT_S:
            raise Broken(f"{what} by epoch {epoch} while the end of the journal is lost, and nobody accepted that")

    def _since(self, pid: int, now: float) -> float:
        """Since when a process could have seen the loss: now, if it has not done a turn since it stood still."""
        still = now - self.turns.get(pid, now) > STILL_S
        return now if still else max(self.lost_at or 0.0, self.woke.get(pid, 0.0))

    def works(self, epoch: int, pid: int, now: float) -> None:
        """A bastion has done a turn. One that stood still until now has its time from here on."""
        if now - self.turns.get(pid, now) > STILL_S:
            self.woke[pid] = now
        self.turns[pid] = now
        if not self.open or self.lost_at is None or pid >= self.newcomers:
            return
        if now - self._since(pid, now) > SILENT_S:
            raise Broken(f"epoch {epoch} works on {now - self.lost_at:.0f} s after the end of the journal was lost")

    def refuses(self, what: Exception) -> None:
        """A bastion ends, since the journal is not what it was."""
        if not self.lost:
            raise Broken(f"a bastion ends, and nothing of the journal is lost: {what}") from what

    def _begins(self, event: Epoch, now: float) -> None:
        if self.open and event.pid < self.newcomers:
            return  # its write was on its way
        if self.open:
            raise Broken(f"epoch {event.epoch} begins while the end of the journal is lost, and nobody accepted that")
        if self.resumed_at is None:
            self.resumed_at = now
