"""A bastion on a VM of its own in Google's cloud: made by `bastion create`, and found again by the settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from bastion.config import Config
from bastion.errors import BastionError, Missing, UsageError
from bastion.google.api import GoogleApi
from bastion.google.door import Google, GoogleError, NotThere
from bastion.google.settings import GoogleSettings
from bastion.layout import CONFIG
from bastion.ports import Clock
from bastion.system import RandomIds, SystemClock
from cli.main import Call
from cli.place import Place, in_force
from cloud import prices, steps, terraform
from cloud.dry import Dry
from cloud.host import DISK_GB, IMAGE, MACHINE_TYPE, Host, check, metadata_of, vm_name, workers
from cloud.machine import GONE, Machine

UP_S = 900.0
LOOK_S = 2.0
CONSOLE_LINES = 15
RUNNERS = ["tpu", "gce"]


def is_wanted(call: Call) -> bool:
    """The command line asks for a VM in Google's cloud."""
    return any(
        call.flags.get(flag)
        for flag in ("gcp_project", "gcp_zone", "fleet_zones", "image", "machine_type", "terraform", "dry_run")
    )


def settings(call: Call, place: Place) -> dict[str, Any]:
    """What the command line says of Google's cloud, by the words of `config.toml`; what it does not say stays."""
    old = stored(place)
    google, zone = old.google, call.flags["gcp_zone"] or old.google.vm_zone
    if not zone:
        raise UsageError("where is the bastion's VM to be? Say --gcp_zone=ZONE, as in us-central1-a")
    project = call.flags["gcp_project"] or google.project
    google = msgspec.structs.replace(
        google,
        project=project,
        vm_zone=zone,
        zones=_zones(call.flags["fleet_zones"]) or google.zones or [zone],
        service_account=google.service_account or (workers(place.name, project) if project else ""),
    )
    return {"google": google, "runners": RUNNERS if old.runners == ["local"] else old.runners}


def machine(place: Place, google: Google | None = None) -> Machine | None:
    """The VM of the bastion at this place, if its settings say that it has one."""
    held = stored(place).google
    if not held.vm_zone:
        return None
    return Machine(google or door(held), held.project, held.vm_zone, vm_name(place.name))


def rehearsed(call: Call, place: Place) -> Machine:
    """The VM behind a door that prints every call, and makes those that only look. Raises `UsageError` if there is none."""
    google = stored(place).google
    if vm := machine(place, Dry(door(google), call.output.say)):
        return vm
    raise UsageError(
        f"bastion {place.name} has no VM of its own, so it calls none of Google's APIs; leave out --dry_run"
    )


def door(google: GoogleSettings) -> GoogleApi:
    """The real door to Google's APIs."""
    return GoogleApi(google.project, SystemClock(), RandomIds())


def host(call: Call, place: Place, config: Config) -> Host:
    """Of what the bastion at this place is to consist. Raises `UsageError` for what cannot be."""
    found = Host(
        bastion=place.name,
        url=place.root.url,
        buckets=buckets(place, config),
        zone=config.google.vm_zone,
        image=call.flags["image"] or _image(place, config.google),
        google=config.google,
        runners=config.runners,
        machine_type=call.flags["machine_type"] or MACHINE_TYPE,
    )
    check(found)
    return found


def buckets(place: Place, config: Config) -> list[str]:
    """The names of all its buckets."""
    return sorted({_bucket(place.root.url), *map(_bucket, config.buckets.values())})


def price(found: Host, config: Config) -> str:
    """What it costs, in a line."""
    return prices.line(found.machine_type, DISK_GB, config.poll)


def rehearse(call: Call, found: Host) -> None:
    """Print every call that would be made, and make those that only look."""
    google = Dry(door(found.google), call.output.say)
    for step in steps.steps(found):
        step.ensure(google)


def write_terraform(call: Call, found: Host) -> None:
    """Write the same as Terraform into a folder."""
    folder = Path(call.flags["terraform"])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in terraform.files(found).items():
        if (path := folder / name).exists() and path.read_text() != text:
            raise BastionError(f"{path} is there already, and is another; remove it, or name an empty folder")
        path.write_text(text)
    call.output.say(f"bastion {found.bastion} is written down in {folder}: terraform init, terraform apply")


def bring_up(call: Call, place: Place, found: Host, clock: Clock) -> bool:
    """Make what is missing, and return when the bastion ticks. True if anything was done."""
    google = door(found.google)
    before, done = place.status(), []
    for step in steps.steps(found):
        with call.output.progress(step.what):
            if step.ensure(google):
                done.append(step.what)
    vm = Machine(google, found.project, found.zone, found.vm)
    started = vm.start()
    if started or any(what.startswith("the VM") for what in done):
        with call.output.progress(f"waiting for the first tick of bastion {place.name} on {found.vm}"):
            await_tick(place, vm, clock, epoch=before.epoch if before else 0)
    if done:
        call.output.note(f"made: {'; '.join(done)}")
    return started or bool(done)


def await_tick(place: Place, vm: Machine, clock: Clock, *, epoch: int) -> None:
    """Return when a bastion later than this epoch has ended a tick. Raises `BastionError` with the VM's last words."""
    deadline = clock.monotonic() + UP_S
    while clock.monotonic() < deadline:
        status = place.status()
        if status is not None and status.epoch > epoch and place.is_up(clock):
            return
        if vm.status() in (GONE, "TERMINATED", "STOPPING", "SUSPENDED"):
            break
        clock.sleep(LOOK_S)
    raise BastionError(f"bastion {place.name} did not come up on {vm.name} ({vm.status()}): {last_words(vm)}")


def last_words(vm: Machine) -> str:
    """The end of what a VM wrote on its serial console."""
    try:
        lines = [line for line in vm.console().splitlines() if line.strip()]
    except GoogleError as error:
        return f"its console cannot be read: {error}"
    return " | ".join(lines[-CONSOLE_LINES:]) or "it said nothing"


def told(place: Place) -> str:
    """The VM and how it is, in words; empty if there is none. What cannot be known is said."""
    try:
        vm = machine(place)
        return f"{vm.name} in {vm.zone}: {vm.status()}" if vm else ""
    except BastionError as error:
        return f"not known: {error}"


def forget(place: Place) -> dict[str, Any]:
    """The settings of a bastion whose VM is no more."""
    return {"google": msgspec.structs.replace(stored(place).google, vm_zone="")}


def stored(place: Place) -> Config:
    """The settings in force, though somebody may be about to mend them; the defaults of a bastion that is not made yet."""
    try:
        return in_force(place, place.bucket.read(CONFIG).data)
    except Missing:
        return Config()


def _zones(said: str | None) -> list[str]:
    return [zone for zone in map(str.strip, (said or "").split(",")) if zone]


def _image(place: Place, google: GoogleSettings) -> str:
    """The image that the VM has, if there is one."""
    if not google.vm_zone or not google.project:
        return ""
    at = {"project": google.project, "zone": google.vm_zone, "instance": vm_name(place.name)}
    try:
        return metadata_of(door(google).call("compute.instances.get", **at)).get(IMAGE, "")
    except NotThere:
        return ""


def _bucket(url: str) -> str:
    return url.removeprefix("gs://").partition("/")[0]
