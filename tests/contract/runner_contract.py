"""The suite under the name that it had before it was installed."""

from __future__ import annotations

from bastion_testing.runner_contract import RunnerContract
from bastion_testing.stage import (
    COUNTS,
    CRASH,
    ENVIRONMENT,
    FAIL,
    HELLO,
    KEY,
    LOST_FOR_GOOD,
    OTHER,
    PROGRAMS,
    REPORTS,
    SAVES,
    SAVES_AND_IS_DONE,
    STUBBORN,
    WAIT,
    Fleet,
    Stage,
    order,
    placement,
)

__all__ = [
    "COUNTS",
    "CRASH",
    "ENVIRONMENT",
    "FAIL",
    "HELLO",
    "KEY",
    "LOST_FOR_GOOD",
    "OTHER",
    "PROGRAMS",
    "REPORTS",
    "SAVES",
    "SAVES_AND_IS_DONE",
    "STUBBORN",
    "WAIT",
    "Fleet",
    "RunnerContract",
    "Stage",
    "order",
    "placement",
]
