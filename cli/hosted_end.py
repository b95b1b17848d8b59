"""The end of a bastion in Google's cloud: its machines, its VM, and on demand its accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bastion.config import Config
from bastion.errors import BastionError
from bastion.google.door import Google
from bastion.ports import Clock
from cli import hosted
from cli.google_fleet import GCE, TPU
from cli.grounds import ground
from cli.main import Call
from cli.place import Place
from cloud.dry import Dry
from cloud.grants import leave
from cloud.host import Host, workers
from runners.gce.runner import GceRunner
from runners.tpu.runner import TpuRunner

SWEEP_S = 1800.0
LOOK_S = 2.0
NAMED = 5

Fleet = Sequence[TpuRunner | GceRunner]


def fleet_of(place: Place, config: Config, environ: Mapping[str, str], google: Google | None = None) -> Fleet:
    """The bastion's runners whose machines are Google's."""
    makers = {maker.kind.name: maker for maker in (TPU, GCE)}
    ours = [name for name in config.runners if name in makers]
    return [makers[name].make(ground(place, config, environ, name), google) for name in ours]


def machines(fleet: Fleet) -> list[str]:
    """Where and how all machines are called that the bastion has. Raises `RunnerError` if that is not known."""
    return sorted({"/".join(machine.id.split("/")[:2]) for runner in fleet for machine in runner.list()})


def named(found: Sequence[str]) -> str:
    """The first of them, in words."""
    return ", ".join(found[:NAMED]) + (", ..." if len(found) > NAMED else "")


def sweep(fleet: Fleet, clock: Clock) -> None:
    """Return when no machine is left. Raises `BastionError` for those that do not go."""
    deadline = clock.monotonic() + SWEEP_S
    while left := machines(fleet):
        _remove(fleet)
        if clock.monotonic() > deadline:
            raise BastionError(
                f"{len(left)} machines are not gone {SWEEP_S:.0f} s after their deletion: {named(left)}; say it again, or "
                "see what Google's console says of them"
            )
        clock.sleep(LOOK_S)
    for runner in fleet:
        runner.clear()


def has_accounts(place: Place, config: Config) -> bool:
    """`bastion create` has made accounts for it: the settings name them."""
    google = config.google
    return bool(google.project and google.service_account) and (
        bool(google.vm_zone) or google.service_account == workers(place.name, google.project)
    )


def close_accounts(google: Google, place: Place, config: Config) -> list[str]:
    """Remove the accounts that were made for it, and their rights; what was removed, in words."""
    return [step.what for step in leave(_host(place, config)) if step.ensure(google)]


def rehearse(call: Call, place: Place, *, accounts: bool) -> None:
    """Print every call to Google's APIs that would be made, and make those that only look."""
    config = hosted.stored(place)
    google = Dry(hosted.door(config.google), call.output.say)
    if vm := hosted.machine(place, google):
        vm.stop()
    fleet = fleet_of(place, config, call.environ, google)
    _remove(fleet)
    for runner in fleet:
        runner.clear()
    if vm:
        vm.delete()
    if accounts and has_accounts(place, config):
        close_accounts(google, place, config)


def _remove(fleet: Fleet) -> None:
    for runner in fleet:
        for machine in runner.list():
            runner.delete(machine.id)


def _host(place: Place, config: Config) -> Host:
    """Of what it consists, as far as its end needs to know."""
    return Host(
        bastion=place.name,
        url=place.root.url,
        buckets=hosted.buckets(place, config),
        zone=config.google.vm_zone,
        image="",
        google=config.google,
        runners=config.runners,
    )
