"""The hosting of a bastion on no machine of its users: a VM in Google's cloud, or a Deployment in a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

GONE = "GONE"
"""The status of a hosting that does not exist."""

Tell = Callable[[str], None]
"""The function that reports one call in words, in a dry run."""


class Hosting(Protocol):
    """The interface to what keeps one bastion running. All calls raise `BastionError`."""

    @property
    def name(self) -> str:
        """The name that the backend shows."""

    @property
    def where(self) -> str:
        """The part of the backend where it is: a zone, or a namespace."""

    def status(self) -> str:
        """Return its status in the backend's words, or GONE."""

    def fallen(self) -> bool:
        """True if, in its present status, no bastion will ever begin to tick there."""

    def start(self) -> bool:
        """Start it. Return True if it did not run. Raises `BastionError` if it does not exist."""

    def stop(self) -> bool:
        """Have the bastion end its tick, and then run nothing there. Return True if it ran."""

    def delete(self) -> bool:
        """Delete it. Return True if it existed."""

    def console(self) -> str:
        """Return the last output there, also of a bastion that never reached the bucket."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One thing that has to be so.

    what: the thing in words.
    ensure: makes it so. It returns True if it was not.
    """

    what: str
    ensure: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostingPlan:
    """The plan of `bastion create` for a bastion that is hosted elsewhere.

    hosting: the hosting that the plan makes.
    work: returns the things that have to be so, in order, the hosting itself last. With a function to report to,
        nothing is changed and every call is reported.
    note: what it costs, in words; empty if that is not known.
    write: writes the plan to a folder instead, for the tools of people who keep their cloud in files; None if there is
        no such form.
    """

    hosting: Hosting
    work: Callable[[Tell | None], Sequence[PlannedStep]]
    note: str = ""
    write: Callable[[str], None] | None = None
