"""Cloud Build: builds that go through their states. What they would run is not run: `faults.fail("build")` makes one fail."""

from __future__ import annotations

import base64
import hashlib

from tests.google.fake.cloud import Answer, Call, Cloud, answers, page
from tests.google.fake.refusals import Refusal, status
from tests.google.fake.rows import Row

_B = ("cloudbuild.projects.builds.", "cloudbuild.projects.locations.builds.")
_OVER = ("SUCCESS", "FAILURE", "INTERNAL_ERROR", "TIMEOUT", "CANCELLED", "EXPIRED")


@answers(*(f"{begin}create" for begin in _B))
def _create(call: Call) -> Answer:
    cloud = call.cloud
    project, place = _where(call)
    if not call.body.get("steps"):
        raise Refusal(400, "invalid build: build must have at least one step")
    id_ = cloud.new_uuid()
    name = f"projects/{project}/locations/{place}/builds/{id_}"
    row: Row = call.body | {
        "name": name,
        "id": id_,
        "projectId": project,
        "status": "QUEUED",
        "createTime": cloud.clock.stamp(),
        "timeout": call.body.get("timeout", "600s"),
        "logUrl": f"https://console.cloud.google.com/cloud-build/builds;region={place}/{id_}?project={project}",
    }
    cloud.rows.put(name, row)
    path = f"operations/build/{project}/{base64.urlsafe_b64encode(id_.encode()).decode()}"
    made = (
        path
        if place == "global"
        else f"projects/{project}/locations/{place}/{path.replace('build/' + project + '/', '')}"
    )
    cloud.rows.put(made, {"build": name})
    cloud.clock.after(cloud.delays.accept, lambda: _work(cloud, name))
    return _operation(cloud, made)


def _where(call: Call) -> tuple[str, str]:
    parent = call.text("parent").split("/")
    return (parent[1], parent[3]) if len(parent) == 4 else (call.text("projectId"), "global")


def _work(cloud: Cloud, name: str) -> None:
    row = cloud.rows.get(name)
    if row and row["status"] == "QUEUED":
        cloud.rows.change(name, status="WORKING", startTime=cloud.clock.stamp())
        limit = float(row["timeout"].removesuffix("s"))
        late = cloud.delays.build > limit
        cloud.clock.after(min(limit, cloud.delays.build), lambda: end(cloud, name, "TIMEOUT" if late else "SUCCESS"))


def end(cloud: Cloud, name: str, how: str, detail: str = "") -> None:
    """A build ends, if it has not yet. With success, its images are in the registry; a fault can make it fail."""
    row = cloud.rows.get(name)
    if not row or row["status"] in _OVER:
        return
    if how == "SUCCESS" and (plan := cloud.faults.next("build", "fail")):
        how, detail = "FAILURE", plan.message or "Build failed; check build logs for details"
    more: Row = {"statusDetail": detail} if detail else {}
    if how == "SUCCESS":
        more["results"] = {"images": [pushed(cloud, image, name) for image in row.get("images", ())]}
    cloud.rows.change(name, status=how, finishTime=cloud.clock.stamp(), **more)


def pushed(cloud: Cloud, image: str, content: str) -> Row:
    """An image was pushed: it is in Artifact Registry from now on."""
    digest = f"sha256:{hashlib.sha256(content.encode()).hexdigest()}"
    host, project, repository, package = [*image.split("/", 3), "", "", ""][:4]
    short, _, tag = package.partition(":")
    if host.endswith("-docker.pkg.dev"):
        base = f"projects/{project}/locations/{host.removesuffix('-docker.pkg.dev')}/repositories/{repository}"
        bare = f"{host}/{project}/{repository}/{short}"
        quoted = short.replace("/", "%2F")
        row = {"name": f"{base}/dockerImages/{quoted}@{digest}", "uri": f"{bare}@{digest}", "tags": [tag or "latest"]}
        cloud.rows.put(row["name"], row | {"uploadTime": cloud.clock.stamp()})
    return {"name": image, "digest": digest}


def _operation(cloud: Cloud, path: str) -> Answer:
    """The operation of a build: it tells the build itself."""
    row = cloud.rows.get(path)
    build = cloud.rows.get(row["build"]) if row else None
    if build is None:
        raise Refusal(404, f"Operation {path} was not found")
    kind = "type.googleapis.com/google.devtools.cloudbuild.v1."
    answer: Answer = {"name": path, "metadata": {"@type": f"{kind}BuildOperationMetadata", "build": build}}
    if build["status"] == "SUCCESS":
        answer |= {"done": True, "response": {"@type": f"{kind}Build"} | build}
    elif build["status"] in _OVER:
        answer |= {"done": True, "error": status("ABORTED", f"Build {build['id']} failed; status: {build['status']}")}
    return answer


@answers("cloudbuild.operations.get", "cloudbuild.projects.locations.operations.get")
def _get_operation(call: Call) -> Answer:
    return _operation(call.cloud, call.text("name"))


def _build(call: Call) -> Row:
    name = call.text("name") or f"projects/{call.text('projectId')}/locations/global/builds/{call.text('id')}"
    row = call.cloud.rows.get(name)
    if row is None:
        raise Refusal(404, f"Requested entity was not found: {name}")
    return row


@answers(*(f"{begin}get" for begin in _B))
def _get(call: Call) -> Answer:
    return _build(call)


@answers(*(f"{begin}list" for begin in _B))
def _list(call: Call) -> Answer:
    project, place = _where(call)
    rows = [row for _, row in call.cloud.rows.within(f"projects/{project}/locations/{place}/builds")]
    for term in filter(None, call.text("filter").split(" AND ")):
        key, _, value = term.partition("=")
        value = value.strip().strip('"')
        if key.strip() not in ("tags", "status", "build_id"):
            raise Refusal(400, f"invalid filter: {term}")
        rows = [
            row
            for row in rows
            if value in (row.get("tags", ()) if key.strip() == "tags" else (row["status"], row["id"]))
        ]
    return page(call, sorted(rows, key=lambda row: row["createTime"], reverse=True), "builds")


@answers(*(f"{begin}cancel" for begin in _B))
def _cancel(call: Call) -> Answer:
    row = _build(call)
    if row["status"] in _OVER:
        raise Refusal(400, f"cannot cancel build in state {row['status']}", status="FAILED_PRECONDITION")
    end(call.cloud, row["name"], "CANCELLED")
    return _build(call)
