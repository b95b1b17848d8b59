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
    "cloudresourcemanager.googleapis.com": "the rights of these accounts",
    "tpu.googleapis.com": "TPU slices (runner tpu)",
}
"""The APIs that have to be switched on in the project, and what each is for."""

FLEET = {
    "compute.disks.create": "create the boot disks of machines",
    "compute.images.useReadOnly": "boot machines from your own images",
    "compute.instances.create": "create machines",
    "compute.instances.delete": "delete machines",
    "compute.instances.get": "check whether one machine still exists",
    "compute.instances.list": "list all machines",
    "compute.instances.setLabels": "label new machines with their bastion",
    "compute.instances.setMetadata": "set what new machines run at their start",
    "compute.instances.setServiceAccount": "run machines as the workers' account",
    "compute.resourcePolicies.create": "create placement policies, for machines of a gang near each other",
    "compute.resourcePolicies.delete": "delete these policies after their machines",
    "compute.resourcePolicies.list": "list these policies",
    "compute.resourcePolicies.use": "place machines by these policies",
    "compute.subnetworks.use": "connect machines to a network",
    "compute.zoneOperations.list": "list the results of all creations",
}
"""The permissions of the role that allows a bastion to have VMs (runner gce), and what each is for."""

SLICES = {
    "tpu.locations.list": "list the zones with TPUs",
    "tpu.nodes.create": "create slices",
    "tpu.nodes.delete": "delete slices",
    "tpu.nodes.get": "check whether one slice still exists",
    "tpu.nodes.list": "list all slices",
    "tpu.operations.get": "read the result of a creation",
}
"""The permissions of `roles/tpu.admin` that a bastion uses (runner tpu), and what each is for."""

CREATE = {
    "serviceusage.services.get": "check which APIs are enabled",
    "serviceusage.services.enable": "enable the other APIs",
    "iam.serviceAccounts.create": "create the two accounts",
    "iam.serviceAccounts.get": "check whether the accounts exist",
    "iam.serviceAccounts.delete": "delete the accounts, with --purge",
    "iam.serviceAccounts.getIamPolicy": "read who may use the machines' account",
    "iam.serviceAccounts.setIamPolicy": "let the bastion use the machines' account",
    "iam.serviceAccounts.actAs": "run the VM as the bastion's account",
    "iam.roles.create": "create the two roles below",
    "iam.roles.get": "check whether the roles exist",
    "iam.roles.undelete": "restore roles that somebody deleted",
    "iam.roles.update": "add rights that a newer version needs",
    "resourcemanager.projects.getIamPolicy": "read who may do what in the project",
    "resourcemanager.projects.setIamPolicy": "grant the roles in the project",
    "storage.buckets.getIamPolicy": "read who may do what in the bucket",
    "storage.buckets.setIamPolicy": "grant the roles on the bucket",
    "compute.subnetworks.get": "check whether the VM can reach Google's services",
    "compute.subnetworks.setPrivateIpGoogleAccess": "let the VM reach Google's services",
    "compute.regionOperations.get": "check whether that change is done",
    "compute.subnetworks.use": "connect the VM to its network",
    "compute.disks.create": "create the disk of the VM",
    "compute.instances.create": "create the VM",
    "compute.instances.setLabels": "label the VM with its bastion",
    "compute.instances.setMetadata": "set what the VM runs, and its image",
    "compute.instances.setServiceAccount": "set the account of the VM",
    "compute.instances.get": "read the state of the VM",
    "compute.instances.getSerialPortOutput": "read the console of the VM: bastion logs --console",
    "compute.instances.reset": "restart the VM with another image",
    "compute.instances.start": "bastion start",
    "compute.instances.stop": "bastion stop",
    "compute.instances.delete": "bastion delete",
    "compute.zoneOperations.get": "check whether a change of the VM is done",
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
        role="roles/iam.serviceAccountUser", member=me, on="account", name=host.workers, why="runs machines as workers"
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
    yield RoleGrant(role=lister, member=member, on="bucket", name=bucket, why="sees which objects do not exist")
    read = (layout.ATTEMPTS, layout.CLAIMS, layout.WATCH, layout.BUNDLES, layout.BUILDS, layout.LOGS)
    yield grant("roles/storage.objectViewer", "orders, code and logs", *read)
    yield grant("roles/storage.objectCreator", "claims and logs", layout.CLAIMS, layout.LOGS)
    yield grant("roles/storage.objectUser", "beats, facts and outputs", layout.BEATS, layout.FACTS, layout.OUTPUTS)
