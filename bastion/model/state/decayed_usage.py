"""What users held, weighed by its age: unit-hours that count half after every half-life. Pure but for what it changes.

Between two changes of what somebody holds, its unit-hours u decay and grow at once: du/dt = held - u ln 2 / H. So
u(t) = u(0) e^-x + held H / ln 2 (1 - e^-x), with x = t ln 2 / H: a change costs the same however long it is after the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import exp, expm1, log

import msgspec

from bastion.quota.demand import Knobs
from bastion.quota.resources import Resources

FADED = 0.001
"""Unit-hours that are as good as none."""

_HOUR_S = 3600.0


class UserUse(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One user's use of one project, by kind: unit-hours as they counted `at` that moment, and what was `held` since."""

    at: datetime
    hours: dict[str, float] = {}
    held: dict[str, int] = {}

    def hours_at(self, now: datetime, half_life_s: float) -> Mapping[str, float]:
        """The unit-hours as they count now, those of what is held included; none without a half-life."""
        age_s = (now - self.at).total_seconds()
        if not half_life_s:
            return {}
        if age_s <= 0:
            return self.hours
        x = age_s * log(2) / half_life_s
        left, gained = exp(-x), -expm1(-x) * half_life_s / (log(2) * _HOUR_S)
        return {
            kind: self.hours.get(kind, 0.0) * left + self.held.get(kind, 0) * gained
            for kind in {**self.hours, **self.held}
        }

    def advance(self, now: datetime, half_life_s: float) -> None:
        """Count up to now."""
        self.hours, self.at = dict(self.hours_at(now, half_life_s)), now


class Used(msgspec.Struct, kw_only=True):
    """The use of all users, by project and user as in `nlp/ann`."""

    half_life_s: float = Knobs().usage_half_life_s
    rows: dict[str, UserUse] = {}

    def hold(self, row: str, demand: Resources, sign: int, now: datetime) -> None:
        """From now on this user holds so much more, or less."""
        use = self.rows.setdefault(row, UserUse(at=now))
        if use.at != now:
            use.advance(now, self.half_life_s)
        for kind, amount in demand.items():
            use.held[kind] = use.held.get(kind, 0) + sign * amount
            if not use.held[kind]:
                del use.held[kind]
        self._forget_one(now)

    def change_half_life(self, half_life_s: float, now: datetime) -> None:
        """What was before fades by the old half-life up to now, and by the new one from now on."""
        if half_life_s != self.half_life_s:
            for use in self.rows.values():
                use.advance(now, self.half_life_s)
            self.half_life_s = half_life_s

    def _forget_one(self, now: datetime) -> None:
        """Look at one row, at each change at the next: so none stays for long that says nothing, at a fixed cost."""
        row = next(iter(self.rows))
        use = self.rows.pop(row)
        if use.held or max(use.hours_at(now, self.half_life_s).values(), default=0.0) >= FADED:
            self.rows[row] = use
