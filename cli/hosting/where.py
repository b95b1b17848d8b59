"""Find the hosting of a bastion that runs elsewhere.

This includes the choice of its kind, and the wait for its first tick.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import Clock
from bastion.model.settings.config import Config
from bastion.runners.hosting import Hosting, HostingPlan, Tell

from ..common.bastion_alive import is_up
from ..common.place import BastionPlace, stored
from ..options.bastion import HostingOptions
from ..terminal.flags import Options
from ..terminal.main import Call

UP_S = 900.0
LOOK_S = 2.0
CONSOLE_LINES = 15


class HostingModule(Protocol):
    """The interface of a module for one kind of hosting."""

    def settings(self, call: Call[HostingOptions], place: BastionPlace) -> dict[str, Any]:
        """Return the settings of the command line, by the names in `config.toml`.

        Flags that are not set keep the old values.

        Raises `BastionError`.
        """

    def site(self, call: Call[HostingOptions], place: BastionPlace, config: Config) -> HostingPlan:
        """Return the plan for this bastion's hosting. Raises `UsageError` if it is not possible."""

    def hosting(self, place: BastionPlace, tell: Tell | None = None) -> Hosting | None:
        """Return this bastion's hosting; None if its settings name none.

        With `tell`, calls that would change something are reported and not made.
        """

    def forget(self, place: BastionPlace) -> dict[str, Any]:
        """Return the settings after the hosting was deleted."""


_GOOGLE, _KUBERNETES = "--gcp_project", "--runner=kubernetes"
_GONE: Mapping[str, Callable[[Config], bool]] = {
    _GOOGLE: lambda config: bool(config.google.vm_zone),
    _KUBERNETES: lambda config: bool(config.runner_options.get("kubernetes", {}).get("deployed_in")),
}
"""Tests of the settings: whether a bastion has each kind of hosting."""

_RUNNER = "kubernetes"
"""The runner that also hosts the bastion in its cluster.

For other values of --runner, the bastion is on this machine.
"""

_FLAGS: Mapping[str, tuple[str, ...]] = {
    _GOOGLE: ("gcp_project", "gcp_zone", "fleet_zones", "machine_type", "terraform"),
    _KUBERNETES: ("runner", "namespace", "worker_image", "service_account", "bucket_secret"),
}
_BOTH = ("image", "dry_run")


def chosen(call: Call[HostingOptions]) -> bool:
    """Return True if the command line asks for a bastion that is hosted elsewhere."""
    return any(_says(call, flag) for flags in (*_FLAGS.values(), _BOTH) for flag in flags)


def _says(call: Call[HostingOptions], flag: str) -> bool:
    value = call.options.values.get(flag)
    return value == _RUNNER if flag == "runner" else bool(value)


def way(call: Call[HostingOptions], place: BastionPlace) -> HostingModule:
    """Return the kind of hosting that the flags or the settings choose.

    Raises `UsageError` for flags of two kinds, or of none.
    """
    said = {name: next((flag for flag in flags if _says(call, flag)), "") for name, flags in _FLAGS.items()}
    if all(said.values()):
        raise UsageError(f"--{' and --'.join(said.values())} choose two places for the bastion; leave one out")
    if name := next(filter(said.get, said), "") or _gone(place):
        return _known(name)
    raise UsageError(f"no place for the bastion is given; use {_GOOGLE}=PROJECT, or {_KUBERNETES}")


def hosting(place: BastionPlace, tell: Tell | None = None) -> Hosting | None:
    """Return this bastion's hosting; None if its settings say that it runs here."""
    gone = _gone(place)
    return _known(gone).hosting(place, tell) if gone else None


def rehearsed(call: Call[Options], place: BastionPlace) -> Hosting:
    """Return the hosting behind an interface that prints every call, and makes only those that read.

    Raises `UsageError` if there is no hosting.
    """
    if found := hosting(place, call.output.say):
        return found
    raise UsageError(f"bastion {place.name} runs on this machine and calls no API; leave out --dry_run")


def bring_up(call: Call[Options], place: BastionPlace, site: HostingPlan, clock: Clock) -> bool:
    """Make what is missing, and return when the bastion ticks. Return True if anything was done."""
    before, done, last = place.status(), [], False
    for one in site.work(None):
        with call.output.progress(one.what):
            if last := one.ensure():
                done.append(one.what)
    hosted = site.hosting
    started = hosted.start()
    anew = started or last
    if anew or not is_up(place, clock):
        with call.output.progress(f"waiting for the first tick of bastion {place.name} on {hosted.name}"):
            await_tick(place, hosted, clock, epoch=before.epoch if before and anew else 0)
    if done:
        call.output.note(f"made: {'; '.join(done)}")
    return started or bool(done)


def await_tick(place: BastionPlace, hosted: Hosting, clock: Clock, *, epoch: int) -> None:
    """Return when a bastion later than this epoch has ended a tick.

    Raises `BastionError` with the end of the console if that takes more than `UP_S` seconds, or cannot happen.
    """
    deadline = clock.monotonic() + UP_S
    while clock.monotonic() < deadline:
        status = place.status()
        if status is not None and status.epoch > epoch and is_up(place, clock):
            return
        if hosted.fallen():
            break
        clock.sleep(LOOK_S)
    raise BastionError(f"bastion {place.name} did not start on {hosted.name} ({hosted.status()}): {last_words(hosted)}")


def last_words(hosted: Hosting) -> str:
    """Return the last lines of its console."""
    try:
        lines = [line for line in hosted.console().splitlines() if line.strip()]
    except BastionError as error:
        return f"its console cannot be read: {error}"
    return " | ".join(lines[-CONSOLE_LINES:]) or "it printed nothing"


def told(place: BastionPlace) -> str:
    """Return the hosting and its status as text; empty without one. If the status is unknown, the text says why."""
    try:
        found = hosting(place)
        return f"{found.name} in {found.where}: {found.status()}" if found else ""
    except BastionError as error:
        return f"not known: {error}"


def forget(place: BastionPlace) -> dict[str, Any]:
    """Return the settings after the hosting was deleted; empty if there was none."""
    gone = _gone(place)
    return _known(gone).forget(place) if gone else {}


def _gone(place: BastionPlace) -> str:
    """Return the kind of hosting of this bastion, from its settings; empty if it runs here."""
    config = stored(place)
    return next((name for name, has in _GONE.items() if has(config)), "")


def _known(name: str) -> HostingModule:
    """Return the module of this kind. It is imported here because it loads a whole cloud client."""
    if name == _GOOGLE:
        from . import google_host

        return google_host
    from . import kubernetes_host

    return kubernetes_host
