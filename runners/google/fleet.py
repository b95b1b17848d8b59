"""The runners whose machines are Google's, made of the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.interfaces import Placement
from bastion.platform.local_paths import cache_folder, mark
from bastion.platform.shell import SystemShell

from ..delivery.archive_cache import LAID, kept_in
from ..delivery.bootstrap import ACCOUNT
from ..runner_context import Ground
from .api.client import GoogleApi
from .api.interface import Google
from .api.service_descriptions import service
from .gce.runner import GceRunner
from .hosting.bastion_vm import slug
from .machines.boot import MachineBoot
from .machines.google_context import GoogleContext
from .tpu.runner import TpuRunner

_SCOPE_MAX = 50


@dataclass(frozen=True, slots=True)
class GoogleMaker:
    """Makes runners of one of these classes, of the settings in `google`."""

    kind: type[TpuRunner] | type[GceRunner]

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """It has no options."""
        return (f"{key} is no option; its settings are those of [google]" for key in options)

    def make(self, ground: Ground, door: Google | None = None) -> TpuRunner | GceRunner:
        """By this door, or one of its own. Raises `UsageError` if the settings or the packages for it are missing."""
        google, name = ground.config.google, self.kind.name
        lacks = [f"{name} is missing" for name in ("project", "zones") if not getattr(google, name)]
        if lacks:
            raise UsageError(
                f"runner {name} needs a project and zones, and of [google] in config.toml {' and '.join(lacks)}; run: "
                "bastion config set google.project=PROJECT 'google.zones=[\"ZONE\"]'"
            )
        service("compute")  # the packages are there, and it is asked at an address that may be
        given = ground.given
        site = GoogleContext(
            google=door or GoogleApi(google.project, ground.clock, ground.ids),
            settings=google,
            scope=mark(slug(ground.bastion, _SCOPE_MAX), ground.bucket.url),
            ids=ground.ids,
            seal=ground.seal,
            clock=ground.clock,
            birth=birth(ground),
            at_once=ground.tasks.map,
            given=None if given is None else {kind: given[kind] for kind in given if kind in (self.kind.offers or ())},
        )
        return self.kind(site=site)

    def preview(self, _ground: Ground, _placement: Placement) -> str:
        """Requests of several kinds, by what the zones have: none that would be told before it is known."""
        return ""


def birth(ground: Ground) -> MachineBoot:
    """What the machines of this bastion are told: to fetch the worker of this very installation."""
    return MachineBoot(
        ground.bucket,
        ground.bucket.url,
        SystemShell(),
        {name: str(value) for name, value in ground.flags.items()},
        run_as=ground.config.run_as or ACCOUNT,
        make=partial(kept_in, [LAID, cache_folder(ground.environ) / "builds"]),
    )


TPU, GCE = GoogleMaker(TpuRunner), GoogleMaker(GceRunner)
