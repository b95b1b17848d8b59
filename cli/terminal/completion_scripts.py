"""`bastion completion` and `launch completion`: print the completion script for a shell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from . import bash, fish, zsh
from .flags import Options, Tool
from .main import DONE, Call

SHELLS: Mapping[str, Callable[[Tool], str]] = {
    "bash": bash.script,
    "zsh": zsh.script,
    "fish": fish.script,
}


def tell(call: Call[Options], tool: Tool) -> int:
    """Print the script for the shell that the word names."""
    text = SHELLS[call.words[0]](tool)
    if call.output.json:
        call.output.data({"schema": 1, "shell": call.words[0], "script": text})
    else:
        call.output.say(text.rstrip())
    return DONE
