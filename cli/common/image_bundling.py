"""Choose the bundler of images from the command line: the engine, the registry and its login."""

from __future__ import annotations

import os
from collections.abc import Callable

from bastion.bundler.docker_engine import DockerEngine, Say
from bastion.bundler.image import BuildContext, DockerBundler, PinningBundler
from bastion.bundler.interface import Bundler
from bastion.bundler.tar import TarBundler
from bastion.model.errors import BundleError, UsageError
from bastion.model.interfaces import Clock
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.login import access_token, default_project
from bastion.runners.google.images.artifact_registry import MULTI, ArtifactRegistry, must_place, place_of
from bastion.runners.google.images.cloud_build import BuildOrder, CloudBuildBundler

from .bundler_settings import KNOWN, BundlerSettings, location_of, named, recipe_of

GLOBAL = "global"


def image_bundler(
    settings: BundlerSettings, clock: Clock, say: Say, *, tar: TarBundler, url_of: Callable[[str], str], wait: bool
) -> Bundler:
    """Return the image bundler for these settings. Raises `UsageError` or `BundleError` if they cannot work."""
    if settings.kind == "cloudbuild":
        return _cloudbuild(settings, clock, say, tar=tar, url_of=url_of, wait=wait)
    name, tag = named(settings)
    engine = DockerEngine(os.environ)
    if settings.kind == "docker":
        if settings.truth("skip_bundle"):
            return PinningBundler(name=name, tag=tag, digest=lambda name, tag: engine.digest(name, tag, {}))
        return DockerBundler(context=_context(settings), engine=engine, say=say)
    place = must_place(name)
    registry = ArtifactRegistry(GoogleApi(place.project, clock, RandomIds()), access_token)
    if settings.truth("skip_bundle"):
        return PinningBundler(name=name, tag=tag, digest=registry.digest)
    return DockerBundler(
        context=_context(settings),
        engine=engine,
        say=say,
        login=registry.login,
        before=lambda: registry.check(place),
    )


def _context(settings: BundlerSettings) -> BuildContext:
    return BuildContext(
        shell=SystemShell(),
        recipe=recipe_of(settings),
        allow_dirty=settings.truth("allow_dirty"),
        settings=KNOWN[settings.kind],
    )


def _cloudbuild(
    settings: BundlerSettings, clock: Clock, say: Say, *, tar: TarBundler, url_of: Callable[[str], str], wait: bool
) -> Bundler:
    url = url_of("")
    if not url.startswith("gs://"):
        raise UsageError(f"cloudbuild needs bundles in a gs:// bucket, but they are in {url}; use docker")
    place = place_of(named(settings)[0])
    project = settings.get("project") or (place.project if place else "") or default_project()
    if not project:
        raise BundleError("no project for the build is set; use --bundler_spec=project=PROJECT")
    region = GLOBAL if place is None or place.location in MULTI else place.location
    google = GoogleApi(project, clock, RandomIds())
    return CloudBuildBundler(
        context=_context(settings),
        google=google,
        registry=ArtifactRegistry(google, access_token),
        tar=tar,
        order=BuildOrder(
            parent=f"projects/{project}/locations/{location_of(settings, region)}",
            pool=settings.get("private_worker_pool"),
            limit_s=int(settings.get("timeout_seconds", "3600")),
        ),
        url_of=url_of,
        clock=clock,
        say=say,
        wait=wait,
    )
