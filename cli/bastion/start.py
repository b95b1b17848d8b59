"""`bastion start`: run the loop in the foreground."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TextIO

import msgspec

from bastion.platform import host
from bastion.platform.local_paths import log_file
from bastion.platform.system import SystemClock
from bastion.runners.hosting import Hosting
from bastion.service import loop

from ..common import shared_host
from ..common.place import BastionPlace, place_of
from ..hosting import where
from ..hosting.loop_parts import service_context, whose
from ..options.bastion import StartOptions
from ..terminal.main import DONE, Call
from ..terminal.signals import StopSignals
from . import unit as bastion_unit
from .create import given
from .parts.background import BackgroundOutput, leads_to


def run(call: Call[StartOptions]) -> int:
    """Run until a signal stops it. The command line overrides the stored settings."""
    place = place_of(call)
    if call.options.dry_run:
        where.rehearsed(call, place).start()
        return DONE
    if not call.options.here and (hosted := where.hosting(place)):
        return _start_there(call, place, hosted)
    said = given(call.options)
    config = msgspec.structs.replace(place.config(), **said)
    if config.shared:
        shared_host.keep(place, config)
        place = place_of(call)  # opened again: only now is it a shared folder
    place = place.housed(config)
    _log_to(call.output.err, log_file(place.name, place.bucket.url, call.environ))
    me = loop.ThisBastion(
        name=place.name, host=host.name(), boot=host.boot(), pid=os.getpid(), alive=host.is_alive, **whose(config)
    )
    stopping = StopSignals()
    stopping.watch()
    environ = {name: text for name, text in call.environ.items() if name not in bastion_unit.OF_THE_UNIT}
    context = service_context(place, config, environ)
    loop.wake_for(context, stopping.wait)
    bastion_unit.notify(call.environ, "READY=1")  # leading or standing by: for systemd both are up
    loop.run(context, me, stopping=stopping, poll_s=said.get("poll"), takeover=call.options.takeover)
    return DONE


def _start_there(call: Call[StartOptions], place: BastionPlace, hosted: Hosting) -> int:
    status, clock = place.status(), SystemClock()
    started = hosted.start()
    if started:
        with call.output.progress(f"waiting for the first tick of bastion {place.name} on {hosted.name}"):
            where.await_tick(place, hosted, clock, epoch=status.epoch if status else 0)
    call.output.say(f"bastion {place.name} {'runs' if started else 'already runs'} on {hosted.name} in {hosted.where}")
    return DONE


def _log_to(terminal: TextIO, background: Path) -> None:
    handler = (
        BackgroundOutput(terminal, background) if leads_to(terminal, background) else logging.StreamHandler(terminal)
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname).1s %(message)s"))
    logger = logging.getLogger("bastion")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
