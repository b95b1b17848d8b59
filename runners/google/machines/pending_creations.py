"""What was asked of Google and is not there yet: what is known of it, in words for who waits. Remembered in memory only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.model.interfaces import AttemptKey

from .google_context import GoogleContext

FORGET_S = 3600.0

SETTING_UP_S = 1800.0
"""So long a machine may be set up before its worker is expected."""


@dataclass(frozen=True, slots=True)
class PendingCreation:
    """What was asked for and where ("": nowhere yet), by which operation of Google's, and what is to be said of it."""

    at: float
    said: str
    zone: str = ""
    want: str = ""
    operation: str = ""


@dataclass(slots=True)
class PendingCreations:
    """Attempts whose machines are not listed, and machines that are listed and being set up, by their nonces."""

    site: GoogleContext
    _of: dict[AttemptKey, PendingCreation] = field(default_factory=dict)
    _set_up: dict[str, float] = field(default_factory=dict)

    def asked(self, key: AttemptKey, zone: str, want: str, operation: Mapping[str, Any]) -> None:
        """A zone was asked, and took it."""
        said = f"{want} was asked for in {zone}"
        self._of[key] = PendingCreation(self.site.clock.monotonic(), said, zone, want, str(operation.get("name", "")))

    def unsure(self, key: AttemptKey, zone: str, said: str) -> None:
        """A zone was asked, and nobody knows whether it heard: no other is asked before that is known."""
        self._of[key] = PendingCreation(self.site.clock.monotonic(), said, zone)

    def refused(self, key: AttemptKey, said: str) -> None:
        """Nobody took it."""
        self._of[key] = PendingCreation(self.site.clock.monotonic(), said)

    def drop(self, key: AttemptKey) -> None:
        """A zone refused: another may be asked."""
        self._of.pop(key, None)

    def zone(self, key: AttemptKey) -> str:
        """Where the attempt was asked for, and may show up."""
        hope = self._of.get(key)
        return hope.zone if hope else ""

    def _set_ups(self, nonces: Iterable[str]) -> None:
        """These are being set up now, and no others."""
        now = self.site.clock.monotonic()
        self._set_up = {nonce: self._set_up.get(nonce, now) for nonce in nonces}

    def _is_set_up(self, nonce: str) -> bool:
        """It is being set up, and nobody expects its worker yet."""
        return self.site.clock.monotonic() - self._set_up.get(nonce, float("-inf")) < SETTING_UP_S
