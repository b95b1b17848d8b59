"""Where a bastion lives that lives on no machine of its users': a VM in Google's cloud, or a Deployment in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

GONE = "GONE"

Tell = Callable[[str], None]


class Hosting(Protocol):
    """What keeps one bastion running. All calls raise `BastionError`."""

    @property
    def name(self) -> str:
        """As its owner shows it."""

    @property
    def where(self) -> str:
        """In which part of what its owner has."""

    def status(self) -> str:
        """How it is, in its owner's words, or GONE."""

    def fallen(self) -> bool:
        """As it is now, no bastion will ever begin to tick there."""

    def start(self) -> bool:
        """Start it. True if it did not run. Raises `NotThere` of its owner's API if there is none."""

    def stop(self) -> bool:
        """Have the bastion end its tick, and then nothing runs there. True if it ran."""

    def delete(self) -> bool:
        """Remove it. True if it was there."""

    def console(self) -> str:
        """The last that was written there, also by a bastion that did not come as far as the bucket."""


@dataclass(frozen=True, slots=True)
class Do:
    """One thing that has to be so. `ensure` makes it so: true if it was not."""

    what: str
    ensure: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingPlan:
    """What `bastion create` makes elsewhere. `note` says what it costs.

    `work` is what has to be so, in its order, and last the lodging itself; with somebody to tell, nothing is changed and every
    call is told. `write` writes it down instead, for the tools of those who have their cloud in files.
    """

    lodging: Hosting
    work: Callable[[Tell | None], Sequence[Do]]
    note: str = ""
    write: Callable[[str], None] | None = None
