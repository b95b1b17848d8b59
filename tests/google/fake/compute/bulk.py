"""Many VMs by one request: all of them, or at least so many, or none."""

from __future__ import annotations

import re

from tests.google.fake.cloud import Answer, Call, Cloud, answers
from tests.google.fake.compute.checks import check_instance, lack_of
from tests.google.fake.compute.compute import error, finish, operation, scope_of
from tests.google.fake.compute.instances import come_up, erase
from tests.google.fake.compute.rows import put
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_MOST = 1000


@answers("compute.instances.bulkInsert")
def _bulk_insert(call: Call) -> Answer:
    cloud, scope, zone = call.cloud, scope_of(call), call.text("zone")
    properties = call.body.get("instanceProperties")
    if properties is None:
        raise _invalid("instanceProperties", "it is required: templates are not known here")
    count = int(call.body.get("count", 0))
    least = int(call.body.get("minCount", count))
    if not 1 <= least <= count <= _MOST:
        raise _invalid("count", f"1 <= minCount <= count <= {_MOST} is wanted, not {least} and {count}")
    names = _names(call, count)
    check_instance(cloud, call.project, zone, properties, "resource.instanceProperties")
    group = cloud.new_uuid()
    made = operation(cloud, scope, "bulkInsert", scope, call.account, None, 0, operationGroupId=group)
    lacks: dict[str, Row | None] = {}
    for short in names:
        name = f"{scope}/instances/{short}"
        taken = cloud.rows.get(name) is not None
        lacks[name] = error("RESOURCE_ALREADY_EXISTS", f"The resource '{name}' already exists") if taken else None
        if not taken:
            lacks[name] = lack_of(cloud, name, properties)
            put(cloud, name, properties)
    _tell(cloud, made, zone, len(names), 0, 0, 0, "CREATING")
    good = [name for name, lack in lacks.items() if not lack]
    seconds = cloud.delays.boot if len(good) >= least else cloud.delays.provision
    cloud.clock.after(seconds, lambda: _over(cloud, made, zone, lacks, least, group))
    return cloud.rows.get(f"{scope}/operations/{made['name']}") or made


def _invalid(field: str, text: str) -> Refusal:
    return Refusal(400, f"Invalid value for field 'resource.{field}': {text}", reason="invalid")


def _names(call: Call, count: int) -> list[str]:
    """The names that the VMs get. With a pattern, numbers that are in use are passed over."""
    pattern, each = call.body.get("namePattern", ""), call.body.get("perInstanceProperties", {})
    if bool(pattern) == bool(each):
        raise _invalid("namePattern", "exactly one of namePattern and perInstanceProperties is wanted")
    if each:
        if len(each) != count:
            raise _invalid("perInstanceProperties", f"{len(each)} names for {count} VMs")
        names = list(each)
    else:
        hashes = re.search(r"#+", pattern)
        if not hashes:
            raise _invalid("namePattern", f"{pattern!r} has no #")
        numbers = (pattern.replace(hashes[0], str(n).zfill(len(hashes[0])), 1) for n in range(1, 10 * _MOST))
        free = (name for name in numbers if not call.cloud.rows.get(f"{scope_of(call)}/instances/{name}"))
        names = [next(free) for _ in range(count)]
    for name in names:
        if not re.fullmatch(r"[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?", name):
            raise _invalid("namePattern", f"{name!r} is no name of a VM")
    return names


def _tell(cloud: Cloud, made: Row, zone: str, wanted: int, created: int, failed: int, deleted: int, how: str) -> None:
    said = {
        "targetVmCount": wanted,
        "createdVmCount": created,
        "failedToCreateVmCount": failed,
        "deletedVmCount": deleted,
        "status": how,
    }
    path = made["selfLink"].partition("/v1/")[2]
    cloud.rows.change(path, instancesBulkInsertOperationMetadata={"perLocationStatus": {f"zones/{zone}": said}})


def _over(cloud: Cloud, made: Row, zone: str, lacks: dict[str, Row | None], least: int, group: str) -> None:
    """The VMs that lack nothing run; if they are too few, all are taken back."""
    good = [
        name
        for name, lack in lacks.items()
        if not lack and (cloud.rows.get(name) or {}).get("status") == "PROVISIONING"
    ]
    failed = {name: lack for name, lack in lacks.items() if lack}
    scope = f"projects/{made['targetLink'].split('/projects/')[1]}"
    for name, lack in lacks.items():
        one = operation(cloud, scope, "insert", name, made["user"], None, 0, operationGroupId=group)
        finish(cloud, one, *([lack] if lack else []), code=503 if lack else 0)
    for name, lack in failed.items():
        if lack and lack["code"] != "RESOURCE_ALREADY_EXISTS":
            erase(cloud, name)
    if len(good) >= least:
        for name in good:
            come_up(cloud, name)
        _tell(cloud, made, zone, len(lacks), len(good), len(failed), 0, "DONE")
        finish(cloud, made)
        return
    _tell(cloud, made, zone, len(lacks), len(good), len(failed), 0, "ROLLING_BACK")
    cloud.clock.after(cloud.delays.delete, lambda: _rolled_back(cloud, made, zone, good, failed))


def _rolled_back(cloud: Cloud, made: Row, zone: str, good: list[str], failed: dict[str, Row | None]) -> None:
    for name in good:
        erase(cloud, name)
    _tell(cloud, made, zone, len(good) + len(failed), 0, len(failed), len(good), "DONE")
    errors = {lack["message"]: lack for lack in failed.values() if lack}
    if not errors:
        errors = {"": error("RESOURCE_NOT_FOUND", "VMs were deleted while they were made.")}
    code = 403 if any(one["code"] == "QUOTA_EXCEEDED" for one in errors.values()) else 503
    finish(cloud, made, *errors.values(), code=code)
