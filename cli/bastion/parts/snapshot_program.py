"""Write a snapshot in a child process of the bastion: the fold of the journal must not delay a tick."""

from __future__ import annotations

from bastion.journal import snapshot

from ...common.place import place_of
from ...terminal.flags import Command, Options, Tool
from ...terminal.main import DONE, Call

TOOL = Tool(
    name="snapshot",
    about="Write a snapshot of the journal.",
    commands=(),
    action=Command(
        name="",
        about="Write a snapshot of the journal as it is now.",
        module="bastion.cli.bastion.parts.snapshot_program",
    ),
)


def run(call: Call[Options]) -> int:
    """Write a snapshot, and print the number that it goes up to."""
    call.output.say(str(snapshot.make(place_of(call).bucket)))
    return DONE
