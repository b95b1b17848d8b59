"""Host a bastion on its own VM in Google's cloud: make it for `bastion create`, and find it by the settings."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bastion.model.errors import BastionError, UsageError
from bastion.model.settings.config import Config
from bastion.model.settings.tables import GoogleSettings
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.interface import Google, ResourceNotFound
from bastion.runners.google.hosting import bastion_vm, setup_steps, terraform
from bastion.runners.google.hosting.bastion_vm import (
    DISK_GB,
    IMAGE,
    MACHINE_TYPE,
    BastionVm,
    check,
    metadata_of,
    vm_name,
    workers,
)
from bastion.runners.google.hosting.dry_run import DryGoogle
from bastion.runners.google.hosting.vm_status import VmStatus
from bastion.runners.hosting import HostingPlan, PlannedStep, Tell

from ..common.place import BastionPlace, stored
from ..options.bastion import HostingOptions
from ..terminal.flags import Options
from ..terminal.main import Call

RUNNERS = ["tpu", "gce"]


def settings(call: Call[HostingOptions], place: BastionPlace) -> dict[str, Any]:
    """Return the settings for Google's cloud, by the names in `config.toml`.

    Flags that are not set keep the old values.

    Raises `UsageError` without a zone for the VM.
    """
    old = stored(place)
    google, zone = old.google, call.options.gcp_zone or old.google.vm_zone
    if not zone:
        raise UsageError("the zone of the bastion's VM is not set; use --gcp_zone=ZONE, as in us-central1-a")
    project = call.options.gcp_project or google.project
    google = msgspec.structs.replace(
        google,
        project=project,
        vm_zone=zone,
        zones=_zones(call.options.fleet_zones) or google.zones or [zone],
        service_account=google.service_account or (workers(place.name, project) if project else ""),
    )
    return {"google": google, "runners": RUNNERS if old.runners == ["local"] else old.runners}


def hosting(place: BastionPlace, tell: Tell | None = None) -> VmStatus | None:
    """Return the VM of this bastion; None if its settings name none.

    With `tell`, every call to Google is reported, and calls that would change something are not made.
    """
    held = stored(place).google
    if not held.vm_zone:
        return None
    api: Google = DryGoogle(door(held), tell) if tell else door(held)
    return VmStatus(api, held.project, held.vm_zone, vm_name(place.name))


def door(google: GoogleSettings) -> GoogleApi:
    """Return the real interface to Google's APIs."""
    return GoogleApi(google.project, SystemClock(), RandomIds())


def site(call: Call[HostingOptions], place: BastionPlace, config: Config) -> HostingPlan:
    """Return the plan for this bastion's hosting. Raises `UsageError` if it is not possible."""
    found, google = _host(call, place, config), config.google

    def work(tell: Tell | None) -> list[PlannedStep]:
        api = DryGoogle(door(google), tell) if tell else door(google)
        return [PlannedStep(step.what, partial(step.ensure, api)) for step in setup_steps.steps(found)]

    return HostingPlan(
        hosting=VmStatus(door(google), found.project, found.zone, found.vm),
        work=work,
        note=bastion_vm.line(found.machine_type, DISK_GB, config.poll),
        write=partial(_write_terraform, call, found),
    )


def buckets(place: BastionPlace, config: Config) -> list[str]:
    """List the names of all buckets of the bastion."""
    return sorted({_bucket(place.root.url), *map(_bucket, config.buckets.values())})


def forget(place: BastionPlace) -> dict[str, Any]:
    """Return the settings after the VM was deleted."""
    return {"google": msgspec.structs.replace(stored(place).google, vm_zone="")}


def _host(call: Call[HostingOptions], place: BastionPlace, config: Config) -> BastionVm:
    found = BastionVm(
        bastion=place.name,
        url=place.root.url,
        buckets=buckets(place, config),
        zone=config.google.vm_zone,
        image=call.options.image or _image(place, config.google),
        google=config.google,
        runners=config.runners,
        machine_type=call.options.machine_type or MACHINE_TYPE,
    )
    check(found)
    return found


def _write_terraform(call: Call[Options], found: BastionVm, where: str) -> None:
    folder = Path(where)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in terraform.files(found).items():
        if (path := folder / name).exists() and path.read_text() != text:
            raise BastionError(f"{path} exists and has other content; remove it, or name an empty folder")
        path.write_text(text)
    call.output.say(f"bastion {found.bastion} is written to {folder}; run: terraform init, terraform apply")


def _zones(said: str | None) -> list[str]:
    return [zone for zone in map(str.strip, (said or "").split(",")) if zone]


def _image(place: BastionPlace, google: GoogleSettings) -> str:
    """Return the image of the present VM; empty if there is no VM."""
    if not google.vm_zone or not google.project:
        return ""
    at = {"project": google.project, "zone": google.vm_zone, "instance": vm_name(place.name)}
    try:
        return metadata_of(door(google).call("compute.instances.get", **at)).get(IMAGE, "")
    except ResourceNotFound:
        return ""


def _bucket(url: str) -> str:
    return url.removeprefix("gs://").partition("/")[0]
