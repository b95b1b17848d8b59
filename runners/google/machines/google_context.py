"""The context that every runner of Google's machines gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import AttemptKey, Clock, Ids, Placement, Seal
from bastion.model.settings.tables import GoogleSettings
from bastion.quota.resources import Resources

from ..api.interface import Google
from .names import GoogleLabels

Birth = Callable[[AttemptKey, str], Mapping[str, str]]
"""The function that returns the metadata of an attempt's machines.

Its arguments: the attempt, and each id without its host.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleContext:
    """One of Google's projects, as the place where a bastion has machines.

    google: the API client.
    settings: the settings in `[google]`.
    scope: the name of the bastion in names and labels; the same at every start.
    ids: makes new ids.
    seal: proves which machines this bastion made.
    clock: the clock of all waiting times.
    birth: returns the metadata that make a machine start its worker.
    at_once: does several things side by side, as `Tasks.map` does.
    given: the capacity that all machines may have together; None means no limit.
    """

    google: Google
    settings: GoogleSettings
    scope: str
    ids: Ids
    seal: Seal
    clock: Clock
    birth: Birth
    at_once: Callable[[Callable[[Any], Any], Sequence[Any]], list[Any]]
    given: Resources | None = None

    @property
    def project(self) -> str:
        """Return the project's id."""
        return self.settings.project

    def mark(self, placement: Placement) -> GoogleLabels:
        """Return a new mark for something to create. No other mark has its nonce."""
        nonce = self.seal.nonce(self.scope, placement.key, placement.epoch)
        return GoogleLabels(scope=self.scope, key=placement.key, epoch=placement.epoch, nonce=nonce)

    def is_proved(self, mark: GoogleLabels) -> bool:
        """True if the seal proves that this bastion made the mark.

        Everybody who may create machines in the project may give them any labels, so labels alone prove nothing.
        """
        return self.seal.proves(mark.nonce, mark.scope, mark.key, mark.epoch)

    def of_all(self, ask: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return the answer for each item. Raises the first error, because a part is not the whole."""
        answers = self.at_once(ask, items)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers
