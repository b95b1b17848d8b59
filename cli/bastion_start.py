"""`bastion start`: the loop in the foreground."""

from __future__ import annotations

import logging
import os
from typing import TextIO

import msgspec

from bastion import host, loop
from cli.bastion_create import given
from cli.fleet import doors
from cli.main import DONE, Call
from cli.place import place_of
from cli.signals import Stopping


def run(call: Call) -> int:
    """Run until told to stop. What the command line says overrides the stored settings."""
    place = place_of(call)
    said = given(call)
    config = msgspec.structs.replace(place.config(), **said)
    place = place.housed(config)
    _log_to(call.output.err)
    me = loop.Self(name=place.name, host=host.name(), boot=host.boot(), pid=os.getpid(), alive=host.is_alive)
    stopping = Stopping()
    world = doors(place, config, call.environ)
    world.tasks.start("signal", stopping.wait)  # so that a signal ends the wait for the next tick
    loop.run(world, me, stopping=stopping, poll_s=said.get("poll"), takeover=call.flags["takeover"])
    return DONE


def _log_to(terminal: TextIO) -> None:
    handler = logging.StreamHandler(terminal)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(message)s"))
    logger = logging.getLogger("bastion")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
