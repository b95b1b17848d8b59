"""End a bastion with machines elsewhere: delete the machines, its hosting, and on request its accounts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bastion.model.errors import BastionError
from bastion.model.interfaces import Clock
from bastion.model.settings.config import Config
from bastion.runners.google.api.interface import Google
from bastion.runners.google.fleet import GCE, TPU
from bastion.runners.google.gce.runner import GceRunner
from bastion.runners.google.hosting.bastion_vm import BastionVm, workers
from bastion.runners.google.hosting.dry_run import DryGoogle
from bastion.runners.google.hosting.grants import leave
from bastion.runners.google.tpu.runner import TpuRunner
from bastion.runners.hosting import Tell
from bastion.runners.kubernetes import names
from bastion.runners.kubernetes.fleet import KUBERNETES
from bastion.runners.kubernetes.runner import KubernetesRunner

from ..common.place import BastionPlace, stored
from ..common.runner_contexts import runner_context
from ..terminal.flags import Options
from ..terminal.main import Call
from . import google_host, where

SWEEP_S = 1800.0
LOOK_S = 2.0
NAMED = 5

Fleet = Sequence[TpuRunner | GceRunner | KubernetesRunner]


def fleet_of(place: BastionPlace, config: Config, environ: Mapping[str, str], tell: Tell | None = None) -> Fleet:
    """Return the bastion's runners with machines that outlive it.

    With `tell`, calls that would change something are reported and not made.
    """
    makers = {maker.kind.name: maker for maker in (TPU, GCE)}
    google = DryGoogle(google_host.door(config.google), tell) if tell else None
    fleet: list[TpuRunner | GceRunner | KubernetesRunner] = []
    for name in config.runners:
        if name in makers:
            fleet.append(makers[name].make(runner_context(place, config, environ, name), google))
        elif name == KubernetesRunner.name:
            fleet.append(KUBERNETES.make(runner_context(place, config, environ, name), tell))
    return fleet


def machines(fleet: Fleet) -> list[str]:
    """List the names of all machines of the bastion. Raises `RunnerError` if they are not known."""
    return sorted({_shown(machine.id) for runner in fleet for machine in runner.list()})


def named(found: Sequence[str]) -> str:
    """Return the first names as text."""
    return ", ".join(found[:NAMED]) + (", ..." if len(found) > NAMED else "")


def sweep(fleet: Fleet, clock: Clock) -> None:
    """Delete the machines, and return when none is left.

    Raises `BastionError` if some remain after `SWEEP_S` seconds.
    """
    deadline = clock.monotonic() + SWEEP_S
    while left := machines(fleet):
        _remove(fleet)
        if clock.monotonic() > deadline:
            raise BastionError(
                f"{len(left)} machines still exist {SWEEP_S:.0f} s after their deletion: {named(left)}; run it again, or "
                "look at them in the console of their cloud or cluster"
            )
        clock.sleep(LOOK_S)
    for runner in fleet:
        runner.clear()


def has_accounts(place: BastionPlace, config: Config) -> bool:
    """Return True if `bastion create` made accounts for this bastion: the settings name them."""
    google = config.google
    return bool(google.project and google.service_account) and (
        bool(google.vm_zone) or google.service_account == workers(place.name, google.project)
    )


def close_accounts(google: Google, place: BastionPlace, config: Config) -> list[str]:
    """Remove the accounts that were made for the bastion, and their rights. Return what was removed, as text."""
    return [step.what for step in leave(_host(place, config)) if step.ensure(google)]


def rehearse(call: Call[Options], place: BastionPlace, *, accounts: bool) -> None:
    """Print every call that `bastion delete` would make. Calls that only read are really made."""
    config = stored(place)
    hosted = where.hosting(place, call.output.say)
    if hosted:
        hosted.stop()
    fleet = fleet_of(place, config, call.environ, call.output.say)
    _remove(fleet)
    for runner in fleet:
        runner.clear()
    if hosted:
        hosted.delete()
    if accounts and has_accounts(place, config):
        close_accounts(DryGoogle(google_host.door(config.google), call.output.say), place, config)


def _shown(machine: str) -> str:
    """Return a machine's id without the part that only distinguishes it from others of its name."""
    pod = names.pod_of(machine) or names.unborn_of(machine)
    return pod[0] if pod else "/".join(machine.split("/")[:2])


def _remove(fleet: Fleet) -> None:
    for runner in fleet:
        for machine in runner.list():
            runner.delete(machine.id)


def _host(place: BastionPlace, config: Config) -> BastionVm:
    """Return the description of the bastion's VM, as far as its deletion needs it."""
    return BastionVm(
        bastion=place.name,
        url=place.root.url,
        buckets=google_host.buckets(place, config),
        zone=config.google.vm_zone,
        image="",
        google=config.google,
        runners=config.runners,
    )
