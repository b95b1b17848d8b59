"""`launch completion`."""

from __future__ import annotations

from cli.completion import tell
from cli.launch import TOOL
from cli.main import Call


def run(call: Call) -> int:
    """Print the script."""
    return tell(call, TOOL)
