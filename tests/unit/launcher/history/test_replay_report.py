"""A replay adds up starts and stops by the events that the journal holds of each answer."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from bastion.launcher.history.replay_report import ReplayReport
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import Moved, Started, Stopping
from bastion.schedule.replay import DecisionDifference

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
AT: Any = {"job": "j-aaaaaaaa", "task": 0, "attempt": 0}


def test_a_move_between_tiers_is_neither_a_start_nor_a_stop() -> None:
    written = (
        Started(runner="local", tier=0, workers=1, **AT),
        Moved(tier=1, **AT),
        Stopping(cause=Cause.PREEMPTED, deadline=NOW, reason="for another", **AT),
    )
    each: Any = SimpleNamespace(difference=DecisionDifference.NONE, now=NOW, written=written, version="1")
    report = ReplayReport(version="1")
    report.take(each, State())
    assert (report.starts, report.stops, report.decisions, report.equal) == (1, 1, 1, 1)
