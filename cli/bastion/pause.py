"""`bastion pause` and `bastion resume`: start nothing until it is resumed, and start jobs again."""

from __future__ import annotations

from collections.abc import Callable

from bastion.launcher.read.reader import BastionReader
from bastion.launcher.submit.sending import send
from bastion.model import layout
from bastion.model.codec import since
from bastion.model.errors import BastionError, Forbidden
from bastion.model.interfaces import Clock
from bastion.model.state.state import State
from bastion.model.stored.requests import AboutAll, Pause, Resume
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.schedule.permissions import not_for

from ..common.bastion_alive import is_up
from ..common.command_context import check_user, user_of
from ..common.place import BastionPlace, known_place_of
from ..options.bastion import WhoOptions
from ..terminal.main import DONE, Call

LOOK_S = 0.1
PATIENCE_S = 30.0


def run(call: Call[WhoOptions]) -> int:
    """Return when nothing starts any more. If no bastion is at work, return at once: it finds the request later."""
    return _ask(
        call, Pause(), "paused: no job starts, and running jobs continue", lambda state: state.paused is not None
    )


def resume(call: Call[WhoOptions]) -> int:
    """Return when the bastion decides again. If no bastion is at work, return at once: it finds the request later."""
    return _ask(call, Resume(), "not paused: it starts jobs", lambda state: state.paused is None)


def _ask(call: Call[WhoOptions], request: AboutAll, becomes: str, is_so: Callable[[State], bool]) -> int:
    """Send the request, unless its goal is reached already.

    Raises `Forbidden`, or `BastionError` if the bastion refuses.
    """
    place, user, clock = known_place_of(call), user_of(call), SystemClock()
    check_user(place.settings, user)
    if wrong := not_for(user, request, place.config().admins):
        raise Forbidden(wrong)
    reader = BastionReader(place.bucket, clock, ThreadTasks(), user=user)
    state = reader.look().state
    if not is_so(state):
        request_id = RandomIds().new()
        send(place.bucket, user=user, request_id=request_id, request=request)
        heard = layout.request_name(layout.request(user, request_id))
        with call.output.progress(f"waiting for an answer of bastion {place.name}"):
            state = _heard(place, reader, heard, clock)
        if heard in state.requests and not is_so(state):
            raise BastionError(f"bastion {place.name} refused the request; see bastion logs")
    _tell(call, place, state, becomes, is_so(state))
    return DONE


def _heard(place: BastionPlace, reader: BastionReader, request: str, clock: Clock) -> State:
    """Return the state once the request is read.

    If no bastion is up, or none reads it within `PATIENCE_S` seconds, return the state as it is.
    """
    deadline = clock.monotonic() + PATIENCE_S
    while request not in (state := reader.look().state).requests:
        if clock.monotonic() > deadline or not is_up(place, clock):
            break
        clock.sleep(LOOK_S)
    return state


def _tell(call: Call[WhoOptions], place: BastionPlace, state: State, becomes: str, done: bool) -> None:
    if call.output.json:
        by = {"user": state.paused.user, "since": since(state.paused)} if state.paused else None
        call.output.data({"schema": 1, "name": place.name, "paused": by, "heard": done})
    elif done:
        who = f" (by {state.paused})" if state.paused else ""
        call.output.say(f"bastion {place.name} is {becomes}{who}")
    else:
        call.output.say(f"bastion {place.name} is not running; the request is stored and takes effect when it starts")
