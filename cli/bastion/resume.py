"""`bastion resume`: start jobs again."""

from __future__ import annotations

from bastion.model.stored.requests import Resume

from ..terminal.main import Call
from .parts.pausing import ask


def run(call: Call) -> int:
    """Return when the bastion decides again. If no bastion is at work, return at once: it finds the request later."""
    return ask(call, Resume(), "not paused: it starts jobs", lambda state: state.paused is None)
