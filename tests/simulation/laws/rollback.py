"""Laws after the store lost the end of the journal: no bastion goes on from there before an admin accepts the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.stored.events import AnyEvent, Epoch, LossAccepted, Started
from tests.simulation.parts.broken import Broken

FLIGHT_S = 90.0
"""The most seconds until a call that was under way at the loss is over."""

SILENT_S = 60.0 + FLIGHT_S
"""How many seconds a bastion may work on after the loss: calls that are under way come back first."""


STILL_S = 30.0
"""A process without a turn for so many seconds stood still: a running bastion never rests so long."""


@dataclass(slots=True)
class RollbackLaws:
    """The only laws that apply after the loss: all others use a journal that no longer exists.

    `lost_at`: when the end was lost, None before. `newcomers`: the first pid that starts afterwards.
    `ordered`: the attempts that had orders. `missing`: the lost objects. `turns`: the last turn of each process.
    `woke`: when each process went on after it had stood still. `pids`: the process of each epoch.
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
        """True once the end was lost, whatever came afterwards."""
        return self.lost_at is not None

    @property
    def open(self) -> bool:
        """True while the end is lost and no admin has accepted that."""
        return self.lost and self.accepted_at is None

    def loses(self, now: float, newcomers: int, missing: Mapping[str, bytes]) -> None:
        """Note that the end of the journal is lost now: these objects."""
        self.lost_at, self.newcomers, self.missing = now, newcomers, dict(missing)

    def written(self, key: str, data: bytes, events: Sequence[AnyEvent], now: float) -> None:
        """Check a journal object, before or after the loss.

        A late write may put back a lost object. If that is the newest of them, the journal has its end again, and the
        bastion that wrote it goes on. An older object that is still missing is a gap: the next bastion that reads the
        journal refuses to start.
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
        """Note an object of an attempt: from then on its number is used. Before, only the bastion knew it."""
        if (attempt := layout.ordered(key)) is not None:
            self.ordered.add(attempt)

    def acts(self, what: str, epoch: int, now: float) -> None:
        """Check a call that changes something at a runner."""
        if self.open and self.lost_at is not None and now - self._since(self.pids.get(epoch, -1), now) > SILENT_S:
            raise Broken(f"{what} by epoch {epoch} while the end of the journal is lost, and nobody accepted that")

    def _since(self, pid: int, now: float) -> float:
        """Return since when a process could have seen the loss: now, if it has done no turn since it stood still."""
        still = now - self.turns.get(pid, now) > STILL_S
        return now if still else max(self.lost_at or 0.0, self.woke.get(pid, 0.0))

    def works(self, epoch: int, pid: int, now: float) -> None:
        """Check a turn of a bastion. For one that stood still until now, the time starts now."""
        if now - self.turns.get(pid, now) > STILL_S:
            self.woke[pid] = now
        self.turns[pid] = now
        if not self.open or self.lost_at is None or pid >= self.newcomers:
            return
        if now - self._since(pid, now) > SILENT_S:
            raise Broken(f"epoch {epoch} works on {now - self.lost_at:.0f} s after the end of the journal was lost")

    def refuses(self, what: Exception) -> None:
        """Check that a bastion that ends because of its journal has lost something of it."""
        if not self.lost:
            raise Broken(f"a bastion ends, and nothing of the journal is lost: {what}") from what

    def _begins(self, event: Epoch, now: float) -> None:
        if self.open and event.pid < self.newcomers:
            return  # its write was on its way
        if self.open:
            raise Broken(f"epoch {event.epoch} begins while the end of the journal is lost, and nobody accepted that")
        if self.resumed_at is None:
            self.resumed_at = now
