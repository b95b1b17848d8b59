"""Decayed usage: unit-hours that users held, which count half after every half-life. Pure but for what it changes.

Between two changes of the amount held, the unit-hours u decay and grow at the same time: du/dt = held - u ln 2 / H. So
u(t) = u(0) e^-x + held H / ln 2 (1 - e^-x), with x = t ln 2 / H. The cost of a change does not depend on the time since
the last one.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from math import exp, expm1, log

import msgspec

from bastion.quota.demand import PolicySettings
from bastion.quota.resources import Resources

FADED = 0.001
"""Below this many unit-hours, usage counts as none."""

_HOUR_S = 3600.0


class UserUsage(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One user's usage of one project, by kind of resource.

    at: the time that `hours` are computed for.
    hours: unit-hours, as they counted at that time.
    held: units held since that time.
    """

    at: datetime
    hours: dict[str, float] = {}
    held: dict[str, int] = {}

    def hours_at(self, now: datetime, half_life_s: float) -> Mapping[str, float]:
        """Return the unit-hours as they count now, including those of `held`. Empty without a half-life."""
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
        """Bring `hours` and `at` up to now."""
        self.hours, self.at = dict(self.hours_at(now, half_life_s)), now


class DecayedUsage(msgspec.Struct, kw_only=True):
    """The usage of all users.

    half_life_s: the half-life, in seconds.
    rows: usage by project and user, as in `nlp/ann`.
    """

    half_life_s: float = PolicySettings().usage_half_life_s
    rows: dict[str, UserUsage] = {}

    def hold(self, row: str, demand: Resources, sign: int, now: datetime) -> None:
        """Record that from now on this user holds `demand` more (`sign` +1) or less (-1)."""
        use = self.rows.setdefault(row, UserUsage(at=now))
        if use.at != now:
            use.advance(now, self.half_life_s)
        for kind, amount in demand.items():
            use.held[kind] = use.held.get(kind, 0) + sign * amount
            if not use.held[kind]:
                del use.held[kind]
        self._forget_one(now)

    def change_half_life(self, half_life_s: float, now: datetime) -> None:
        """Change the half-life from now on. Usage up to now decays by the old one."""
        if half_life_s != self.half_life_s:
            for use in self.rows.values():
                use.advance(now, self.half_life_s)
            self.half_life_s = half_life_s

    def _forget_one(self, now: datetime) -> None:
        """Check one row and remove it if its usage has faded and nothing is held.

        Each change checks the next row. So no empty row stays for long, at a fixed cost.
        """
        row = next(iter(self.rows))
        use = self.rows.pop(row)
        if use.held or max(use.hours_at(now, self.half_life_s).values(), default=0.0) >= FADED:
            self.rows[row] = use  # back at the end, so that the next change checks another row
