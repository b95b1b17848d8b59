"""Artifact Registry: repositories, and the images that are in them."""

from __future__ import annotations

from tests.google.fake.cloud import Answer, Call, answers, page
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_L = "artifactregistry.projects.locations."
_R = f"{_L}repositories."


@answers(f"{_R}create")
def _create(call: Call) -> Answer:
    cloud, short = call.cloud, call.text("repositoryId")
    name = f"{call.text('parent')}/repositories/{short}"
    if cloud.rows.get(name):
        raise Refusal(409, f"the repository {short!r} already exists")
    if call.body.get("format", "FORMAT_UNSPECIFIED") == "FORMAT_UNSPECIFIED":
        raise Refusal(400, "format must be specified")
    _, project, _, place = call.text("parent").split("/")
    more = {"name": name, "createTime": cloud.clock.stamp(), "registryUri": f"{place}-docker.pkg.dev/{project}/{short}"}
    cloud.rows.put(name, call.body | more)
    return _done_soon(
        call, {"@type": "type.googleapis.com/google.devtools.artifactregistry.v1.Repository"} | call.body | more
    )


def _done_soon(call: Call, response: Row) -> Answer:
    cloud = call.cloud
    place = "/".join((call.text("parent") or call.text("name")).split("/")[:4])
    row: Row = {"name": f"{place}/operations/{cloud.new_uuid()}", "done": False}
    cloud.rows.put(row["name"], row)
    cloud.clock.after(
        cloud.delays.operation, lambda: cloud.rows.change(row["name"], done=True, response=response) and None
    )
    return row


def _row(call: Call) -> Row:
    row = call.cloud.rows.get(call.text("name"))
    if row is None:
        raise Refusal(404, f"Requested entity was not found: {call.text('name')}")
    return row


@answers(f"{_R}get", f"{_L}operations.get", f"{_R}dockerImages.get")
def _get(call: Call) -> Answer:
    return _row(call)


@answers(f"{_R}list")
def _list(call: Call) -> Answer:
    return page(call, [row for _, row in call.cloud.rows.within(f"{call.text('parent')}/repositories")], "repositories")


@answers(f"{_R}delete")
def _delete(call: Call) -> Answer:
    call.cloud.rows.put(_row(call)["name"], None)
    return _done_soon(call, {"@type": "type.googleapis.com/google.protobuf.Empty"})


@answers(f"{_R}dockerImages.list")
def _images(call: Call) -> Answer:
    if call.cloud.rows.get(call.text("parent")) is None:
        raise Refusal(404, f"Requested entity was not found: {call.text('parent')}")
    return page(call, [row for _, row in call.cloud.rows.within(f"{call.text('parent')}/dockerImages")], "dockerImages")


def _image_of(call: Call, name: str) -> tuple[str, str, str]:
    """The repository, package and last part of a tag's or a version's name. A package's slash is written as %2F."""
    base, _, rest = name.partition("/packages/")
    package, _, last = rest.replace("/tags/", "/versions/").partition("/versions/")
    return base, package, last


@answers(f"{_R}packages.tags.get")
def _tag(call: Call) -> Answer:
    base, package, tag = _image_of(call, call.text("name"))
    for name, row in call.cloud.rows.within(f"{base}/dockerImages"):
        if tag in row["tags"] and name.rpartition("/dockerImages/")[2].startswith(f"{package}@"):
            package_name = call.text("name").rpartition("/tags/")[0]
            return {"name": call.text("name"), "version": f"{package_name}/versions/{name.rpartition('@')[2]}"}
    raise Refusal(404, f"Requested entity was not found: {call.text('name')}")


@answers(f"{_R}packages.versions.get")
def _version(call: Call) -> Answer:
    base, package, digest = _image_of(call, call.text("name"))
    if call.cloud.rows.get(f"{base}/dockerImages/{package}@{digest}") is None:
        raise Refusal(404, f"Requested entity was not found: {call.text('name')}")
    return {"name": call.text("name")}
