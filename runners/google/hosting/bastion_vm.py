"""The parts of a bastion in Google's cloud: one small VM without an external address, and two accounts. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.settings.tables import GoogleSettings, faults_of_google

from ..api.interface import SCOPE, Answer
from .startup_script import SCRIPT

MACHINE_TYPE = "e2-small"
SYSTEM = "projects/cos-cloud/global/images/family/cos-stable"
DISK_GB = 10
IMAGE, NAME, BUCKET = "bastion-image", "bastion-name", "bastion-bucket"
"""The keys of the VM's metadata for its image, its bastion and its bucket."""

_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]{0,300}(@sha256:[0-9a-f]{64})?")
_MACHINE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+){1,4}")
_ODD = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class BastionVm:
    """The VM that hosts the bastion of this name, and the settings of its project.

    bastion: the bastion's name.
    url: the URL of its private bucket.
    buckets: the names of all its buckets.
    zone: the VM's zone.
    image: the container image that it runs.
    google: the settings in `[google]`, which also say where its fleet is.
    runners: the runners that it uses.
    machine_type: the VM's machine type.
    """

    bastion: str
    url: str
    buckets: Sequence[str]
    zone: str
    image: str
    google: GoogleSettings
    runners: Sequence[str] = ("tpu", "gce")
    machine_type: str = MACHINE_TYPE

    @property
    def project(self) -> str:
        """The project that contains all of it."""
        return self.google.project

    @property
    def region(self) -> str:
        """The zone's region."""
        return self.zone.rsplit("-", 1)[0]

    @property
    def vm(self) -> str:
        """The VM's name."""
        return vm_name(self.bastion)

    @property
    def account(self) -> str:
        """The e-mail address of the bastion's own account."""
        return email(f"bastion-{slug(self.bastion, 15)}", self.project)

    @property
    def workers(self) -> str:
        """The e-mail address of the account of its machines."""
        return self.google.service_account or workers(self.bastion, self.project)

    @property
    def role(self) -> str:
        """The name of the role that allows it to have VMs."""
        return f"bastionFleet_{slug(self.bastion, 40).replace('-', '_')}"

    @property
    def subnetwork(self) -> str:
        """The path of the VM's subnetwork."""
        name = self.google.subnetwork or "default"
        return name if "/" in name else f"projects/{self.project}/regions/{self.region}/subnetworks/{name}"


def check(host: BastionVm) -> None:
    """Raise `UsageError` if this VM cannot be made, with every complaint."""
    wrong = [*faults_of_google(host.google)]
    if not host.project:
        wrong.append("no project is given; use --gcp_project=PROJECT")
    if not _IMAGE.fullmatch(host.image):
        wrong.append(
            f"the bastion's image is {host.image[:200]!r}; build it from the repository's Dockerfile (target bastion), push it, "
            "and use --image=REGION-docker.pkg.dev/PROJECT/REPOSITORY/bastion@sha256:..."
        )
    if not _MACHINE.fullmatch(host.machine_type):
        wrong.append(f"machine_type is {host.machine_type[:60]!r}; use one of Compute Engine's, as in {MACHINE_TYPE}")
    if not host.url.startswith("gs://"):
        wrong.append(
            f"the bucket is {host.url[:200]}, but a bastion in Google Cloud needs a bucket there; use gs://NAME"
        )
    if wrong:
        raise UsageError("; ".join(wrong))


def instance(host: BastionVm) -> Answer:
    """Return the VM in Compute Engine's form: no external address, restarted whenever it fails."""
    return {
        "name": host.vm,
        "description": f"The bastion {host.bastion} in {host.url}",
        "machineType": f"zones/{host.zone}/machineTypes/{host.machine_type}",
        "labels": {"bastion": slug(host.bastion, 60), "part": "bastion"},
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {"sourceImage": SYSTEM, "diskSizeGb": str(DISK_GB)},
            }
        ],
        "networkInterfaces": [{"subnetwork": host.subnetwork}],
        "serviceAccounts": [{"email": host.account, "scopes": [SCOPE]}],
        "scheduling": {"automaticRestart": True, "onHostMaintenance": "MIGRATE"},
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableVtpm": True, "enableIntegrityMonitoring": True},
        "metadata": {"items": items(host)},
    }


def items(host: BastionVm) -> list[dict[str, str]]:
    """Return the VM's metadata, which its start-up script reads as data."""
    values = {
        "startup-script": SCRIPT,
        IMAGE: host.image,
        NAME: host.bastion,
        BUCKET: host.url,
        "block-project-ssh-keys": "TRUE",
        "enable-oslogin": "TRUE",
    }
    return [{"key": key, "value": value} for key, value in values.items()]


def metadata_of(vm: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a VM as the API shows it."""
    return {item["key"]: item.get("value", "") for item in vm.get("metadata", {}).get("items", [])}


def vm_name(bastion: str) -> str:
    """Return the name of a bastion's VM. The VM is found again by this name."""
    return f"bastion-{slug(bastion, 50)}"


def slug(name: str, most: int) -> str:
    """Return a name that follows Google's rules, at most `most` characters long.

    A name that already does is unchanged. Another loses what is not allowed, and gets 8 digits of its hash.
    """
    plain = _ODD.sub("-", name.lower()).strip("-")
    if plain == name and len(plain) <= most:
        return plain
    mark = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: most - 9].rstrip('-') or 'b'}-{mark}"


def workers(bastion: str, project: str) -> str:
    """Return the account of a bastion's machines, for settings that name none."""
    return email(f"bastion-{slug(bastion, 15)}-worker", project)


def email(account: str, project: str) -> str:
    """Return the e-mail address of a service account of the project."""
    domain, _, name = project.rpartition(":")
    return f"{account}@{name}{f'.{domain}' if domain else ''}.iam.gserviceaccount.com"


MONTH_S = 730 * 3600
VM_HOUR = {"e2-micro": 0.008376, "e2-small": 0.016751, "e2-medium": 0.033503, "e2-standard-2": 0.067006}
DISK_GB_MONTH = 0.04
LIST_EACH = 0.005 / 1000
STORED_GB_MONTH = 0.02
"""Prices in US dollars, for us-central1 in 2025. Other regions cost up to half as much again."""


def line(machine_type: str, disk_gb: int, poll_s: float) -> str:
    """Describe the cost of a VM of this type, of its disk, and of a listing of the inbox every `poll_s` seconds."""
    disk = disk_gb * DISK_GB_MONTH
    polls = MONTH_S / poll_s * LIST_EACH
    parts = [f"disk {disk:.2f}", f"{86_400 / poll_s:,.0f} polls a day {polls:.2f}"]
    if (hour := VM_HOUR.get(machine_type)) is None:
        parts.insert(0, f"VM {machine_type} not known here")
        return f"about US$ {disk + polls:.0f} a month and the VM: {', '.join(parts)}; and {_stored()}"
    vm = hour * MONTH_S / 3600
    parts.insert(0, f"VM {machine_type} {vm:.2f}")
    return f"about US$ {vm + disk + polls:.0f} a month: {', '.join(parts)}; and {_stored()}"


def _stored() -> str:
    return f"{STORED_GB_MONTH:.2f} for each GB in the bucket (list prices of us-central1, 2025)"
