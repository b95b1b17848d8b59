"""Why pending jobs wait: the bastion's own decision, taken again by the reader on what the journal says. Pure."""

from __future__ import annotations

from collections.abc import Mapping

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
    now = max(view.state.now or view.now, view.now)
    return plan(view.state, inputs(view.state), now)
