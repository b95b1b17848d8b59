"""The requests for an attempt's machines: zone after zone.

Refusals are remembered; where no zone can help, it pauses.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import NotReady
from bastion.model.interfaces import AttemptKey

from ..api.interface import (
    CredentialsMissing,
    GoogleError,
    InvalidCall,
    PermissionMissing,
    QuotaExhausted,
    RateLimited,
    ResourceExists,
    ResourceNotFound,
    Stockout,
)
from . import zones
from .google_context import GoogleContext
from .pending_creations import PendingCreations

_BAD_S, _PAUSE_S, _TURN_S = 600.0, 10.0, 1.0
"""Waiting times in seconds.

_BAD_S: how long a zone is skipped at first that cannot have what is wanted.
_PAUSE_S: how long nothing is asked of Google when the problem is not a zone's.
_TURN_S: how long nothing is asked when our share of requests is used up.
"""

_ADVICE = {
    "accelerator type": "add a zone that has it to zones of [google]",
    "machine type": "add a zone that has it to zones of [google]",
    "network": "ask an admin to create it again, or change network of [google]",
    "service account": "ask an admin to create it again, or change service_account of [google]",
    "serviceaccount": "ask an admin to create it again, or change service_account of [google]",
    "reservation": "change reservations of [google]",
    "runtime": "change images of [google]",
    "/images/": "change images of [google]",
}
"""The setting to change if Google refuses what it says, by a word in the refusal."""


@dataclass(slots=True)
class Creation:
    """The creation of machines: it asks the zones of the settings, the zone that is wanted most first.

    context: the context of Google's machines.
    pending: the pending creations, which are updated here.
    """

    context: GoogleContext
    pending: PendingCreations
    _shuts: zones.Shuts = field(default_factory=dict)
    _paused: tuple[float, str] = (float("-inf"), "")

    def in_turn(
        self,
        key: AttemptKey,
        want: str,
        places: Sequence[str],
        busy: Container[str],
        send: Callable[[str], Mapping[str, Any]],
    ) -> None:
        """Ask the open zones of `places` with `send`, one after the other, until one accepts.

        A zone in `busy` is skipped: the name is taken there. If the attempt was already asked for in a zone, only that
        zone is asked. Raises `NotReady` if none accepted, and `GoogleError` for a problem that is not a zone's.
        """
        now = self.context.clock.monotonic()
        until, why = self._paused
        if now < until:
            raise NotReady(why)
        settled = self.pending.zone(key)
        asked = [settled] if settled else zones.open_zones(places, self._shuts, want, now)
        for zone in asked:
            if zone not in busy and self._ask(key, zone, want, send):
                return
        self.pending.refused(key, zones.said(self.context.settings.zones, self._shuts, want))
        raise NotReady(f"no zone has {want} now")

    def refuse(self, zone: str, want: str, error: GoogleError) -> None:
        """Remember that a zone does not provide this now."""
        bad = isinstance(error, (InvalidCall, ResourceNotFound, PermissionMissing))
        said = f"{error}{_advice(str(error))}" if bad else str(error)
        first = _BAD_S if bad else zones.SHORT_S
        self._shuts = zones.refused(self._shuts, zone, want, said, self.context.clock.monotonic(), first_s=first)

    def gave(self, zone: str, want: str) -> None:
        """Remember that a zone provided this."""
        self._shuts = zones.gave(self._shuts, zone, want)

    def _ask(self, key: AttemptKey, zone: str, want: str, send: Callable[[str], Mapping[str, Any]]) -> bool:
        """Ask one zone. Return False if it refused, and another may be asked."""
        try:
            made = send(zone)
        except ResourceExists:
            made = {}  # an earlier call made it: its answer was lost, or it is not listed yet
        except (Stockout, QuotaExhausted, InvalidCall, ResourceNotFound) as error:
            self.refuse(zone, want, error)
            self.pending.drop(key)
            return False
        except RateLimited as error:
            self._paused = self.context.clock.monotonic() + _TURN_S, str(error)  # no other request gets a turn earlier
            raise
        except (PermissionMissing, CredentialsMissing) as error:
            self._paused = self.context.clock.monotonic() + _PAUSE_S, str(error)
            self.pending.refused(key, str(error))
            raise
        except GoogleError as error:
            self.pending.unsure(key, zone, str(error))  # Google may have accepted it: ask no other zone before we know
            raise
        self.pending.asked(key, zone, want, made)
        return True


def _advice(said: str) -> str:
    """Return what to change in the settings, by what Google names; empty if it names nothing of them."""
    for word, advice in _ADVICE.items():
        if word in said.lower():
            return f"; {advice} in config.toml"
    return ""
