"""The bundler that has Google's Cloud Build make an image of the folder, while we wait or later."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from bastion.bundler.docker_engine import Say
from bastion.bundler.image import BuildContext
from bastion.bundler.interface import Bundle
from bastion.bundler.recipe import Recipe
from bastion.bundler.tar import TarBundler
from bastion.model.errors import BundleError
from bastion.model.interfaces import Bucket, Clock
from bastion.model.job.image_ref import log_link

from ..api.build_status import LIVE, TAG, ended, problem
from ..api.interface import CredentialsMissing, Google, GoogleError, InvalidCall, PermissionMissing, ResourceNotFound
from .artifact_registry import ArtifactRegistry, place_of

BUILDER = "gcr.io/cloud-builders/docker"
POLL_S = 3.0
_SHORT, _LISTED = 16, 20
_B = "cloudbuild.projects.locations.builds"
_DEFINITE = (InvalidCall, CredentialsMissing, PermissionMissing, ResourceNotFound)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """The settings of a build.

    parent: the location, as `projects/P/locations/L`.
    pool: the private worker pool; empty means Google's own machines.
    limit_s: the longest time in seconds, after which Cloud Build ends the build.
    """

    parent: str
    pool: str = ""
    limit_s: int = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudBuildBundler:
    """The bundler that uploads the folder and has it built. A build of equal code with equal settings is used again.

    context: the folder's recipe, and its preparation.
    google: the API client.
    registry: the registry that keeps the image.
    tar: packs and uploads the folder.
    order: the settings of the build.
    url_of: returns the URL in Google's storage of an object of the bucket.
    clock: the clock for pauses between questions.
    say: shows a line to the user.
    wait: return once the image exists. Otherwise the bundle names the build, and the bastion waits for it.
    """

    context: BuildContext
    google: Google
    registry: ArtifactRegistry
    tar: TarBundler
    order: BuildOrder
    url_of: Callable[[str], str]
    clock: Clock
    say: Say
    wait: bool

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Build the folder, or find its earlier build. Return the bundle.

        Raises `BundleError`, `BucketError`, and `GoogleError` for what Google refuses.
        """
        notes, name = self.context.ready(source), self.context.recipe.name
        if place := place_of(name):
            self.registry.check(place)
        packed = self.tar.bundle(source, bucket)
        body = body_of(self.context.recipe, self.order, self.url_of(packed.key))
        build = self._made_before(body) or self._create(body)
        link = f"log of the build: {build.get('logUrl') or log_link(self._name(build))}"
        if self.wait:
            self.say(link)
            build = self._until_over(build)
        digest = _digest(build, name)
        if self.wait and not digest:
            raise BundleError(f"the build of {name} failed: {problem(build)}; {link}")
        notes = (*notes, *(() if self.wait else (link,)))
        return Bundle("image", image=name, digest=digest, build="" if digest else self._name(build), notes=notes)

    def _made_before(self, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the newest build of the same that is under way, or whose image still exists; None if there is none."""
        name = self.context.recipe.name
        for build in self._tagged(body["tags"][-1]):
            if build.get("status") in LIVE:
                return build
            digest, place = _digest(build, name), place_of(name)
            if digest and (place is None or self.registry.has(place, digest)):
                self.say(f"built before: {name}@sha256:{digest}")
                return build
        return None

    def _tagged(self, tag: str) -> Iterator[Mapping[str, Any]]:
        asked = {"parent": self.order.parent, "filter": f'tags="{tag}"', "pageSize": _LISTED}
        return islice(self.google.pages(f"{_B}.list", "builds", **asked), _LISTED)

    def _create(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Start a build. If the answer was lost, look for the build before anybody asks again."""
        try:
            operation = self.google.call(f"{_B}.create", parent=self.order.parent, body=body)
            build: Mapping[str, Any] = operation["metadata"]["build"]
            return build
        except GoogleError as error:
            found = None if isinstance(error, _DEFINITE) else next(self._tagged(body["tags"][-1]), None)
            if found is None or found.get("status") not in LIVE:
                raise
            return found

    def _until_over(self, build: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the build at its end. Cloud Build itself ends a build that takes too long."""
        name, told = self._name(build), ""
        while ended(build) is None:
            if told != build.get("status"):
                told = str(build.get("status"))
                self.say(f"build {build.get('id')}: {told}")
            self.clock.sleep(POLL_S)
            build = self.google.call(f"{_B}.get", name=name)
        return build

    def _name(self, build: Mapping[str, Any]) -> str:
        return f"{self.order.parent}/builds/{build.get('id')}"


def body_of(recipe: Recipe, order: BuildOrder, url: str) -> dict[str, Any]:
    """Return the request to Cloud Build, for an archive at `gs://bucket/object`. Equal requests have equal tags."""
    bucket, _, key = url.removeprefix("gs://").partition("/")
    asked: dict[str, Any] = {
        "source": {"storageSource": {"bucket": bucket, "object": key}},
        "timeout": f"{order.limit_s}s",
        "options": {"logging": "CLOUD_LOGGING_ONLY", **({"pool": {"name": order.pool}} if order.pool else {})},
    }
    unnamed = json.dumps([recipe.name, _words(recipe), asked], sort_keys=True).encode()
    tag = f"{TAG}-{hashlib.sha256(unnamed).hexdigest()[:_SHORT]}"
    tagged = f"{recipe.name}:{tag}"
    step = {"name": BUILDER, "args": ["build", f"--tag={tagged}", *_words(recipe), "."], "env": ["DOCKER_BUILDKIT=1"]}
    return {**asked, "steps": [step], "images": [tagged], "tags": [TAG, tag]}


def _words(recipe: Recipe) -> list[str]:
    """Return the arguments of `docker build`. `$` is doubled, because Cloud Build replaces `$NAME` by a variable."""
    cached = {"BUILDKIT_INLINE_CACHE": "1"} if recipe.cache_from else {}
    words = [
        f"--file={recipe.dockerfile}",
        *([f"--target={recipe.target}"] if recipe.target else []),
        *([f"--platform={recipe.platform}"] if recipe.platform else []),
        *(f"--build-arg={name}={value}" for name, value in sorted({**recipe.args, **cached}.items())),
        *(f"--cache-from={image}" for image in recipe.cache_from),
    ]
    return [word.replace("$", "$$") for word in words]


def _digest(build: Mapping[str, Any], name: str) -> str:
    end = ended(build)
    return end.images.get(name, "") if end else ""
