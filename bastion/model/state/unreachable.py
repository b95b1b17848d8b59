"""That a runner does not answer: since when, and what was heard in place of an answer. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..audit import Moment
from ..wording import clock


class Blind(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is known of a runner's machines `since` then. `why` was heard in place of an answer, at `heard`."""

    since: Moment
    heard: Moment
    why: str

    def told(self, runner: str, now: datetime) -> str:
        """The same in words."""
        return f"the runner {runner} has not answered since {clock(self.since, now)}: {self.why}"
