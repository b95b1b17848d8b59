"""`bastion pause`: start nothing until it is resumed."""

from __future__ import annotations

from bastion.model.stored.requests import Pause

from ..terminal.main import Call
from .parts.pausing import ask


def run(call: Call) -> int:
    """Return when nothing starts any more. If no bastion is at work, return at once: it finds the request later."""
    return ask(call, Pause(), "paused: nothing starts, what runs goes on", lambda state: state.paused is not None)
