"""The program that runs before a job's own image in a pod: it puts the worker into a folder that both share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bastion.model.errors import RunnerError
from bastion.platform.shell import SystemShell

from ..delivery.archive import lay_out


def main(argv: Sequence[str]) -> int:
    """Unpack the worker into the folder, the only argument. Runners write this command line, never people."""
    try:
        lay_out(Path(argv[0]), SystemShell())
    except (RunnerError, OSError) as error:
        print(f"the worker cannot be installed into {argv[0]}: {error}", file=sys.stderr)
        return 1
    return 0
