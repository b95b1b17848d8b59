"""Settings for machines in Google's clouds: the table `[google]` of `config.toml`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from ..nearest import did_you_mean
from ..wording import shown

BUYING = ("reserved", "on-demand", "spot", "flex-start")
"""The ways to get machines.

reserved: from a reservation.
on-demand: at list price.
spot: until Google wants them back.
flex-start: for a limited time, once there are some.
"""

_PROJECT = re.compile(r"([a-z][a-z0-9-]{4,28}[a-z0-9])|([a-z0-9.-]{1,60}:[a-z][a-z0-9-]{4,28}[a-z0-9])|")
_ZONE = re.compile(r"[a-z]{2,30}-[a-z]{3,30}[0-9]{1,2}-[a-z]{1,3}[0-9]{0,2}[a-z]?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,399}")
_ACCOUNT = re.compile(r"([A-Za-z0-9._-]{1,100}@[A-Za-z0-9.-]{1,150})|")


class GoogleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the runners tpu and gce: where and how they get machines.

    project: id of the Google Cloud project.
    zones: tried in this order.
    network: the machines' network; "": the default one.
    subnetwork: the machines' subnetwork; "": the default one.
    service_account: the workers' account; "": the project's default one.
    tiers: how machines of each tier of the quota file are had; the last entry also counts for all further tiers.
    reservations: names of reservations, by kind of resource.
    images: names by kind of what machines boot from: a runtime version for TPUs, an image or its family for VMs.
    disk_gb: size of a machine's disk, in GB.
    vm_zone: zone of the bastion's own VM; "": it has none.
    """

    project: str = ""
    zones: list[str] = []
    network: str = ""
    subnetwork: str = ""
    service_account: str = ""
    tiers: list[str] = msgspec.field(default_factory=lambda: ["on-demand"])
    reservations: dict[str, str] = {}
    images: dict[str, str] = {}
    disk_gb: int = 200
    vm_zone: str = ""

    def bought(self, tier: int) -> str:
        """Return how machines of this tier, counted from 0, are had."""
        return self.tiers[min(tier, len(self.tiers) - 1)]


def faults(google: GoogleSettings) -> Iterator[str]:
    """Check these settings; yield complaints."""
    if not _PROJECT.fullmatch(google.project):
        yield f"project is {shown(google.project)}; use a project's id, as in my-project-1"
    for zone in google.zones:
        if not _ZONE.fullmatch(zone):
            yield f"zones has {shown(zone)}; use zones, as in us-central2-b"
    if google.vm_zone and not _ZONE.fullmatch(google.vm_zone):
        yield f"vm_zone is {shown(google.vm_zone)}; use a zone, as in us-central1-a"
    if len(set(google.zones)) != len(google.zones):
        yield "zones names one twice; leave one out"
    for key in ("network", "subnetwork"):
        if (name := getattr(google, key)) and not _NAME.fullmatch(name):
            yield f"{key} is {shown(name)}; use its name, or projects/P/…/NAME"
    if not _ACCOUNT.fullmatch(google.service_account):
        yield f"service_account is {shown(google.service_account)}; use its e-mail address"
    if not google.tiers:
        yield 'tiers is empty; say how machines are had, as in ["on-demand"]'
    for how in google.tiers:
        if how not in BUYING:
            # chr(44) is a comma: an f-string of Python 3.11 cannot use its own quotes inside
            yield f"tiers has {shown(how)}; {did_you_mean(how, BUYING, f'use {chr(44).join(BUYING)}')}"
    for key in ("reservations", "images"):
        yield from _names(key, getattr(google, key))
    if not 10 <= google.disk_gb <= 65_536:
        yield f"disk_gb is {shown(google.disk_gb)}; use 10 to 65536"


def _names(key: str, names: Mapping[str, str]) -> Iterator[str]:
    for kind, name in names.items():
        if not _NAME.fullmatch(name):
            yield f"{key}.{shown(kind)} is {shown(name)}; use its name"
