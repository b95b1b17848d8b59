"""The direct question about one machine: what Google says of it. Gone is what was said twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from bastion.model.interfaces import Clock, Sight

from ..api.interface import GoogleError
from .names import GoogleHost, Mark

TWICE_S = 5.0
"""So long has to lie between the two answers that a machine is gone."""

FRESH_S = 1.0
"""So long one answer holds for all hosts of one name."""

FORGET_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Existence:
    """What Google has under a name, of so many `hosts`. `dead`: nothing runs on it; `leaving`: it is being deleted."""

    mark: Mark | None
    hosts: int
    dead: bool
    leaving: bool


@dataclass(slots=True)
class ExistenceCheck:
    """Asks about machines. `ask` answers what has a host's name, None if nothing has; it may raise `GoogleError`.

    Safe for threads.
    """

    ask: Callable[[GoogleHost], Existence | None]
    clock: Clock
    scope: str
    _missed: dict[GoogleHost, float] = field(default_factory=dict)
    _answers: dict[tuple[str, str], tuple[float, Existence | None]] = field(default_factory=dict)
    _asking: dict[tuple[str, str], Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def look(self, host: GoogleHost) -> Sight:
        """Is this machine there? `BLIND` after the first answer that it is gone, and where there is none."""
        try:
            found = self._found(host)
        except GoogleError:
            return Sight.BLIND
        now = self.clock.monotonic()
        with self._lock:
            going = host in self._missed and found is not None and found.leaving
            if not going and not self._is_gone(host, found):  # who was taken away does not come back by being deleted
                self._missed.pop(host, None)
                return Sight.THERE
            self._missed = {other: at for other, at in self._missed.items() if now - at < FORGET_S}
            first = self._missed.setdefault(host, now)
        return Sight.GONE if now - first >= TWICE_S else Sight.BLIND

    def _found(self, host: GoogleHost) -> Existence | None:
        """What has the host's name. Raises `GoogleError`."""
        place = host.zone, host.name
        with self._lock:
            asking = self._asking.setdefault(place, Lock())
        with asking:
            now = self.clock.monotonic()
            known = self._answers.get(place)
            if known is not None and now - known[0] < FRESH_S:
                return known[1]
            found = self.ask(host)
            with self._lock:
                self._answers = {of: kept for of, kept in self._answers.items() if now - kept[0] < FRESH_S}
                self._answers[place] = now, found
            return found

    def _is_gone(self, host: GoogleHost, found: Existence | None) -> bool:
        """Nothing of ours runs any more on what is not there, is another of the same name or another's, or was taken away."""
        if found is None or found.dead or host.host >= found.hosts:
            return True
        return found.mark is None or (found.mark.scope, found.mark.nonce) != (self.scope, host.nonce)
