"""Compute Engine: names, operations, and the things that are only set up, read and deleted."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.google.fake import places
from tests.google.fake.cloud import Answer, Call, Cloud, answers, fingerprint
from tests.google.fake.refusals import REASON, Refusal
from tests.google.fake.rows import Row

LINK = "https://www.googleapis.com/compute/v1/"
KINDS = {
    "addresses": "region",
    "disks": "zone",
    "firewalls": "global",
    "images": "global",
    "instanceTemplates": "global",
    "networks": "global",
    "reservations": "zone",
    "resourcePolicies": "region",
    "routers": "region",
    "subnetworks": "region",
}
"""What is only set up here, and where it lies."""

_SINGULAR = {"addresses": "address", "resourcePolicies": "resourcePolicy"}
_USED_BY = {"networks": ("subnetworks", "routers", "firewalls", "instances", "nodes"), "subnetworks": ("instances",)}


def full(project: str, text: str, kind: str, place: str) -> str:
    """The full name of what a URL, a part of one or a bare name stands for."""
    text = text.partition("/v1/")[2] or text.removeprefix("/")
    if text.startswith("projects/"):
        return text
    where = (
        "global" if place == "global" else f"zones/{place}" if re.fullmatch(r".*-[a-z]", place) else f"regions/{place}"
    )
    known = text.startswith(("global/", "zones/", "regions/"))
    return f"projects/{project}/{text}" if known else f"projects/{project}/{where}/{kind}/{text}"


def exists(cloud: Cloud, name: str) -> bool:
    """There is such a thing, now."""
    set_up(cloud, name.split("/")[1])
    return cloud.rows.get(name) is not None


def set_up(cloud: Cloud, project: str) -> None:
    """What a new project has: a network with a subnetwork in every region, and a service account."""
    mark = f"projects/{project}"
    if project == "-" or cloud.rows.get(mark):
        return
    cloud.rows.put(mark, {"projectId": project})
    _put(cloud, f"{mark}/global/networks/default", {"autoCreateSubnetworks": True})
    for n, region in enumerate(places.REGIONS):
        subnet = {"network": f"{LINK}{mark}/global/networks/default", "ipCidrRange": f"10.{n}.0.0/20"}
        _put(cloud, f"{mark}/regions/{region}/subnetworks/default", subnet)


def _put(cloud: Cloud, name: str, body: Row) -> Row:
    """Make something: what Google adds is added."""
    kind, short = name.split("/")[-2:]
    row = body | {
        "kind": f"compute#{_SINGULAR.get(kind, kind.removesuffix('s'))}",
        "name": short,
        "id": cloud.new_id(),
        "creationTimestamp": cloud.clock.compute_stamp(),
        "selfLink": LINK + name,
    }
    if scope := re.match(r"projects/[^/]+/((zone|region)s/[^/]+)/", name):
        row[scope[2]] = f"{LINK}projects/{name.split('/')[1]}/{scope[1]}"
    if kind in ("reservations",):
        row["status"] = "READY"
    if kind in ("subnetworks", "routers", "firewalls") and "network" in row:
        row["network"] = LINK + full(name.split("/")[1], row["network"], "networks", "global")
    cloud.rows.put(name, row)
    return row


def scope_of(call: Call) -> str:
    """Where a call goes: `projects/p/zones/z`."""
    place = next((f"{kind}s/{call.text(kind)}" for kind in ("zone", "region") if call.text(kind)), "global")
    if place.startswith("zones/") and call.text("zone") not in places.ZONES:
        raise missing(f"projects/{call.project}/{place}")
    return f"projects/{call.project}/{place}"


def missing(name: str) -> Refusal:
    """There is no such thing."""
    return Refusal(404, f"The resource '{name}' was not found", reason="notFound")


def operation(
    cloud: Cloud,
    scope: str,
    verb: str,
    target: str,
    user: str,
    act: Callable[[Row], None] | None,
    after_s: float,
    **more: Any,
) -> Row:
    """A new operation, whose effect comes after some time (never, if there is none). Returned as it begins."""
    name = f"operation-{int(cloud.clock.now * 1000)}-{cloud.random.getrandbits(52):013x}"
    path = f"{scope}/operations/{name}"
    now = cloud.clock.compute_stamp()
    row: Row = {
        "kind": "compute#operation",
        "id": cloud.new_id(),
        "name": name,
        "operationType": verb,
        "targetLink": LINK + target,
        "targetId": (cloud.rows.get(target) or {}).get("id", cloud.new_id()),
        "status": "RUNNING",
        "user": user,
        "progress": 0,
        "insertTime": now,
        "startTime": now,
        "selfLink": LINK + path,
        **more,
    }
    if not scope.endswith("/global"):
        row[scope.split("/")[-2].removesuffix("s")] = LINK + scope
    cloud.rows.put(path, row)
    if act:
        chosen = act
        cloud.clock.after(after_s, lambda: chosen(row))
    return row


def finish(cloud: Cloud, made: Row, *errors: Row, code: int = 0, **more: Any) -> None:
    """An operation ends; with errors, it failed."""
    path = made["selfLink"].removeprefix(LINK)
    now = cloud.clock.compute_stamp()
    failed: Row = {"error": {"errors": list(errors)}, "httpErrorStatusCode": code} if errors else {}
    if errors:
        failed["httpErrorMessage"] = {403: "FORBIDDEN", 503: "SERVICE UNAVAILABLE", 404: "NOT FOUND"}.get(
            code, "BAD REQUEST"
        )
    cloud.rows.change(path, status="DONE", progress=100, endTime=now, **failed, **more)


def own_name(call: Call) -> str:
    """The full name of what the path of a call names."""
    kind = call.method.collection
    word = _SINGULAR.get(kind, kind.removesuffix("s"))
    return f"{scope_of(call)}/{kind}/{call.text(word)}"


def row_of(call: Call) -> Row:
    """What a call names. Raises `Refusal`."""
    name = own_name(call)
    row = call.cloud.rows.get(name)
    if row is None:
        raise missing(name)
    return row


def insert(call: Call) -> Answer:
    """Set something up."""
    cloud, kind = call.cloud, call.method.collection
    if not call.body.get("name"):
        raise Refusal(400, "Required field 'resource.name' not specified", reason="required")
    name = f"{scope_of(call)}/{kind}/{call.body['name']}"
    if cloud.rows.get(name):
        raise Refusal(409, f"The resource '{name}' already exists", reason="alreadyExists")
    for field, (of, place) in {
        "network": ("networks", "global"),
        "subnetwork": ("subnetworks", call.text("region")),
    }.items():
        if field in call.body and not exists(cloud, wanted := full(call.project, call.body[field], of, place)):
            raise missing(wanted)
    _put(cloud, name, call.body)
    return operation(
        cloud, scope_of(call), "insert", name, call.account, lambda made: finish(cloud, made), cloud.delays.operation
    )


def delete(call: Call) -> Answer:
    """Take it away, unless something uses it."""
    cloud, row = call.cloud, row_of(call)
    name = own_name(call)
    users = [
        user
        for user, other in _others(cloud, call.project, _USED_BY.get(call.method.collection, ()))
        if _uses(other, name)
    ]
    if users:
        text = f"The network resource '{name}' is already being used by '{users[0]}'"
        raise Refusal(400, text, reason="resourceInUseByAnotherResource")

    def gone(made: Row) -> None:
        cloud.rows.put(name, None)
        finish(cloud, made)

    hangs = cloud.faults.hangs(name)
    return operation(
        cloud,
        scope_of(call),
        "delete",
        name,
        call.account,
        None if hangs else gone,
        cloud.delays.operation,
        targetId=row["id"],
    )


def _others(cloud: Cloud, project: str, kinds: tuple[str, ...]) -> list[tuple[str, Row]]:
    return [pair for kind in kinds for pair in cloud.rows.matching(rf"projects/{project}/.+/{kind}")]


def _uses(row: Row, name: str) -> bool:
    if name.endswith("/networks/default") and "autoCreate" in str(row):
        return False
    links = {
        row.get("network", ""),
        *(str(one.get(key, "")) for one in row.get("networkInterfaces", ()) for key in one),
    }
    return LINK + name in links


def patch(call: Call) -> Answer:
    """Change some fields."""
    cloud, row = call.cloud, row_of(call)
    name = own_name(call)
    if wrong := call.body.get("fingerprint", row.get("fingerprint")) != row.get("fingerprint"):
        raise Refusal(412, f"Invalid fingerprint of '{name}': {wrong}", reason="conditionNotMet")
    cloud.rows.change(
        name, **{key: value for key, value in call.body.items() if key not in ("name", "id", "selfLink", "kind")}
    )
    return operation(cloud, scope_of(call), call.method.verb_name, name, call.account, lambda m: finish(cloud, m), 1.0)


@answers("compute.subnetworks.setPrivateIpGoogleAccess")
def _private_access(call: Call) -> Answer:
    """Machines without an external address reach Google's APIs from here, or not."""
    cloud, name = call.cloud, own_name(call)
    row_of(call)
    cloud.rows.change(name, privateIpGoogleAccess=call.body.get("privateIpGoogleAccess", False))
    done = "setPrivateIpGoogleAccess"
    return operation(cloud, scope_of(call), done, name, call.account, lambda m: finish(cloud, m), 1.0)


def read(call: Call) -> Answer:
    """What a call names."""
    return row_of(call)


for _kind in KINDS:
    answers(f"compute.{_kind}.insert")(insert)
    answers(f"compute.{_kind}.delete")(delete)
    answers(f"compute.{_kind}.get")(read)
    answers(f"compute.{_kind}.patch", f"compute.{_kind}.update")(patch)


def error(code: str, message: str, **more: Any) -> Row:
    """One error of an operation."""
    return {"code": code, "message": message, **more}


def tagged(items: Row) -> Row:
    """Metadata, labels or tags with the fingerprint of what they hold."""
    return items | {"fingerprint": fingerprint(sorted(items.items()) if items else "")}


def check_fingerprint(given: str, now: str) -> None:
    """Raises `Refusal` if something was changed meanwhile."""
    if given != now:
        text = "Supplied fingerprint does not match current metadata fingerprint."
        raise Refusal(412, text, reason=REASON[412])
