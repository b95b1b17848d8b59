"""What was asked of Google and is not there yet: what is known of it, in words for who waits. Remembered in memory only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.ports import AttemptKey, Clock

FORGET_S = 3600.0


@dataclass(frozen=True, slots=True)
class Hope:
    """What was asked for and where ("": nowhere yet), by which operation of Google's, and what is to be said of it."""

    at: float
    said: str
    zone: str = ""
    want: str = ""
    operation: str = ""


@dataclass(slots=True, kw_only=True)
class Hopes:
    """Attempts whose machines are not listed."""

    clock: Clock
    _of: dict[AttemptKey, Hope] = field(default_factory=dict)

    def asked(self, key: AttemptKey, zone: str, want: str, operation: Mapping[str, Any]) -> None:
        """A zone was asked, and took it."""
        said = f"{want} was asked for in {zone}"
        self._of[key] = Hope(self.clock.monotonic(), said, zone, want, str(operation.get("name", "")))

    def unsure(self, key: AttemptKey, zone: str, said: str) -> None:
        """A zone was asked, and nobody knows whether it heard: no other is asked before that is known."""
        self._of[key] = Hope(self.clock.monotonic(), said, zone)

    def refused(self, key: AttemptKey, said: str) -> None:
        """Nobody took it."""
        self._of[key] = Hope(self.clock.monotonic(), said)

    def drop(self, key: AttemptKey) -> None:
        """A zone refused: another may be asked."""
        self._of.pop(key, None)

    def zone(self, key: AttemptKey) -> str:
        """Where the attempt was asked for, and may show up."""
        hope = self._of.get(key)
        return hope.zone if hope else ""
