"""The rights of the bastion's account and of its machines' account, with the reasons. Nothing more is granted. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bastion.model import layout

from .bastion_vm import BastionVm

APIS = {
    "storage.googleapis.com": "the bucket",
    "compute.googleapis.com": "the bastion's VM, and GPU machines",
    "iam.googleapis.com": "the accounts of the bastion and of its machines",
    "cloudresourcemanager.googleapis.com": "what these accounts may do",
    "tpu.googleapis.com": "TPU slices (runner tpu)",
}
"""The APIs that have to be switched on in the project, and what each is for."""

FLEET = {
    "compute.disks.create": "machines boot from a disk",
    "compute.images.useReadOnly": "images of your own that they boot from",
    "compute.instances.create": "create machines",
    "compute.instances.delete": "delete them",
    "compute.instances.get": "the direct question: is it gone?",
    "compute.instances.list": "one listing for all machines",
    "compute.instances.setLabels": "whose machine it is, from its creation on",
    "compute.instances.setMetadata": "what it runs at its start, from its creation on",
    "compute.instances.setServiceAccount": "machines run as the workers' account",
    "compute.resourcePolicies.create": "machines of a gang near each other",
    "compute.resourcePolicies.delete": "that rule is removed, once they are gone",
    "compute.resourcePolicies.list": "one listing for all such rules",
    "compute.resourcePolicies.use": "machines go by that rule",
    "compute.subnetworks.use": "machines are in a network",
    "compute.zoneOperations.list": "what became of all creations, in one question",
}
"""The permissions of the role that allows a bastion to have VMs (runner gce), and what each is for."""

SLICES = {
    "tpu.locations.list": "which zones have TPUs",
    "tpu.nodes.create": "create slices",
    "tpu.nodes.delete": "delete them",
    "tpu.nodes.get": "the direct question: is it gone?",
    "tpu.nodes.list": "one listing for all slices",
    "tpu.operations.get": "what became of a creation",
}
"""The permissions of `roles/tpu.admin` that a bastion uses (runner tpu), and what each is for."""

CREATE = {
    "serviceusage.services.get": "which APIs are on",
    "serviceusage.services.enable": "switch the others on",
    "iam.serviceAccounts.create": "the two accounts",
    "iam.serviceAccounts.get": "are they there?",
    "iam.serviceAccounts.delete": "at the end, with --purge",
    "iam.serviceAccounts.getIamPolicy": "who may use the machines' account",
    "iam.serviceAccounts.setIamPolicy": "the bastion may",
    "iam.serviceAccounts.actAs": "its VM runs as its account",
    "iam.roles.create": "the two roles below",
    "iam.roles.get": "are they there?",
    "iam.roles.undelete": "where somebody has deleted them",
    "iam.roles.update": "where a newer version needs more",
    "resourcemanager.projects.getIamPolicy": "who may do what in the project",
    "resourcemanager.projects.setIamPolicy": "grant the roles in the project",
    "storage.buckets.getIamPolicy": "who may do what in the bucket",
    "storage.buckets.setIamPolicy": "grant the roles on the bucket",
    "compute.subnetworks.get": "can its VM reach Google's services?",
    "compute.subnetworks.setPrivateIpGoogleAccess": "have it reach them",
    "compute.regionOperations.get": "was that done?",
    "compute.subnetworks.use": "its VM is in it",
    "compute.disks.create": "its VM's disk",
    "compute.instances.create": "its VM",
    "compute.instances.setLabels": "whose it is",
    "compute.instances.setMetadata": "what it runs, and another image",
    "compute.instances.setServiceAccount": "as whom",
    "compute.instances.get": "how it is",
    "compute.instances.getSerialPortOutput": "what it says: bastion logs --console",
    "compute.instances.reset": "put another image in force",
    "compute.instances.start": "bastion start",
    "compute.instances.stop": "bastion stop",
    "compute.instances.delete": "bastion delete",
    "compute.zoneOperations.get": "was that done?",
}
"""The permissions of a person who creates, looks after and deletes a bastion on a VM of its own, and what each is for.

The person also needs the objects of the bucket.
"""


LISTER = "bastionLister"
"""The name of the role that allows listing the objects of a bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleGrant:
    """A role for an account on one thing.

    role: the role.
    member: the account that gets it, as IAM names members.
    on: what it is on: `project`, `bucket`, or `account` (that of the workers).
    name: the name of the bucket or account; empty for the project.
    why: the reason, in words.
    title: the title of the condition; empty for none.
    only: prefixes of objects in the bucket, outside of which the role is not valid; empty means no limit.
    """

    role: str
    member: str
    on: str
    name: str = ""
    why: str = ""
    title: str = ""
    only: tuple[str, ...] = ()

    @property
    def expression(self) -> str:
        """The condition, in Google's language; empty for none."""
        starts = (
            f'resource.name.startsWith("projects/_/buckets/{self.name}/objects/{prefix}")' for prefix in self.only
        )
        return " || ".join(starts)


def needed(runners: Iterable[str]) -> set[str]:
    """Return the permissions in the project that a bastion with these runners uses."""
    return {permission for runner in runners for permission in {"tpu": SLICES, "gce": FLEET}.get(runner, ())}


def grants(host: BastionVm) -> Iterator[RoleGrant]:
    """Yield everything that both accounts are granted."""
    me, workers = f"serviceAccount:{host.account}", f"serviceAccount:{host.workers}"
    for bucket in host.buckets:
        yield RoleGrant(
            role="roles/storage.objectAdmin", member=me, on="bucket", name=bucket, why="writes the journal and all else"
        )
    yield RoleGrant(
        role="roles/iam.serviceAccountUser", member=me, on="account", name=host.workers, why="machines run as workers"
    )
    if "tpu" in host.runners:
        yield RoleGrant(role="roles/tpu.admin", member=me, on="project", why="creates and deletes TPU slices")
    if "gce" in host.runners:
        role = f"projects/{host.project}/roles/{host.role}"
        yield RoleGrant(role=role, member=me, on="project", why="creates and deletes machines")
    if ".pkg.dev/" in host.image or "gcr.io/" in host.image:
        yield RoleGrant(role="roles/artifactregistry.reader", member=me, on="project", why="fetches its own image")
    yield RoleGrant(
        role="roles/cloudbuild.builds.viewer", member=me, on="project", why="knows when an image of a job is built"
    )
    yield RoleGrant(
        role="roles/artifactregistry.reader", member=workers, on="project", why="machines fetch the images of jobs"
    )
    for bucket in host.buckets:
        yield from _of_workers(host, bucket, workers)


def _of_workers(host: BastionVm, bucket: str, member: str) -> Iterator[RoleGrant]:
    """Yield the grants of the workers' account for one bucket, as `deploy/terraform` has them.

    Machines report, fetch and store. They can neither send requests nor make decisions.
    """
    part = f"{host.url.removeprefix('gs://').partition('/')[2]}/{host.bastion}".strip("/")

    def grant(role: str, title: str, *prefixes: str) -> RoleGrant:
        only = tuple(f"{part}/{prefix}" for prefix in prefixes)
        return RoleGrant(
            role=role, member=member, on="bucket", name=bucket, why=title, title=f"bastion {title}", only=only
        )

    lister = f"projects/{host.project}/roles/{LISTER}"
    yield RoleGrant(role=lister, member=member, on="bucket", name=bucket, why="a store says what is not there")
    read = (layout.ATTEMPTS, layout.CLAIMS, layout.WATCH, layout.BUNDLES, layout.BUILDS, layout.LOGS)
    yield grant("roles/storage.objectViewer", "orders, code and logs", *read)
    yield grant("roles/storage.objectCreator", "claims and logs", layout.CLAIMS, layout.LOGS)
    yield grant("roles/storage.objectUser", "beats, facts and outputs", layout.BEATS, layout.FACTS, layout.OUTPUTS)
