"""What every runner of Google's machines is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import AttemptKey, Clock, Ids, Placement, Seal
from bastion.model.settings.google_settings import GoogleSettings
from bastion.quota.resources import Resources

from ..api.interface import Google
from .names import Mark

Birth = Callable[[AttemptKey, str], Mapping[str, str]]
"""The metadata of an attempt's machines, by the attempt and the id of each machine without its host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoogleContext:
    """One of Google's projects, as a bastion has machines in it.

    `scope` names the bastion, the same at every start; `given` bounds what all machines hold. `birth` makes the metadata
    that have a machine start its worker. `at_once` does several things side by side, as `Tasks.map`.
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
        """The project's id."""
        return self.settings.project

    def mark(self, placement: Placement) -> Mark:
        """A new mark for what is about to be asked for: no other has its nonce."""
        nonce = self.seal.nonce(self.scope, placement.key, placement.epoch)
        return Mark(scope=self.scope, key=placement.key, epoch=placement.epoch, nonce=nonce)

    def is_proved(self, mark: Mark) -> bool:
        """Whoever may make machines in the project may label them as they like: ours are those that the seal proves."""
        return self.seal.proves(mark.nonce, mark.scope, mark.key, mark.epoch)

    def of_all(self, ask: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """What each was answered. Raises the first error: a part is not the whole."""
        answers = self.at_once(ask, items)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        return answers
