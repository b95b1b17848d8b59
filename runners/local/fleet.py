"""The runner whose fleet is the bastion's own machine, made from the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bastion.model.interfaces import Placement, Runner
from bastion.platform.local_paths import secrets_folder, state_folder, work_folder

from ..runner_context import Ground
from ..worker.linux.unix_account import chosen, is_known
from .gpus import inventory
from .render import PRIVATE
from .runner import LocalRunner


class Local:
    """The maker of the runner `local`. Without a given capacity it uses what the machine has."""

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """Yield a fault for each option, because the runner has none."""
        return (f"{key} is no option; leave it out" for key in options)

    def make(self, ground: Ground) -> Runner:
        """Make the runner.

        Raises `RunnerError` if the GPUs cannot be listed, or jobs cannot run as the settings say.
        """
        config = ground.config
        run_as = "" if config.shared else chosen(config.run_as, os.geteuid(), is_known)
        private = {PRIVATE: 1} if config.private_logs else {}
        return LocalRunner(
            scope=ground.scope,
            bucket_url=ground.bucket.url,
            work_root=work_folder(ground.environ, others=bool(run_as or config.shared)),
            ids=ground.ids,
            clock=ground.clock,
            given=ground.given,
            devices=inventory(),
            inherited=ground.environ,
            flags={**ground.flags, **private, "secrets": secrets_folder(ground.environ)},
            run_as=run_as,
            registry=state_folder(ground.environ) / "machines",
            adopts=True,
            as_submitter=bool(config.shared),
        )

    def preview(self, _ground: Ground, _placement: Placement) -> str:
        """Return nothing: a process of this machine needs no request to preview."""
        return ""


LOCAL = Local()
