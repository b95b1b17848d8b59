"""The steps that set up a bastion in Google's cloud. Each looks first, and does only what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..api.interface import Answer, Google, ResourceExists, ResourceNotFound
from ..api.operations import finish
from . import rights
from .bastion_vm import BUCKET, BastionVm, email, instance, items, metadata_of
from .grants import granted


class Step(Protocol):
    """One thing that has to be so."""

    @property
    def what(self) -> str:
        """The thing, in words."""

    def ensure(self, google: Google) -> bool:
        """Make it so. Return True if it was not. Raises `GoogleError`."""


@dataclass(frozen=True, slots=True)
class EnabledApis:
    """The step that switches APIs on.

    project: the project's id.
    services: the APIs.
    what: the step in words.
    """

    project: str
    services: tuple[str, ...]
    what: str = "APIs"

    def ensure(self, google: Google) -> bool:
        """Switch on the APIs that are off. Return True if there were any. Raises `GoogleError`."""
        parent = f"projects/{self.project}"
        names = [f"{parent}/services/{service}" for service in self.services]
        told = google.call("serviceusage.services.batchGet", parent=parent, names=names).get("services", [])
        on = {str(one.get("name", "")).rpartition("/")[2] for one in told if one.get("state") == "ENABLED"}
        off = [service for service in self.services if service not in on]
        if off:
            body = {"serviceIds": off}
            finish(google, "serviceusage", google.call("serviceusage.services.batchEnable", parent=parent, body=body))
        return bool(off)


@dataclass(frozen=True, slots=True)
class CreatedResource:
    """The step that makes one thing exist, and as it is wanted.

    what: the thing in words.
    look: the method that finds it, and its parameters.
    make: the method that makes it, and its parameters.
    same: returns True if what was found is as wanted.
    change: corrects what is not as wanted; None leaves it as it is.
    """

    what: str
    look: tuple[str, Mapping[str, Any]]
    make: tuple[str, Mapping[str, Any]]
    same: Callable[[Answer], bool] = lambda _: True
    change: Callable[[Google, Answer], None] | None = None

    def ensure(self, google: Google) -> bool:
        """Make it so. Return True if it was not. Raises `GoogleError`."""
        try:
            found = google.call(self.look[0], **self.look[1])
        except ResourceNotFound:
            return self._make(google)
        if self.same(found) or self.change is None:
            return False
        self.change(google, found)
        return True

    def _make(self, google: Google) -> bool:
        try:
            answer = google.call(self.make[0], **self.make[1])
        except ResourceExists:
            return False  # somebody else made it first, or the answer to an earlier call was lost
        finish(google, self.make[0].partition(".")[0], answer, **self.make[1])
        return True


def steps(host: BastionVm) -> Iterator[Step]:
    """Yield all steps, in an order in which each may rely on those before it."""
    services = [api for api in rights.APIS if not api.startswith("tpu.") or "tpu" in host.runners]
    yield EnabledApis(host.project, tuple(services))
    yield _account(host.account, host.project, f"The bastion {host.bastion}")
    if host.workers == email(host.workers.partition("@")[0], host.project):
        yield _account(host.workers, host.project, f"Machines of the bastion {host.bastion}")
    yield _role(
        host.project, rights.LISTER, "Sees the names of objects, and not what they hold", ["storage.objects.list"]
    )
    if "gce" in host.runners:
        yield _role(host.project, host.role, f"The machines of the bastion {host.bastion}", list(rights.FLEET))
    yield from granted(host)
    yield _subnetwork(host)
    yield vm(host)


def vm(host: BastionVm) -> CreatedResource:
    """Return the step for the VM with the wanted image.

    If the image is another one, the VM is restarted with the wanted one, and no job notices.
    """
    where = {"project": host.project, "zone": host.zone}

    def image(found: Answer) -> bool:
        there, wanted = metadata_of(found), {item["key"]: item["value"] for item in items(host)}
        if there.get(BUCKET, host.url) != host.url:
            raise ResourceExists(
                f"the VM {host.vm} in {host.zone} belongs to a bastion in {there[BUCKET]}; give this one another name"
            )
        return all(there.get(key) == value for key, value in wanted.items())

    def change(google: Google, found: Answer) -> None:
        told = {item["key"]: item for item in [*found.get("metadata", {}).get("items", []), *items(host)]}
        body = {"fingerprint": found.get("metadata", {}).get("fingerprint", ""), "items": list(told.values())}
        at = {**where, "instance": host.vm}
        finish(google, "compute", google.call("compute.instances.setMetadata", **at, body=body), **at)
        if found.get("status") == "RUNNING":
            finish(google, "compute", google.call("compute.instances.reset", **at), **at)

    return CreatedResource(
        what=f"the VM {host.vm} in {host.zone}",
        look=("compute.instances.get", {**where, "instance": host.vm}),
        make=("compute.instances.insert", {**where, "body": instance(host)}),
        same=image,
        change=change,
    )


def _account(address: str, project: str, title: str) -> CreatedResource:
    body = {"accountId": address.partition("@")[0], "serviceAccount": {"displayName": title[:100]}}
    return CreatedResource(
        what=f"the account {address}",
        look=("iam.projects.serviceAccounts.get", {"name": f"projects/{project}/serviceAccounts/{address}"}),
        make=("iam.projects.serviceAccounts.create", {"name": f"projects/{project}", "body": body}),
    )


def _role(project: str, name: str, title: str, permissions: Sequence[str]) -> CreatedResource:
    role = {"title": title[:100], "includedPermissions": list(permissions), "stage": "GA"}
    path = f"projects/{project}/roles/{name}"

    def change(google: Google, found: Answer) -> None:
        body = {"includedPermissions": sorted({*found.get("includedPermissions", []), *permissions})}
        if found.get("deleted"):
            google.call("iam.projects.roles.undelete", name=path, body={})
        google.call("iam.projects.roles.patch", name=path, updateMask="includedPermissions", body=body)

    return CreatedResource(
        what=f"the role {name}",
        look=("iam.projects.roles.get", {"name": path}),
        make=("iam.projects.roles.create", {"parent": f"projects/{project}", "body": {"roleId": name, "role": role}}),
        same=lambda found: not found.get("deleted") and set(permissions) <= set(found.get("includedPermissions", [])),
        change=change,
    )


def _subnetwork(host: BastionVm) -> CreatedResource:
    """Return the step that opens Google's services to the subnetwork: a VM without an external address needs that."""
    project, region, name = _of_subnetwork(host.subnetwork, host.project, host.region)
    where = {"project": project, "region": region, "subnetwork": name}

    def change(google: Google, _: Answer) -> None:
        body = {"privateIpGoogleAccess": True}
        answer = google.call("compute.subnetworks.setPrivateIpGoogleAccess", **where, body=body)
        finish(google, "compute", answer, **where)

    look = ("compute.subnetworks.get", where)
    return CreatedResource(
        what=f"Google's services within reach of the subnetwork {name} in {region}",
        look=look,
        make=look,  # we make no networks: looking again raises that it is missing
        same=lambda found: bool(found.get("privateIpGoogleAccess")),
        change=change,
    )


def _of_subnetwork(path: str, project: str, region: str) -> tuple[str, str, str]:
    parts = path.split("/")
    if len(parts) >= 6 and parts[-6] == "projects":
        return parts[-5], parts[-3], parts[-1]
    return project, region, parts[-1]
