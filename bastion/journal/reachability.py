"""Track which runners are reachable. Pure but for the state it changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..model.state.state import State
from ..model.state.unreachable import Blind
from ..model.stored.events import SightChanged
from ..model.wording import one_line, told

WHY_MAX = 512
"""Characters of an error that are stored."""

REWORD = timedelta(minutes=5)
"""While a runner is unreachable, a new error text is stored at most this often: some differ with every request."""


def news(state: State, runner: str, error: Exception | None, now: datetime) -> Iterator[SightChanged]:
    """Yield what a turn of this runner says about it: reachable without an `error`, else unreachable.

    Nothing if the state already says so, or if only the text differs and the last one is newer than `REWORD`.
    """
    why = one_line(told(error), WHY_MAX) if error else ""
    known = state.blind.get(runner)
    if why == (known.why if known else ""):
        return
    if not (known and why) or now - known.heard >= REWORD:
        yield SightChanged(runner=runner, why=why)


def changed(state: State, event: SightChanged, *_at: int) -> None:
    """Mark the runner as unreachable, with the new error; or as reachable again."""
    known = state.blind.pop(event.runner, None)
    if event.why:
        assert state.now is not None
        since = known.since if known else state.now
        state.blind[event.runner] = Blind(since=since, heard=state.now, why=event.why)
