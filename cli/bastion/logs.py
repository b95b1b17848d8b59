"""`bastion logs`: print the bastion's own log, from the bucket."""

from __future__ import annotations

from bastion.journal import logs
from bastion.model import layout
from bastion.model.errors import UsageError
from bastion.model.interfaces import Clock
from bastion.platform.system import SystemClock

from ..common.place import BastionPlace, known_place_of
from ..hosting import where
from ..options.bastion import LogsOptions
from ..terminal.main import DONE, Call

LOOK_S = 1.0


def run(call: Call[LogsOptions]) -> int:
    """Print the end of the newest bastion's log.

    With --follow, also print new lines, from any later bastion as well.
    """
    place = known_place_of(call)
    if call.options.console:
        return _console(call, place)
    status = place.status()
    if status is None:
        call.output.note(f"bastion {place.name} has never started, so it has no log")
        return DONE
    prefix = layout.bastion_log(status.epoch)
    extent = logs.survey(place.bucket, prefix)
    lines = logs.LineSplitter()
    tail = logs.tail(place.bucket, extent.segments, call.options.tail)
    if tail.cut:
        call.output.note(tail.cut)
    surplus = tail.surplus
    for data in logs.read(place.bucket, tail.segments, held=tail.held):
        data, surplus = logs.after(data, surplus)
        call.output.log(lines.feed(data))
    if call.options.follow:
        follow(call, place, status.epoch, lines, logs.LogReader(place.bucket, prefix, extent.next), SystemClock())
    call.output.log(lines.close())
    return DONE


def _console(call: Call[LogsOptions], place: BastionPlace) -> int:
    if (hosted := where.hosting(place)) is None:
        raise UsageError(
            f"bastion {place.name} runs on no VM and in no Deployment, so it has no console; leave out --console"
        )
    call.output.log(hosted.console().splitlines())
    return DONE


def follow(
    call: Call[LogsOptions],
    place: BastionPlace,
    epoch: int,
    lines: logs.LineSplitter,
    follower: logs.LogReader,
    clock: Clock,
) -> None:
    """Print new lines, and continue with the next epoch's log where one ends. Only Ctrl-C ends it."""
    while True:
        status = place.status()
        for data in follower.read_new():
            call.output.log(lines.feed(data))
        if status and status.epoch > epoch:
            epoch = status.epoch
            follower = logs.LogReader(place.bucket, layout.bastion_log(epoch))
        else:
            clock.sleep(LOOK_S)
