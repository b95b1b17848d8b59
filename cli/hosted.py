"""A bastion that lives elsewhere: which way is meant, where it is found again, how its first tick is awaited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from bastion.config import Config
from bastion.errors import BastionError, UsageError
from bastion.ports import Clock
from cli import google_host, kubernetes_host
from cli.main import Call
from cli.place import Place
from cloud.lodging import Lodging, Site, Tell

UP_S = 900.0
LOOK_S = 2.0
CONSOLE_LINES = 15


class Way(Protocol):
    """A module that knows one kind of lodging."""

    def settings(self, call: Call, place: Place) -> dict[str, Any]:
        """What the command line says, by the words of `config.toml`; what it does not say stays. Raises `BastionError`."""

    def site(self, call: Call, place: Place, config: Config) -> Site:
        """What is to be made for the bastion at this place. Raises `UsageError` for what cannot be."""

    def lodging(self, place: Place, tell: Tell | None = None) -> Lodging | None:
        """Where the bastion at this place lives, by its settings. With `tell`, what would change something is told instead."""

    def forget(self, place: Place) -> dict[str, Any]:
        """The settings of a bastion whose lodging is no more."""


_GOOGLE, _KUBERNETES = "--gcp_project", "--runner=kubernetes"
_WAYS: Mapping[str, Way] = {_GOOGLE: google_host, _KUBERNETES: kubernetes_host}
_FLAGS: Mapping[str, tuple[str, ...]] = {
    _GOOGLE: ("gcp_project", "gcp_zone", "fleet_zones", "machine_type", "terraform"),
    _KUBERNETES: ("runner", "namespace", "worker_image", "service_account", "bucket_secret"),
}
_BOTH = ("image", "dry_run")


def chosen(call: Call) -> bool:
    """The command line asks for a bastion that lives elsewhere."""
    return any(call.flags.get(flag) for flags in (*_FLAGS.values(), _BOTH) for flag in flags)


def way(call: Call, place: Place) -> Way:
    """The way that the flags say, or that the bastion has gone. Raises `UsageError` for flags of two ways, or of none."""
    said = {name: next(filter(call.flags.get, flags), "") for name, flags in _FLAGS.items()}
    if all(said.values()):
        raise UsageError(f"--{' and --'.join(said.values())} are of two ways to have a bastion live elsewhere; say one")
    for name, one in _WAYS.items():
        if said[name] or (not any(said.values()) and one.lodging(place)):
            return one
    raise UsageError(f"where is the bastion to live? Say {_GOOGLE}=PROJECT, or {_KUBERNETES}")


def lodging(place: Place, tell: Tell | None = None) -> Lodging | None:
    """Where the bastion at this place lives, if its settings say that it is elsewhere."""
    return next((found for one in _WAYS.values() if (found := one.lodging(place, tell))), None)


def rehearsed(call: Call, place: Place) -> Lodging:
    """Its lodging behind a door that prints every call, and makes those that only look. Raises `UsageError` if there is none."""
    if found := lodging(place, call.output.say):
        return found
    raise UsageError(f"bastion {place.name} does not live elsewhere, so it calls nobody; leave out --dry_run")


def bring_up(call: Call, place: Place, site: Site, clock: Clock) -> bool:
    """Make what is missing, and return when the bastion ticks. True if anything was done."""
    before, done, last = place.status(), [], False
    for one in site.work(None):
        with call.output.progress(one.what):
            if last := one.ensure():
                done.append(one.what)
    lodged = site.lodging
    started = lodged.start()
    anew = started or last
    if anew or not place.is_up(clock):
        with call.output.progress(f"waiting for the first tick of bastion {place.name} on {lodged.name}"):
            await_tick(place, lodged, clock, epoch=before.epoch if before and anew else 0)
    if done:
        call.output.note(f"made: {'; '.join(done)}")
    return started or bool(done)


def await_tick(place: Place, lodged: Lodging, clock: Clock, *, epoch: int) -> None:
    """Return when a bastion later than this epoch has ended a tick. Raises `BastionError` with the lodging's last words."""
    deadline = clock.monotonic() + UP_S
    while clock.monotonic() < deadline:
        status = place.status()
        if status is not None and status.epoch > epoch and place.is_up(clock):
            return
        if lodged.fallen():
            break
        clock.sleep(LOOK_S)
    raise BastionError(
        f"bastion {place.name} did not come up on {lodged.name} ({lodged.status()}): {last_words(lodged)}"
    )


def last_words(lodged: Lodging) -> str:
    """The end of what was written on its console."""
    try:
        lines = [line for line in lodged.console().splitlines() if line.strip()]
    except BastionError as error:
        return f"its console cannot be read: {error}"
    return " | ".join(lines[-CONSOLE_LINES:]) or "it said nothing"


def told(place: Place) -> str:
    """The lodging and how it is, in words; empty if there is none. What cannot be known is said."""
    try:
        found = lodging(place)
        return f"{found.name} in {found.where}: {found.status()}" if found else ""
    except BastionError as error:
        return f"not known: {error}"


def forget(place: Place) -> dict[str, Any]:
    """The settings of a bastion that has no lodging any more."""
    return {key: value for one in _WAYS.values() if one.lodging(place) for key, value in one.forget(place).items()}
