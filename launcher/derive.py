"""Why pending jobs wait: the bastion's own decision, taken again by the reader on what the journal says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from bastion.plan import Plan, inputs, plan
from launcher.view import View
from quota.claims import Schedule


def derived(view: View) -> Mapping[str, str]:
    """One line for each pending job that the bastion has read, by the job's id."""
    return decided(view).reasons


def decided(view: View) -> Plan:
    """The decision itself; nothing to decide if nothing waits."""
    if not view.state.pending:
        return Plan(schedule=Schedule())
    return plan(view.state, inputs(view.state), decided_at(view))


def decided_at(view: View) -> datetime:
    """The moment of that decision: now, but for a journal that is ahead of this clock."""
    return max(view.state.now or view.now, view.now)
