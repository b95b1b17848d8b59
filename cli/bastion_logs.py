"""`bastion logs`: the bastion's own log, from the bucket."""

from __future__ import annotations

from collections.abc import Iterable

from bastion import layout, logs
from bastion.ports import Clock
from bastion.system import SystemClock
from cli.main import DONE, Call
from cli.place import Place, known_place_of

LOOK_S = 1.0


def run(call: Call) -> int:
    """Print the end of the newest bastion's log; with --follow also what comes, whichever bastion writes it."""
    place = known_place_of(call)
    status = place.status()
    if status is None:
        call.output.note(f"bastion {place.name} has never started, so it has no log")
        return DONE
    prefix = layout.bastion_log(status.epoch)
    extent = logs.survey(place.bucket, prefix)
    lines = logs.Lines()
    _print(call, lines.feed(logs.tail(place.bucket, extent.segments, call.flags["tail"])))
    if call.flags["follow"]:
        follow(call, place, status.epoch, lines, logs.Follower(place.bucket, prefix, extent.next), SystemClock())
    _print(call, lines.close())
    return DONE


def follow(call: Call, place: Place, epoch: int, lines: logs.Lines, follower: logs.Follower, clock: Clock) -> None:
    """Print what comes, and go on with the next epoch's log where one ends. Ends by Ctrl-C only."""
    while True:
        status = place.status()
        for data in follower.read_new():
            _print(call, lines.feed(data))
        if status and status.epoch > epoch:
            epoch = status.epoch
            follower = logs.Follower(place.bucket, layout.bastion_log(epoch))
        else:
            clock.sleep(LOOK_S)


def _print(call: Call, lines: Iterable[str]) -> None:
    for line in lines:
        if call.output.json:
            call.output.data({"line": line})
        else:
            call.output.say(line)
