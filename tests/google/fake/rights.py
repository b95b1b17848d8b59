"""Who may do what: permissions of methods, roles, and refusals that name what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from tests.google.fake.cloud import Call, Cloud
from tests.google.fake.refusals import Refusal, info

_VERBS = {
    "insert": "create",
    "bulkInsert": "create",
    "aggregatedList": "list",
    "listUsable": "list",
    "patch": "update",
    "wait": "get",
    "getIamPolicy": "getIamPolicy",
    "getFromFamily": "get",
    "retry": "create",
    "batchGet": "get",
    "batchEnable": "enable",
}
_OF_TPU = {"queuedResources": "nodes", "acceleratorTypes": "acceleratortypes", "runtimeVersions": "runtimeversions"}
# Queued resources have no permissions of their own, as far as public lists of them show: a belief.
_PATHS = {
    "cloudresourcemanager.projects": "resourcemanager.projects",
    "artifactregistry.packages": "artifactregistry.packages",
    "artifactregistry.tags": "artifactregistry.tags",
    "artifactregistry.versions": "artifactregistry.versions",
}
_DEFAULT = "the-default@developer.gserviceaccount.com"
_FREE = ("testIamPermissions", "cloudbuild.operations", "artifactregistry.operations", "serviceusage.operations")

_BY_FIELD = {
    "metadata": "compute.instances.setMetadata",
    "labels": "compute.instances.setLabels",
    "tags": "compute.instances.setTags",
    "serviceAccounts": "compute.instances.setServiceAccount",
}

ROLES: dict[str, tuple[str, ...]] = {
    "roles/owner": ("*",),
    "roles/editor": (
        "compute.*",
        "tpu.*",
        "cloudbuild.*",
        "artifactregistry.*",
        "iam.serviceAccounts.actAs",
        "*.get",
        "*.list",
    ),
    "roles/viewer": ("*.get", "*.list"),
    "roles/tpu.admin": ("tpu.*", "resourcemanager.projects.get", "resourcemanager.projects.list"),
    "roles/tpu.viewer": ("tpu.*.get", "tpu.*.list"),
    "roles/compute.admin": ("compute.*", "resourcemanager.projects.get", "serviceusage.services.get"),
    "roles/compute.instanceAdmin.v1": (
        "compute.instances.*",
        "compute.disks.*",
        "compute.*Operations.get",
        "compute.*Operations.list",
        "compute.subnetworks.use",
        "compute.images.useReadOnly",
        "compute.*.get",
        "compute.*.list",
        "compute.resourcePolicies.*",
    ),
    "roles/compute.viewer": ("compute.*.get", "compute.*.list", "compute.instances.getSerialPortOutput"),
    "roles/compute.networkUser": ("compute.subnetworks.use", "compute.networks.use", "compute.networks.get"),
    "roles/iam.serviceAccountUser": (
        "iam.serviceAccounts.actAs",
        "iam.serviceAccounts.get",
        "iam.serviceAccounts.list",
    ),
    "roles/cloudbuild.builds.editor": ("cloudbuild.builds.*",),
    "roles/cloudbuild.builds.viewer": ("cloudbuild.builds.get", "cloudbuild.builds.list"),
    "roles/artifactregistry.reader": ("artifactregistry.*.get", "artifactregistry.*.list"),
    "roles/artifactregistry.writer": (
        "artifactregistry.*.get",
        "artifactregistry.*.list",
        "artifactregistry.*.upload*",
    ),
    "roles/serviceusage.serviceUsageConsumer": ("serviceusage.services.use", "serviceusage.services.get"),
    "roles/logging.logWriter": ("logging.logEntries.create",),
    "roles/monitoring.metricWriter": ("monitoring.timeSeries.create",),
    "roles/storage.objectAdmin": ("storage.objects.*",),
    "roles/storage.admin": ("storage.*",),
}
"""What of the predefined roles' permissions can matter here."""


def check(call: Call) -> None:
    """Raises `Refusal` if the account lacks a permission that the method wants."""
    for permission, resource in wanted(call):
        call.cloud.used.add((call.account, permission))
        if not has(call.cloud, call.account, call.project, permission, resource):
            raise _refusal(call, permission, resource)


def wanted(call: Call) -> Iterator[tuple[str, str]]:
    """The permissions for a call, each with the resource it is wanted on."""
    service, _, _ = call.method.id.partition(".")
    if any(word in call.method.id for word in _FREE) or _free(call):
        return
    resource = name_of(call)
    yield permission_of(service, call), resource
    for email in _accounts(call.body):
        yield "iam.serviceAccounts.actAs", f"projects/{call.project}/serviceAccounts/{email}"
    if call.method.id in ("compute.instances.insert", "compute.instances.bulkInsert"):
        yield from _for_a_vm(call, resource)


def _for_a_vm(call: Call, resource: str) -> Iterator[tuple[str, str]]:
    """What the creation of a VM wants besides, by what is said of the VM."""
    said = call.body.get("instanceProperties", call.body)
    yield "compute.disks.create", resource
    for field, permission in _BY_FIELD.items():
        if said.get(field):
            yield permission, resource
    for disk in said.get("disks", ()):
        image = disk.get("initializeParams", {}).get("sourceImage", "")
        if image.startswith(("global/", f"projects/{call.project}/")):  # what Google publishes anybody may use
            yield "compute.images.useReadOnly", image
    region = f"projects/{call.project}/regions/{call.text('zone').rpartition('-')[0]}"
    for net in said.get("networkInterfaces", ()):
        yield "compute.subnetworks.use", f"{region}/subnetworks/{net.get('subnetwork', 'default').rpartition('/')[2]}"
        if net.get("accessConfigs"):
            yield "compute.subnetworks.useExternalIp", f"{region}/subnetworks"
    for policy in said.get("resourcePolicies", ()):
        yield "compute.resourcePolicies.use", f"{region}/resourcePolicies/{policy.rpartition('/')[2]}"


def _free(call: Call) -> bool:
    return ".operations." in call.method.id and not call.method.id.startswith("tpu.")


def permission_of(service: str, call: Call) -> str:
    """The permission that a method is named after."""
    collection = call.method.collection
    if service == "tpu":
        collection = _OF_TPU.get(collection, collection)
    verb = _VERBS.get(call.method.verb_name, call.method.verb_name)
    family = {"cloudresourcemanager": "resourcemanager"}.get(service, service)
    return f"{family}.{collection}.{verb}"


def name_of(call: Call) -> str:
    """The resource that a call is about: the project at least."""
    if name := call.text("name") or call.text("resource") or call.text("parent"):
        return name
    place = next((f"/{kind}s/{call.text(kind)}" for kind in ("zone", "region") if call.text(kind)), "")
    known = {
        "project",
        "zone",
        "region",
        "requestId",
        "filter",
        "maxResults",
        "pageToken",
        "alt",
        "fields",
        "prettyPrint",
    }
    own = [
        name
        for name in call.method.parameters
        if call.method.parameters[name]["location"] == "path" and name not in known
    ]
    if (
        not place
        and not own
        and call.method.collection not in ("projects",)
        and call.method.verb_name in ("insert", "list")
    ):
        place = "/global"
    last = call.text(own[-1]) if own else str(call.body.get("name", ""))
    between = place or ("/global" if own else "")
    return f"projects/{call.project}{between}" + (f"/{call.method.collection}/{last}" if last else "")


def has(cloud: Cloud, account: str, project: str, permission: str, resource: str) -> bool:
    """Whether an account has a permission. The tester's has all; a service account has what its roles give it."""
    if cloud.faults.denies(permission, resource, account):
        return False
    if not account.endswith(".gserviceaccount.com"):
        return True
    return any(fnmatchcase(permission, one) for one in _granted(cloud, account, project, resource))


def _granted(cloud: Cloud, account: str, project: str, resource: str) -> Iterator[str]:
    for place in (f"projects/{project}", resource):
        for binding in cloud.policies.get(place, {}).get("bindings", ()):
            if f"serviceAccount:{account}" in binding.get("members", ()):
                yield from permissions_in(cloud, binding["role"])


def permissions_in(cloud: Cloud, role: str) -> Iterable[str]:
    """What a role allows: patterns of permissions."""
    own = cloud.rows.get(role)
    return ROLES.get(role, ()) if own is None else () if own.get("deleted") else own.get("includedPermissions", ())


def _accounts(body: object) -> Iterator[str]:
    """The service accounts that machines of this body would run as."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key == "serviceAccounts":
                yield from (one["email"] for one in value if "email" in one)
            elif key == "serviceAccount":
                said = value.get("email", _DEFAULT) if isinstance(value, dict) else str(value)
                yield said.rpartition("/")[2]
            else:
                yield from _accounts(value)
    elif isinstance(body, list):
        for item in body:
            yield from _accounts(item)


def _refusal(call: Call, permission: str, resource: str) -> Refusal:
    service, _, _ = call.method.id.partition(".")
    if service == "compute":
        return Refusal(403, f"Required '{permission}' permission for '{resource}'", reason="forbidden")
    host = f"{service}.googleapis.com"
    text = f"Permission '{permission}' denied on resource '//{host}/{resource}' (or it may not exist)."
    return Refusal(403, text, details=[info("IAM_PERMISSION_DENIED", host, permission=permission, resource=resource)])
