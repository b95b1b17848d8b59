"""`bastion resume`: start jobs again."""

from __future__ import annotations

from bastion.requests import Resume
from cli.halting import ask
from cli.main import Call


def run(call: Call) -> int:
    """Return when the bastion decides again, or once a bastion that is not at work will find the request."""
    return ask(call, Resume(), "not paused: it starts jobs", lambda state: state.paused is None)
