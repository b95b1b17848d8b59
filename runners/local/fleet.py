"""The runner whose fleet is the bastion's own machine, made of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from bastion.model.interfaces import Placement, Runner
from bastion.platform.local_paths import secrets_folder, state_folder, work_folder

from ..runner_context import Ground
from ..worker.linux.machine import PRIVATE
from ..worker.linux.unix_account import chosen, is_known
from .gpus import inventory
from .runner import LocalRunner


class Local:
    """Makes the runner `local`. Without a given capacity it gives away what the machine has."""

    def faults(self, options: Mapping[str, Any]) -> Iterator[str]:
        """It has no options."""
        return (f"{key} is no option; leave it out" for key in options)

    def make(self, ground: Ground) -> Runner:
        """Raises `RunnerError` if the GPUs cannot be listed, or jobs cannot run as the settings say."""
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
        """A process of this machine: there is nobody to ask."""
        return ""


LOCAL = Local()
