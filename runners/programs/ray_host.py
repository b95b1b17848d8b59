"""The command line of a Ray job of ours. The runner `ray` writes it, never people."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bastion.platform.system import SystemClock

from ..ray import job_program


def main(argv: Sequence[str]) -> int:
    """Parse `--name=value` for each flag, as `bastion.runners.ray.render` writes them, and run the job."""
    flags = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    if "kill" in flags:
        job_program.kill(flags["kill"], Path(flags["root"]).expanduser())
        return 0
    if missing := {"machine", "root", "bucket"} - flags.keys():
        print(
            f"error: a Ray job is submitted by the runner ray, with --{', --'.join(sorted(missing))}", file=sys.stderr
        )
        return 2
    return job_program.stand_for(job_program.prepare(flags, sys.executable, os.environ, SystemClock()))
