"""The existence check: ask Google directly about one machine. A machine is gone only after two answers agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from bastion.model.interfaces import Clock, MachineExistence

from ..api.interface import GoogleError
from .names import GoogleHost, GoogleLabels

TWICE_S = 5.0
"""The least number of seconds between the two answers that a machine is gone."""

FRESH_S = 1.0
"""The seconds for which one answer is valid for all hosts of one name."""

FORGET_S = 3600.0
"""The seconds for which the first answer that a machine is gone is remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Existence:
    """A thing that Google has under a name: a slice, or a VM.

    mark: the mark in its labels; None if it has none of ours.
    hosts: the number of its hosts.
    dead: nothing runs on it any more.
    leaving: it is being deleted.
    """

    mark: GoogleLabels | None
    hosts: int
    dead: bool
    leaving: bool


@dataclass(slots=True)
class ExistenceCheck:
    """The existence check of machines. Safe for threads.

    ask: returns what has a host's name; None if nothing has. It may raise `GoogleError`.
    clock: the clock that measures the age of answers.
    scope: the scope of this bastion, which its marks have.
    """

    ask: Callable[[GoogleHost], Existence | None]
    clock: Clock
    scope: str
    _missed: dict[GoogleHost, float] = field(default_factory=dict)
    _answers: dict[tuple[str, str], tuple[float, Existence | None]] = field(default_factory=dict)
    _asking: dict[tuple[str, str], Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def look(self, host: GoogleHost) -> MachineExistence:
        """Check whether a machine exists.

        `UNREACHABLE` after the first answer that it is gone, and where there is no answer.
        """
        try:
            found = self._found(host)
        except GoogleError:
            return MachineExistence.UNREACHABLE
        now = self.clock.monotonic()
        with self._lock:
            going = host in self._missed and found is not None and found.leaving
            # A machine that was gone stays gone while its remains are being deleted.
            if not going and not self._is_gone(host, found):
                self._missed.pop(host, None)
                return MachineExistence.THERE
            self._missed = {other: at for other, at in self._missed.items() if now - at < FORGET_S}
            first = self._missed.setdefault(host, now)
        return MachineExistence.GONE if now - first >= TWICE_S else MachineExistence.UNREACHABLE

    def _found(self, host: GoogleHost) -> Existence | None:
        """Return what has the host's name; None if nothing has. Raises `GoogleError`.

        Threads that ask about one name at the same time share one request.
        """
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
        """True if nothing of ours runs under the host's name.

        It is free or taken by another creation or another bastion, or the machine was taken away.
        """
        if found is None or found.dead or host.host >= found.hosts:
            return True
        return found.mark is None or (found.mark.scope, found.mark.nonce) != (self.scope, host.nonce)
