"""VMs of Compute Engine: how they are checked, come up, stop and go."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.google.fake.cloud import Answer, Call, Cloud, Guest, answers, fingerprint
from tests.google.fake.compute.checks import check_instance, lack_of
from tests.google.fake.compute.compute import LINK, check_fingerprint, error, finish, operation, row_of, scope_of
from tests.google.fake.compute.rows import put
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_LOOK_S = 0.5
"""Between two looks whether a VM is off."""


@answers("compute.instances.insert")
def _insert(call: Call) -> Answer:
    cloud, scope = call.cloud, scope_of(call)
    name = f"{scope}/instances/{call.body['name']}"
    if cloud.rows.get(name):
        raise Refusal(409, f"The resource '{name}' already exists", reason="alreadyExists")
    check_instance(cloud, call.project, call.text("zone"), call.body)
    lack = lack_of(cloud, name, call.body)
    put(cloud, name, call.body)
    made = operation(cloud, scope, "insert", name, call.account, None, 0)
    begin(cloud, name, lack, lambda error_: finish(cloud, made, *([error_] if error_ else []), code=_code(error_)))
    return made


def _code(failed: Row | None) -> int:
    return 0 if not failed else 403 if failed["code"] == "QUOTA_EXCEEDED" else 503


def begin(cloud: Cloud, name: str, lack: Row | None, ended: Callable[[Row | None], object]) -> None:
    """It comes up after a while, or is removed for what it lacks. `ended` is told the error, or None."""

    def over() -> None:
        row = cloud.rows.get(name)
        if row is None or row["status"] not in ("PROVISIONING", "STAGING"):
            ended(error("RESOURCE_NOT_FOUND", f"The resource '{name}' was deleted meanwhile"))
        elif lack:
            erase(cloud, name)
            ended(lack)
        else:
            come_up(cloud, name)
            ended(None)

    cloud.clock.after(cloud.delays.provision if lack else cloud.delays.boot, over)


def come_up(cloud: Cloud, name: str) -> None:
    """A VM runs; its machine boots."""
    row = cloud.rows.change(name, status="RUNNING", lastStartTimestamp=cloud.clock.compute_stamp()) or {}
    limit = row["scheduling"].get("maxRunDuration")
    if limit:
        cloud.clock.after(
            float(limit["seconds"]), lambda: _taken(cloud, name, "compute.instances.maxRunDurationExceeded")
        )
    accounts = row.get("serviceAccounts", [])
    cloud.boot(
        [
            Guest(
                resource=name,
                number=0,
                address=row["networkInterfaces"][0]["networkIP"],
                zone=name.split("/")[3],
                hostname=row["name"],
                id=row["id"],
                attributes=attributes_of(row),
                account=accounts[0]["email"] if accounts else "",
                scopes=tuple(accounts[0].get("scopes", ())) if accounts else (),
            )
        ]
    )


def attributes_of(row: Row) -> Mapping[str, str]:
    """The metadata of a VM, by key."""
    return {one["key"]: one["value"] for one in row["metadata"].get("items", ())}


def erase(cloud: Cloud, name: str) -> None:
    """A VM is gone, with the disks that go with it."""
    row = cloud.rows.get(name) or {}
    for disk in row.get("disks", ()):
        if disk.get("autoDelete") and "source" in disk:
            cloud.rows.put(disk["source"].removeprefix(LINK), None)
    cloud.machines.stop(name, erase=True)
    cloud.rows.put(name, None)


@answers("compute.instances.get")
def _get(call: Call) -> Answer:
    return row_of(call)


@answers("compute.instances.delete")
def _delete(call: Call) -> Answer:
    cloud, row, name = call.cloud, row_of(call), _name(call)
    if row.get("deletionProtection"):
        text = f"Invalid value for field 'resource.deletionProtection': 'true'. Resource '{name}' is protected from deletion."
        raise Refusal(400, text, reason="invalid")
    cloud.rows.change(name, status="STOPPING")

    def gone(made: Row) -> None:
        erase(cloud, name)
        finish(cloud, made)

    made = operation(cloud, scope_of(call), "delete", name, call.account, None, 0)
    if not cloud.faults.hangs(name):
        _shut_down(cloud, name, lambda: gone(made))
    return made


def _shut_down(cloud: Cloud, name: str, off: Callable[[], None]) -> None:
    """A VM's system is told to end; when it has, or has had its time, the power is cut."""
    cloud.machines.shut_down(name)
    end = cloud.clock.now + cloud.delays.shutdown

    def look() -> None:
        if cloud.machines.runs(name) and cloud.clock.now < end:
            cloud.clock.after(_LOOK_S, look)
        else:
            off()

    cloud.clock.after(cloud.delays.delete, look)


def _name(call: Call) -> str:
    return f"{scope_of(call)}/instances/{call.text('instance')}"


@answers("compute.instances.stop")
def _stop(call: Call) -> Answer:
    cloud, row, name = call.cloud, row_of(call), _name(call)
    cloud.rows.change(name, status="STOPPING" if row["status"] != "TERMINATED" else "TERMINATED")

    def stopped(made: Row) -> None:
        _terminate(cloud, name)
        finish(cloud, made)

    made = operation(cloud, scope_of(call), "stop", name, call.account, None, 0)
    _shut_down(cloud, name, lambda: stopped(made))
    return made


def _terminate(cloud: Cloud, name: str) -> None:
    cloud.machines.stop(name, erase=False)
    cloud.rows.change(name, status="TERMINATED", lastStopTimestamp=cloud.clock.compute_stamp())


@answers("compute.instances.start")
def _start(call: Call) -> Answer:
    cloud, row, name = call.cloud, row_of(call), _name(call)
    made = operation(cloud, scope_of(call), "start", name, call.account, None, 0)
    if row["status"] == "RUNNING":
        cloud.clock.after(1.0, lambda: finish(cloud, made))
        return made
    if row["status"] != "TERMINATED":
        text = f"The instance '{name}' is not ready to be started: it is {row['status']}."
        raise Refusal(400, text, reason="resourceNotReady")
    cloud.rows.change(name, status="STAGING")
    lack = lack_of(cloud, name, row)

    def over() -> None:
        if lack:
            cloud.rows.change(name, status="TERMINATED")
            finish(cloud, made, lack, code=_code(lack))
        else:
            come_up(cloud, name)
            finish(cloud, made)

    cloud.clock.after(cloud.delays.boot, over)
    return made


@answers("compute.instances.reset")
def _reset(call: Call) -> Answer:
    cloud, name = call.cloud, _name(call)
    row_of(call)
    cloud.machines.stop(name, erase=False)
    come_up(cloud, name)
    return operation(cloud, scope_of(call), "reset", name, call.account, lambda made: finish(cloud, made), 1.0)


@answers("compute.instances.setMetadata")
def _set_metadata(call: Call) -> Answer:
    cloud, row, name = call.cloud, row_of(call), _name(call)
    check_fingerprint(call.body.get("fingerprint", ""), row["metadata"]["fingerprint"])
    items = call.body.get("items", [])
    cloud.rows.change(name, metadata={"kind": "compute#metadata", "items": items, "fingerprint": fingerprint(items)})
    cloud.machines.attributes(name, {one["key"]: one["value"] for one in items})
    return operation(cloud, scope_of(call), "setMetadata", name, call.account, lambda made: finish(cloud, made), 1.0)


@answers("compute.instances.setLabels")
def _set_labels(call: Call) -> Answer:
    cloud, row, name = call.cloud, row_of(call), _name(call)
    check_fingerprint(call.body.get("labelFingerprint", ""), row["labelFingerprint"])
    labels = call.body.get("labels", {})
    cloud.rows.change(name, labels=labels, labelFingerprint=fingerprint(labels))
    return operation(cloud, scope_of(call), "setLabels", name, call.account, lambda made: finish(cloud, made), 1.0)


@answers("compute.instances.getSerialPortOutput")
def _serial(call: Call) -> Answer:
    row_of(call)
    said = call.cloud.machines.output(_name(call)).encode()
    start = int(call.text("start", "0"))
    text = said[start:].decode(errors="replace")
    return {"kind": "compute#serialPortOutput", "contents": text, "start": str(start), "next": str(len(said))}


@answers("compute.instances.simulateMaintenanceEvent")
def _maintenance(call: Call) -> Answer:
    cloud, name = call.cloud, _name(call)
    row_of(call)
    cloud.machines.notice(name, "maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE")

    def over(made: Row) -> None:
        terminate_for_maintenance(cloud, name)
        finish(cloud, made)

    return operation(cloud, scope_of(call), "simulateMaintenanceEvent", name, call.account, over, 60.0)


def terminate_for_maintenance(cloud: Cloud, name: str) -> None:
    """A VM with GPUs goes down with its host, and comes up again if it is to; others move and notice nothing."""
    row = cloud.rows.get(name)
    if row is None or row["status"] != "RUNNING":
        return
    cloud.machines.notice(name, "maintenance-event", "NONE")
    if row["scheduling"].get("onHostMaintenance") != "TERMINATE":
        return
    if row["scheduling"].get("provisioningModel") == "SPOT":
        preempted(cloud, name)
        return
    _terminate(cloud, name)
    if row["scheduling"].get("automaticRestart"):
        cloud.rows.change(name, status="STAGING")
        cloud.clock.after(cloud.delays.boot, lambda: cloud.rows.get(name) and come_up(cloud, name))


def preempted(cloud: Cloud, name: str) -> None:
    """A Spot VM is taken back: it stops, and holds its disk, or goes, as its scheduling says."""
    _taken(cloud, name, "compute.instances.preempted")


def _taken(cloud: Cloud, name: str, why: str) -> None:
    row = cloud.rows.get(name)
    if row is None or row["status"] not in ("PROVISIONING", "STAGING", "RUNNING"):
        return
    made = operation(cloud, "/".join(name.split("/")[:4]), why, name, "system", None, 0)
    if row["scheduling"].get("instanceTerminationAction") == "DELETE":
        erase(cloud, name)
    else:
        _terminate(cloud, name)
    finish(cloud, made)
