"""What `launch why --json` prints is all on its page."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from bastion.launcher.explain.explanation import Explanation, JobEnd, RunningAttempt, WorkerReports
from bastion.launcher.explain.forecast import EndingJob, ExpectedStart
from bastion.launcher.explain.held_back import HeldBack
from bastion.launcher.explain.preemption_risk import ExpectedStop, PreemptionRisk, ShareClaim
from bastion.launcher.explain.preemptions import PreemptedAttempt
from bastion.launcher.explain.queue_position import JobAhead, QueuePosition
from bastion.launcher.explain.remedies import Remedy
from bastion.launcher.explain.reservation import Reservation, TimeOvertaken
from bastion.launcher.explain.start_estimate import StartEstimate
from bastion.launcher.explain.timing import AwaitedEnd, Timing
from bastion.launcher.explain.waiting import Holder, ResourceAmount, WaitingAccount
from bastion.launcher.explain.what_if_decision import DecisionEffect, JobReference
from bastion.schedule.usage import ExcessDemand

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/launch-why.md").read_text()
NAMED = set(re.findall(r"`([a-z_]+)`", PAGE))
"""Every word in code on the page."""

PARTS: list[Any] = [
    Explanation, WaitingAccount, ResourceAmount, QueuePosition, JobAhead, Holder, HeldBack, StartEstimate, DecisionEffect,
    JobReference, ExpectedStart, EndingJob, Remedy, Timing, AwaitedEnd, RunningAttempt, WorkerReports, JobEnd, PreemptedAttempt,
    PreemptionRisk, ExpectedStop, ShareClaim, TimeOvertaken, Reservation, ExcessDemand,
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_each_key_is_on_the_page(part: Any) -> None:
    assert is_dataclass(part)
    assert {field.name for field in fields(part)} - NAMED == set()


@pytest.mark.parametrize("files", [("job_remedies", "admin_remedies", "remedies"), ("held_back",)])
def test_each_word_for_scripts_is_on_the_page(files: tuple[str, ...]) -> None:
    sources = [(ROOT / f"launcher/explain/{name}.py").read_text() for name in files]
    words = {word for source in sources for word in re.findall(r'what="([a-z_]+)"', source)}
    assert words
    assert words - NAMED == set()
