"""Pending creations: what was asked of Google and is not there yet, with words for people who wait. In memory only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bastion.model.interfaces import AttemptKey

from .google_context import GoogleContext

FORGET_S = 3600.0
"""The seconds for which a pending creation is remembered."""

SETTING_UP_S = 1800.0
"""The seconds that a machine may be set up before its worker is expected."""


@dataclass(frozen=True, slots=True)
class PendingCreation:
    """One request for machines that are not there yet.

    at: when it was noted, in seconds of the monotonic clock.
    said: its state, in words for people.
    zone: the zone that was asked; empty means none yet.
    want: what was asked for, in words; empty if no zone is known to have accepted it.
    operation: the name of Google's operation; empty if there is none.
    """

    at: float
    said: str
    zone: str = ""
    want: str = ""
    operation: str = ""


@dataclass(slots=True)
class PendingCreations:
    """The attempts whose machines are not listed yet, and the nonces of listed machines that are being set up.

    context: the context of Google's machines.
    """

    context: GoogleContext
    _of: dict[AttemptKey, PendingCreation] = field(default_factory=dict)
    _set_up: dict[str, float] = field(default_factory=dict)

    def asked(self, key: AttemptKey, zone: str, want: str, operation: Mapping[str, Any]) -> None:
        """Note that a zone accepted the request."""
        said = f"{want} is requested in {zone}"
        self._of[key] = PendingCreation(
            self.context.clock.monotonic(), said, zone, want, str(operation.get("name", ""))
        )

    def unsure(self, key: AttemptKey, zone: str, said: str) -> None:
        """Note that a zone was asked, and may have accepted: no other zone is asked before this is known."""
        self._of[key] = PendingCreation(self.context.clock.monotonic(), said, zone)

    def refused(self, key: AttemptKey, said: str) -> None:
        """Note that no zone accepted, and why."""
        self._of[key] = PendingCreation(self.context.clock.monotonic(), said)

    def drop(self, key: AttemptKey) -> None:
        """Forget a request that a zone refused, so that another may be asked."""
        self._of.pop(key, None)

    def zone(self, key: AttemptKey) -> str:
        """Return the zone where the attempt was asked for, and may show up; empty if there is none."""
        creation = self._of.get(key)
        return creation.zone if creation else ""

    def _set_ups(self, nonces: Iterable[str]) -> None:
        """Note that exactly these are being set up now."""
        now = self.context.clock.monotonic()
        self._set_up = {nonce: self._set_up.get(nonce, now) for nonce in nonces}

    def _is_set_up(self, nonce: str) -> bool:
        """True if it is being set up, and its worker is not expected yet."""
        return self.context.clock.monotonic() - self._set_up.get(nonce, float("-inf")) < SETTING_UP_S
