"""Which runners answer and which are blind, as the journal is told. Pure but for the state it changes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ..model.state.state import State
from ..model.state.unreachable import Blind
from ..model.stored.events import SightChanged
from ..model.wording import one_line, told

ASKS = "runner "
"""A task of this name and a runner's asks that runner: who cannot be asked is blind."""

WHY_MAX = 512
"""Characters of what is heard in place of an answer."""

REWORD = timedelta(minutes=5)
"""While a runner is blind, other words are journalled no more often: some differ with every request."""


def news(state: State, task: str, error: Exception | None, now: datetime) -> Iterator[SightChanged]:
    """What the end of a task says of the runner that it asked, by the `error` or by its absence; nothing if that is old."""
    if not task.startswith(ASKS):
        return
    runner, why = task.removeprefix(ASKS), one_line(told(error), WHY_MAX) if error else ""
    known = state.blind.get(runner)
    if why == (known.why if known else ""):
        return
    if not (known and why) or now - known.heard >= REWORD:
        yield SightChanged(runner=runner, why=why)


def changed(state: State, event: SightChanged, *_at: int) -> None:
    """It is blind from here on, or still, or sees again."""
    known = state.blind.pop(event.runner, None)
    if event.why:
        assert state.now is not None
        since = known.since if known else state.now
        state.blind[event.runner] = Blind(since=since, heard=state.now, why=event.why)
