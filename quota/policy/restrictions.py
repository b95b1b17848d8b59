"""The limits that keep a want back although there is room: its user's limit, or a pause after stops. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..demand import PolicySettings, Want
from ..quota import Quota
from ..shares import Shares
from . import reasons
from .availability import Availability
from .index import WorkClass

BACK_OFF_FROM, BACK_OFF_MIN_S, BACK_OFF_MAX = 3, 90.0, 9
"""The pause after stops. A want that was stopped for others at least `BACK_OFF_FROM` times is lent room again only
after a pause. The pause is the reclaim delay, but at least `BACK_OFF_MIN_S` seconds, doubled with each stop but the
first, at most `BACK_OFF_MAX` times. So no task is stopped more than ten times in a day."""


class Restrictions:
    """The restrictions of one round. `wakes` are the moments at which some of them end."""

    def __init__(
        self, room: Availability, shares: Shares, quota: Quota, now: datetime, settings: PolicySettings
    ) -> None:
        self._room, self._shares, self._quota, self._now = room, shares, quota, now
        self._pause = timedelta(seconds=max(settings.reclaim_delay_s, BACK_OFF_MIN_S))
        self.wakes: list[datetime] = []

    def of(self, want: Want, work_class: WorkClass) -> str:
        """Return why a want is kept back; empty if it is not."""
        if limit := self.limit(want):
            return limit
        if want.stopped is None or want.stops < BACK_OFF_FROM:
            return ""
        if not self._shares.within(want.project, self._room.use_of(want.project), work_class.demand):
            until = want.stopped + self._pause * 2 ** min(want.stops - 1, BACK_OFF_MAX)
            if self._now < until:
                self.wakes.append(until)
                return reasons.resting(want, (until - self._now).total_seconds())
        return ""

    def limit(self, want: Want) -> str:
        """Return why the user may hold no more; empty if the user may."""
        for kind, most in self._quota.user_limit(want.project).items():
            asked, held = want.demand.get(kind, 0), self._room.use_of_user(want.project, want.user).get(kind, 0)
            if asked and held + asked > most:
                return reasons.limited(want, kind, held, most)
        return ""
