"""Slurm's commands on a login node: one connection for all of them, and nobody is asked for a password."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bastion.model.ports import Said, Shell

_FLAGS = (
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ControlMaster=auto",
    "ControlPath=~/.ssh/bastion-%C",
    "ControlPersist=300",
)


@dataclass(frozen=True, slots=True)
class SshShell:
    """Runs commands on `login`, by ssh's program and flags. Exit code 255 is ssh's own: it did not get there."""

    shell: Shell
    login: str
    program: Sequence[str] = ("ssh",)

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> Said:
        """What it answered. Raises `RunnerError` if ssh cannot be started or outlasts `limit_s` seconds."""
        flags = [word for flag in _FLAGS for word in ("-o", flag)]
        return self.shell.run([*self.program, *flags, "--", self.login, shlex.join(argv)], limit_s=limit_s, stdin=stdin)
