"""The child of a bastion that writes a snapshot: folding the journal must not hold up a tick."""

from __future__ import annotations

from bastion import snapshot
from cli.flags import Command, Tool
from cli.main import DONE, Call
from cli.place import place_of

TOOL = Tool(
    name="snapshot",
    about="Write a snapshot of the journal.",
    commands=(),
    action=Command(name="", about="Write a snapshot of the journal as it is now.", module="cli.snapshot"),
)


def run(call: Call) -> int:
    """Write one; print the number that it goes up to."""
    call.output.say(str(snapshot.make(place_of(call).bucket)))
    return DONE
