"""The runners whose machines are Google's, made of the settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeVar

from bastion.config import Config
from bastion.errors import UsageError
from bastion.google.api import GoogleApi
from bastion.google.door import Google
from bastion.google.services import service
from bastion.placing import offered
from bastion.shell import SystemShell
from bastion.system import RandomIds, SystemClock, ThreadTasks
from cli.here import cache_folder, mark
from cli.place import Place
from cloud.host import slug
from runners.gce.runner import GceRunner
from runners.google.birth import Birth
from runners.google.boot import ACCOUNT
from runners.google.kept import kept_in
from runners.tpu.runner import TpuRunner

R = TypeVar("R", TpuRunner, GceRunner)
_SCOPE_MAX = 50


def birth(place: Place, config: Config, environ: Mapping[str, str], flags: Mapping[str, object]) -> Birth:
    """What the machines of this bastion are told: to fetch the worker of this very installation."""
    folder = cache_folder(environ) / "builds"
    return Birth(
        place.bucket,
        place.bucket.url,
        SystemShell(),
        {name: str(value) for name, value in flags.items()},
        run_as=config.run_as or ACCOUNT,
        make=partial(kept_in, folder),
    )


def google_runner(kind: type[R], place: Place, config: Config, birth: Birth, door: Google | None = None) -> R:
    """A runner of this kind, through this door or one of its own. Raises `UsageError` if settings or packages are missing."""
    google = config.google
    lacks = [f"{name} is missing" for name in ("project", "zones") if not getattr(google, name)]
    if lacks:
        raise UsageError(
            f"runner {kind.name} needs a project and zones, and of [google] in config.toml {' and '.join(lacks)}; run: "
            "bastion config set google.project=PROJECT 'google.zones=[\"ZONE\"]'"
        )
    service("compute")  # the packages are there, and it is asked at an address that may be
    clock, ids = SystemClock(), RandomIds()
    return kind(
        google=door or GoogleApi(google.project, clock, ids),
        settings=google,
        scope=mark(slug(place.name, _SCOPE_MAX), place.bucket.url),
        ids=ids,
        clock=clock,
        birth=birth,
        at_once=ThreadTasks().map,
        given=offered(config.capacity, [kind.name]) if config.capacity else None,
    )
