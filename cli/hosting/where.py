"""A bastion that lives elsewhere: which way is meant, where it is found again, how its first tick is awaited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import Clock
from bastion.model.settings.config import Config
from bastion.runners.hosting import Hosting, HostingPlan, Tell

from ..common.place import BastionPlace, stored
from ..terminal.main import Call

UP_S = 900.0
LOOK_S = 2.0
CONSOLE_LINES = 15


class Way(Protocol):
    """A module that knows one kind of lodging."""

    def settings(self, call: Call, place: BastionPlace) -> dict[str, Any]:
        """What the command line says, by the words of `config.toml`; what it does not say stays. Raises `BastionError`."""

    def site(self, call: Call, place: BastionPlace, config: Config) -> HostingPlan:
        """What is to be made for the bastion at this place. Raises `UsageError` for what cannot be."""

    def lodging(self, place: BastionPlace, tell: Tell | None = None) -> Hosting | None:
        """Where the bastion at this place lives, by its settings. With `tell`, what would change something is told instead."""

    def forget(self, place: BastionPlace) -> dict[str, Any]:
        """The settings of a bastion whose lodging is no more."""


_GOOGLE, _KUBERNETES = "--gcp_project", "--runner=kubernetes"
_GONE: Mapping[str, Callable[[Config], bool]] = {
    _GOOGLE: lambda config: bool(config.google.vm_zone),
    _KUBERNETES: lambda config: bool(config.runner_options.get("kubernetes", {}).get("deployed_in")),
}
"""Which settings say that a bastion has gone each way."""

_RUNNER = "kubernetes"
"""The runner whose cluster has the bastion, too: others named by --runner are driven from here."""

_FLAGS: Mapping[str, tuple[str, ...]] = {
    _GOOGLE: ("gcp_project", "gcp_zone", "fleet_zones", "machine_type", "terraform"),
    _KUBERNETES: ("runner", "namespace", "worker_image", "service_account", "bucket_secret"),
}
_BOTH = ("image", "dry_run")


def chosen(call: Call) -> bool:
    """The command line asks for a bastion that lives elsewhere."""
    return any(_says(call, flag) for flags in (*_FLAGS.values(), _BOTH) for flag in flags)


def _says(call: Call, flag: str) -> bool:
    value = call.flags.get(flag)
    return value == _RUNNER if flag == "runner" else bool(value)


def way(call: Call, place: BastionPlace) -> Way:
    """The way that the flags say, or that the bastion has gone. Raises `UsageError` for flags of two ways, or of none."""
    said = {name: next((flag for flag in flags if _says(call, flag)), "") for name, flags in _FLAGS.items()}
    if all(said.values()):
        raise UsageError(f"--{' and --'.join(said.values())} are of two ways to have a bastion live elsewhere; say one")
    if name := next(filter(said.get, said), "") or _gone(place):
        return _known(name)
    raise UsageError(f"where is the bastion to live? Say {_GOOGLE}=PROJECT, or {_KUBERNETES}")


def lodging(place: BastionPlace, tell: Tell | None = None) -> Hosting | None:
    """Where the bastion at this place lives, if its settings say that it is elsewhere."""
    gone = _gone(place)
    return _known(gone).lodging(place, tell) if gone else None


def rehearsed(call: Call, place: BastionPlace) -> Hosting:
    """Its lodging behind a door that prints every call, and makes those that only look. Raises `UsageError` if there is none."""
    if found := lodging(place, call.output.say):
        return found
    raise UsageError(f"bastion {place.name} does not live elsewhere, so it calls nobody; leave out --dry_run")


def bring_up(call: Call, place: BastionPlace, site: HostingPlan, clock: Clock) -> bool:
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


def await_tick(place: BastionPlace, lodged: Hosting, clock: Clock, *, epoch: int) -> None:
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


def last_words(lodged: Hosting) -> str:
    """The end of what was written on its console."""
    try:
        lines = [line for line in lodged.console().splitlines() if line.strip()]
    except BastionError as error:
        return f"its console cannot be read: {error}"
    return " | ".join(lines[-CONSOLE_LINES:]) or "it said nothing"


def told(place: BastionPlace) -> str:
    """The lodging and how it is, in words; empty if there is none. What cannot be known is said."""
    try:
        found = lodging(place)
        return f"{found.name} in {found.where}: {found.status()}" if found else ""
    except BastionError as error:
        return f"not known: {error}"


def forget(place: BastionPlace) -> dict[str, Any]:
    """The settings of a bastion that has no lodging any more."""
    gone = _gone(place)
    return _known(gone).forget(place) if gone else {}


def _gone(place: BastionPlace) -> str:
    """The way that the bastion at this place has gone, by its settings; empty if it lives here."""
    config = stored(place)
    return next((name for name, has in _GONE.items() if has(config)), "")


def _known(name: str) -> Way:
    """The module of a way. It brings a whole cloud along: who lives here does not wait for it."""
    if name == _GOOGLE:
        from . import google_host

        return google_host
    from . import kubernetes_host

    return kubernetes_host
