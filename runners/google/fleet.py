"""The makers of the runners for Google's machines."""

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
    """The maker of a runner of class `kind`. It uses the settings in `[google]`."""

    kind: type[TpuRunner] | type[GceRunner]

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Complain about every option: the runner has none, its settings are in `[google]`."""
        return (f"{key} is no option of this runner; its settings are in [google]" for key in options)

    def make(self, ground: Ground, door: Google | None = None) -> TpuRunner | GceRunner:
        """Return the runner. `door` replaces its API client.

        Raises `UsageError` if settings are missing, or the packages for them.
        """
        google, name = ground.config.google, self.kind.name
        lacks = [f"{name} is missing" for name in ("project", "zones") if not getattr(google, name)]
        if lacks:
            raise UsageError(
                f"runner {name} needs a project and zones, but in [google] of config.toml {' and '.join(lacks)}; run: "
                "bastion config set google.project=PROJECT 'google.zones=[\"ZONE\"]'"
            )
        service("compute")  # raises now if packages are missing or the endpoint is not allowed
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
        """Return nothing: the requests depend on what the zones have, and that is not known in advance."""
        return ""


def birth(ground: Ground) -> MachineBoot:
    """Return what makes the machines' metadata: they tell each machine to fetch the worker of this installation."""
    return MachineBoot(
        ground.bucket,
        ground.bucket.url,
        SystemShell(),
        {name: str(value) for name, value in ground.flags.items()},
        run_as=ground.config.run_as or ACCOUNT,
        make=partial(kept_in, [LAID, cache_folder(ground.environ) / "builds"]),
    )


TPU, GCE = GoogleMaker(TpuRunner), GoogleMaker(GceRunner)
