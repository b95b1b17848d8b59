"""`bastion completion`."""

from __future__ import annotations

from cli.bastion import TOOL
from cli.completion import tell
from cli.main import Call


def run(call: Call) -> int:
    """Print the script."""
    return tell(call, TOOL)
