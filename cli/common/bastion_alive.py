"""Tell from a bastion's status, and from the processes of this machine, whether it runs."""

from __future__ import annotations

from bastion.model.interfaces import Clock
from bastion.model.stored.status import RUNNING, STOPPED, word
from bastion.platform import host

from .place import BastionPlace


def is_up(place: BastionPlace, clock: Clock) -> bool:
    """Return True if a bastion runs there and has ended its first tick."""
    status = place.status()
    if status is None or not status.ticks:
        return False
    return word(status, now=clock.wall(), died=host.died(status)) == RUNNING


def has_ended(place: BastionPlace) -> bool:
    """Return True if the last bastion there stopped in order, is dead on this machine, or never ran."""
    status = place.status()
    return status is None or status.state == STOPPED or host.died(status)
