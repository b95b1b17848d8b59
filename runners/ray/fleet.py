"""The runner of an existing Ray cluster, made from the settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bastion.model.interfaces import Placement

from ..runner_context import RunnerContext
from .api import HttpDashboard
from .runner import RayRunner
from .settings import faults, settings_of


class RayMaker:
    """The maker of the runner `ray`. Without a given capacity it uses what Ray's nodes have."""

    def faults(self, options: Mapping[str, Any]) -> list[str]:
        """Return the faults of `[runner_options.ray]`."""
        return faults(options)

    def make(self, context: RunnerContext) -> RayRunner:
        """Make the runner, without a request to Ray."""
        settings = settings_of(context.options)
        return RayRunner(
            dashboard=HttpDashboard(settings.address, settings.token_file or _usual_token()),
            settings=settings,
            scope=context.scope,
            bucket_url=context.bucket.url,
            ids=context.ids,
            seal=context.seal,
            clock=context.clock,
            given=context.given,
            flags=context.flags,
        )

    def preview(self, context: RunnerContext, placement: Placement) -> str:
        """Return the first of the requests, one for each worker."""
        return self.make(context).preview(placement)


def _usual_token() -> str:
    """Return the file where Ray's own tools look for the token of this account; "" if there is none."""
    usual = Path("~/.ray/auth_token").expanduser()
    return str(usual) if usual.is_file() else ""


RAY = RayMaker()
