"""Run commands of other programs on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from ..model.errors import RunnerError
from ..model.interfaces import CommandResult


class SystemShell:
    """The `Shell` of this machine. It runs a command to its end, without a shell in between."""

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        """Run a command. Raises `RunnerError` if it cannot be started or takes longer than `limit_s` seconds."""
        try:
            done = subprocess.run(argv, input=stdin, capture_output=True, text=True, errors="replace", timeout=limit_s)
        except (OSError, subprocess.SubprocessError) as error:
            raise RunnerError(f"{argv[0]} gave no answer: {error}") from error
        return CommandResult(done.returncode, done.stdout, done.stderr)
