"""A runner that does not answer: since when, and with which error. Pure."""

from __future__ import annotations

from datetime import datetime

import msgspec

from ..codec import Moment
from ..wording import clock


class Unreachable(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a runner that does not answer. Nothing is known of its machines.

    since: when it stopped answering.
    heard: when `why` was recorded.
    why: the error that came in place of an answer.
    """

    since: Moment
    heard: Moment
    why: str

    def told(self, runner: str, now: datetime) -> str:
        """Describe it in words."""
        return f"the runner {runner} has not answered since {clock(self.since, now)}: {self.why}"
