"""The runner whose fleet is the bastion's own machine, made from the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bastion.model.interfaces import Placement, Runner
from bastion.platform.local_paths import secrets_folder, state_folder, work_folder

from ..runner_context import RunnerContext
from ..worker.linux.unix_account import chosen, is_known
from .gpus import inventory
from .render import PRIVATE
from .runner import LocalRunner


class LocalMaker:
    """The maker of the runner `local`. Without a given capacity it uses what the machine has."""

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Yield a fault for each option, because the runner has none."""
        return (f"{key} is no option; leave it out" for key in options)

    def make(self, context: RunnerContext) -> Runner:
        """Make the runner.

        Raises `RunnerError` if the GPUs cannot be listed, or jobs cannot run as the settings say.
        """
        config = context.config
        run_as = "" if config.shared else chosen(config.run_as, os.geteuid(), is_known)
        private = {PRIVATE: 1} if config.private_logs else {}
        return LocalRunner(
            scope=context.scope,
            bucket_url=context.bucket.url,
            work_root=work_folder(context.environ, others=bool(run_as or config.shared)),
            ids=context.ids,
            clock=context.clock,
            given=context.given,
            devices=inventory(),
            inherited=context.environ,
            flags={**context.flags, **private, "secrets": secrets_folder(context.environ)},
            run_as=run_as,
            registry=state_folder(context.environ) / "machines",
            adopts=True,
            as_submitter=bool(config.shared),
        )

    def preview(self, _context: RunnerContext, _placement: Placement) -> str:
        """Return nothing: a process of this machine needs no request to preview."""
        return ""


LOCAL = LocalMaker()
