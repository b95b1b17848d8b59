"""The runner of a Slurm cluster, made from the settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from bastion.model.errors import UsageError
from bastion.model.interfaces import Placement
from bastion.platform.local_paths import secrets_folder
from bastion.platform.shell import SystemShell

from ..runner_context import RunnerContext
from .commands import SshShell
from .runner import SlurmRunner
from .settings import faults, read


class SlurmMaker:
    """The maker of the runner `slurm`. Its commands run here, or on a login node."""

    def faults(self, options: Mapping[str, Any]) -> list[str]:
        """Return the faults of the options."""
        return faults(options)

    def make(self, context: RunnerContext) -> SlurmRunner:
        """Make the runner.

        Raises `UsageError` for a bucket in a folder of this machine if Slurm is reached over ssh.
        """
        settings = read(context.options)
        if settings.ssh and context.bucket.url.startswith("file://"):
            raise UsageError(
                f"the nodes of {settings.ssh} cannot reach {context.bucket.url}; use a bucket that they can reach"
            )
        shell = SystemShell()
        return SlurmRunner(
            settings=settings,
            scope=context.scope,
            bucket_url=context.bucket.url,
            python=settings.python or sys.executable,
            shell=SshShell(shell, settings.ssh) if settings.ssh else shell,
            ids=context.ids,
            seal=context.seal,
            clock=context.clock,
            given=context.given,
            flags={**context.flags, **({} if settings.ssh else {"secrets": secrets_folder(context.environ)})},
        )

    def preview(self, context: RunnerContext, placement: Placement) -> str:
        """Return the command and the script that would be submitted."""
        return self.make(context).preview(placement)


SLURM = SlurmMaker()
