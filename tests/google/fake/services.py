"""Service Usage: which services a project has switched on."""

from __future__ import annotations

from tests.google.fake.cloud import Answer, Call, answers, page
from tests.google.fake.discovery import VERSIONS
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_S = "serviceusage.services."
_KNOWN = sorted(f"{name}.googleapis.com" for name in (*VERSIONS, "logging", "monitoring", "iap"))


def _service(call: Call, name: str) -> Row:
    """Raises `Refusal` if Google has no such service."""
    short = name.rpartition("/")[2]
    if short not in _KNOWN:
        raise Refusal(403, f"Not found or permission denied for service(s): {short}.")
    state = "DISABLED" if short in call.cloud.faults.disabled else "ENABLED"
    return {"name": name, "parent": name.rpartition("/services/")[0], "config": {"name": short}, "state": state}


@answers(f"{_S}get")
def _get(call: Call) -> Answer:
    return _service(call, call.text("name"))


@answers(f"{_S}batchGet")
def _batch(call: Call) -> Answer:
    return {"services": [_service(call, name) for name in call.parameters.get("names", ())]}


@answers(f"{_S}list")
def _list(call: Call) -> Answer:
    rows = [_service(call, f"{call.text('parent')}/services/{short}") for short in _KNOWN]
    wanted = call.text("filter").removeprefix("state:")
    return page(call, [row for row in rows if not wanted or row["state"] == wanted], "services")


@answers(f"{_S}enable")
def _enable(call: Call) -> Answer:
    return _switched_on(call, [call.text("name")])


@answers(f"{_S}batchEnable")
def _enable_all(call: Call) -> Answer:
    return _switched_on(call, [f"{call.text('parent')}/services/{short}" for short in call.body.get("serviceIds", ())])


def _switched_on(call: Call, names: list[str]) -> Answer:
    cloud = call.cloud
    for name in names:
        _service(call, name)
    row: Row = {"name": f"operations/acf.{cloud.new_uuid()}", "done": False}
    cloud.rows.put(row["name"], row)

    def done() -> None:
        cloud.faults.disabled -= {name.rpartition("/")[2] for name in names}
        cloud.rows.change(row["name"], done=True, response={"@type": "type.googleapis.com/google.protobuf.Empty"})

    cloud.clock.after(cloud.delays.operation, done)
    return row


@answers("serviceusage.operations.get")
def _operation(call: Call) -> Answer:
    row = call.cloud.rows.get(call.text("name"))
    if row is None:
        raise Refusal(404, f"Operation {call.text('name')} was not found.")
    return row
