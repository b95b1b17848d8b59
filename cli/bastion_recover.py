"""`bastion recover`: bring a bastion back to a journal that it can go on by. Only if an admin says so."""

from __future__ import annotations

from bastion.errors import UsageError
from cli import heal_time
from cli.main import Call


def run(call: Call) -> int:
    """Return 0 once it is done."""
    if call.flags["heal_time"]:
        return heal_time.run(call)
    raise UsageError("say what to recover: bastion recover --heal_time")
