"""`launch completion`: print a completion script."""

from __future__ import annotations

from ..terminal.completion_scripts import tell
from ..terminal.flags import Options
from ..terminal.main import Call
from .tool import TOOL


def run(call: Call[Options]) -> int:
    """Print the script."""
    return tell(call, TOOL)
