"""Asking for an attempt's machines: one zone after the other, with a memory of who refused and a pause where none can help."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bastion.model.errors import Later
from bastion.model.interfaces import AttemptKey

from ..api.interface import BadCall, GoogleError, IsThere, NoLogin, NoQuota, NoRight, NoStock, NotThere, TooMany
from . import zones
from .google_context import GoogleContext
from .pending_creations import PendingCreations

_BAD_S, _PAUSE_S, _TURN_S = 600.0, 10.0, 1.0
"""How long a zone is left alone that cannot have what is wanted; and all of Google, when it was no zone's matter, or when
our share of requests is used up."""

_ADVICE = {
    "accelerator type": "add a zone that has it to zones of [google]",
    "machine type": "add a zone that has it to zones of [google]",
    "network": "have it made anew, or change network of [google]",
    "service account": "have it made anew, or change service_account of [google]",
    "serviceaccount": "have it made anew, or change service_account of [google]",
    "reservation": "change reservations of [google]",
    "runtime": "change images of [google]",
    "/images/": "change images of [google]",
}
"""What the settings can be, if Google will not have them, by the words it says then."""


@dataclass(slots=True)
class Creation:
    """The zones of the settings are asked, first the one that is wanted most."""

    site: GoogleContext
    hopes: PendingCreations
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
        """Ask the open ones of `places` by `send`, but not where the name is taken (`busy`), until one takes it.

        Raises `Later` if none did, and `GoogleError` for what concerns no zone.
        """
        now = self.site.clock.monotonic()
        until, why = self._paused
        if now < until:
            raise Later(why)
        settled = self.hopes.zone(key)
        asked = [settled] if settled else zones.open_zones(places, self._shuts, want, now)
        for zone in asked:
            if zone not in busy and self._ask(key, zone, want, send):
                return
        self.hopes.refused(key, zones.said(self.site.settings.zones, self._shuts, want))
        raise Later(f"no zone gives {want} now")

    def refuse(self, zone: str, want: str, error: GoogleError) -> None:
        """A zone will not give this now."""
        bad = isinstance(error, (BadCall, NotThere, NoRight))
        said = f"{error}{_advice(str(error))}" if bad else str(error)
        first = _BAD_S if bad else zones.SHORT_S
        self._shuts = zones.refused(self._shuts, zone, want, said, self.site.clock.monotonic(), first_s=first)

    def gave(self, zone: str, want: str) -> None:
        """A zone gave this."""
        self._shuts = zones.gave(self._shuts, zone, want)

    def _ask(self, key: AttemptKey, zone: str, want: str, send: Callable[[str], Mapping[str, Any]]) -> bool:
        """Ask one zone. False if it refused, and another may be asked."""
        try:
            made = send(zone)
        except IsThere:
            made = {}  # by an answer that was lost, or not listed yet
        except (NoStock, NoQuota, BadCall, NotThere) as error:
            self.refuse(zone, want, error)
            self.hopes.drop(key)
            return False
        except TooMany as error:
            self._paused = self.site.clock.monotonic() + _TURN_S, str(error)  # nobody else's turn comes before
            raise
        except (NoRight, NoLogin) as error:
            self._paused = self.site.clock.monotonic() + _PAUSE_S, str(error)
            self.hopes.refused(key, str(error))
            raise
        except GoogleError as error:
            self.hopes.unsure(key, zone, str(error))  # it may have been heard: nowhere else before this is known
            raise
        self.hopes.asked(key, zone, want, made)
        return True


def _advice(said: str) -> str:
    """What to change where asking again cannot help, by what Google names."""
    for word, advice in _ADVICE.items():
        if word in said.lower():
            return f"; {advice} in config.toml"
    return ""
