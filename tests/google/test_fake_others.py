"""The fake's Cloud Build and Artifact Registry, asked with Google's own client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.google.fake import Fake
from tests.google.support.client import ask

Talk = Callable[..., Any]
PLACE = "projects/test-project/locations/us-central1"
IMAGE = "us-central1-docker.pkg.dev/test-project/images/worker:main"
BUILD = {"steps": [{"name": "gcr.io/cloud-builders/docker", "args": ["build", "."]}], "images": [IMAGE], "tags": ["x"]}


def repository(talk: Talk, google: Fake) -> Any:
    registry = talk("artifactregistry").projects().locations()
    body = {"format": "DOCKER"}
    made = ask(registry.repositories().create(parent=PLACE, repositoryId="images", body=body))
    google.clock.advance(10)
    assert ask(registry.operations().get(name=made["name"]))["done"]
    return registry.repositories()


def test_a_build_goes_through_its_states_and_its_image_is_there(google: Fake, talk: Talk) -> None:
    repositories = repository(talk, google)
    builds = talk("cloudbuild").projects().locations()
    made = ask(builds.builds().create(parent=PLACE, body=BUILD))
    name = made["metadata"]["build"]["name"]
    seen = []
    for _ in range(100):
        if (now := ask(builds.builds().get(name=name))["status"]) not in seen:
            seen.append(now)
        google.clock.advance(1)
    assert seen == ["QUEUED", "WORKING", "SUCCESS"]
    done = ask(builds.operations().get(name=made["name"]))
    (image,) = done["response"]["results"]["images"]
    tag = f"{PLACE}/repositories/images/packages/worker/tags/main"
    assert ask(repositories.packages().tags().get(name=tag))["version"].endswith(image["digest"])
    ask(repositories.dockerImages().get(name=f"{PLACE}/repositories/images/dockerImages/worker@{image['digest']}"))
    with pytest.raises(HttpError, match="was not found"):
        ask(repositories.packages().tags().get(name=tag.replace("main", "other")))
    assert ask(builds.builds().list(parent=PLACE, filter='tags="x"'))["builds"][0]["id"] == done["response"]["id"]


def test_a_build_fails_is_too_slow_or_is_cancelled(google: Fake, talk: Talk) -> None:
    builds = talk("cloudbuild").projects().builds()

    def begin(**more: Any) -> str:
        made: str = ask(builds.create(projectId="test-project", body=BUILD | more))["metadata"]["build"]["id"]
        return made

    google.faults.fail("build", message="COPY failed: no such file")
    failing, slow, unwanted = begin(), begin(timeout="30s"), begin()
    ask(builds.cancel(projectId="test-project", id=unwanted, body={}))
    google.clock.advance(120)
    ends = {id_: ask(builds.get(projectId="test-project", id=id_)) for id_ in (failing, slow, unwanted)}
    assert [one["status"] for one in ends.values()] == ["FAILURE", "TIMEOUT", "CANCELLED"]
    assert ends[failing]["statusDetail"] == "COPY failed: no such file"


def test_an_image_may_be_there_without_a_build(google: Fake, talk: Talk) -> None:
    repositories = repository(talk, google)
    digest = google.push(IMAGE)
    tag = f"{PLACE}/repositories/images/packages/worker/tags/main"
    assert ask(repositories.packages().tags().get(name=tag))["version"].endswith(digest)
