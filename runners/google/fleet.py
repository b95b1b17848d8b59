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
from ..runner_context import RunnerContext
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

    def make(self, context: RunnerContext, door: Google | None = None) -> TpuRunner | GceRunner:
        """Return the runner. `door` replaces its API client.

        Raises `UsageError` if settings are missing, or the packages for them.
        """
        google, name = context.config.google, self.kind.name
        lacks = [f"{name} is missing" for name in ("project", "zones") if not getattr(google, name)]
        if lacks:
            raise UsageError(
                f"runner {name} needs a project and zones, but in [google] of config.toml {' and '.join(lacks)}; run: "
                "bastion config set google.project=PROJECT 'google.zones=[\"ZONE\"]'"
            )
        service("compute")  # raises now if packages are missing or the endpoint is not allowed
        given = context.given
        machines = GoogleContext(
            google=door or GoogleApi(google.project, context.clock, context.ids),
            settings=google,
            scope=mark(slug(context.bastion, _SCOPE_MAX), context.bucket.url),
            ids=context.ids,
            seal=context.seal,
            clock=context.clock,
            birth=birth(context),
            at_once=context.tasks.map,
            given=None if given is None else {kind: given[kind] for kind in given if kind in (self.kind.offers or ())},
        )
        return self.kind(context=machines)

    def preview(self, _context: RunnerContext, _placement: Placement) -> str:
        """Return nothing: the requests depend on what the zones have, and that is not known in advance."""
        return ""


def birth(context: RunnerContext) -> MachineBoot:
    """Return what makes the machines' metadata: they tell each machine to fetch the worker of this installation."""
    return MachineBoot(
        context.bucket,
        context.bucket.url,
        SystemShell(),
        {name: str(value) for name, value in context.flags.items()},
        run_as=context.config.run_as or ACCOUNT,
        make=partial(kept_in, [LAID, cache_folder(context.environ) / "builds"]),
    )


TPU, GCE = GoogleMaker(TpuRunner), GoogleMaker(GceRunner)
