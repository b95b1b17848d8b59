"""What the schedule says of the state, and which events leave it as it was."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime

from bastion.journal.fold import apply
from bastion.model.job.spec import new_jobspec
from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Claimed,
    Exited,
    Gone,
    Illegal,
    JobRejected,
    RequestRejected,
    RequestsDropped,
    Saved,
    Started,
    Submitted,
    Voided,
    Waiting,
)
from bastion.quota.demand import PolicySettings
from bastion.quota.quota import Quota
from bastion.schedule.plan import INDIFFERENT, DecisionInputs, plan, policy_settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
INPUTS = DecisionInputs(quota=Quota.open(), config=Config())


def submitted(name: str, *, v4: int, **fields: int) -> Submitted:
    spec = new_jobspec(name=name, user="ann", project="p", command="true", resources={"v4": v4}, **fields)
    return Submitted(request=name, job=name, spec=spec)


BEFORE: tuple[AnyEvent, ...] = (
    CapacityChanged(runner="local", resources={"v4": 6}),
    submitted("gang", v4=2, replicas=2),
    submitted("next", v4=3),
    submitted("small", v4=1, count=3),
    Started(job="gang", task=0, attempt=0, runner="local", tier=0, workers=2),
    Started(job="small", task=0, attempt=0, runner="local", tier=0, workers=1),
)

LATER: tuple[AnyEvent, ...] = (
    Waiting(job="gang", task=0, attempt=0, reason="v4-16 (spot) is queued in us-central2-b"),
    Claimed(job="small", task=0, attempt=0, worker=0, machine="m-1"),
    Claimed(job="gang", task=0, attempt=0, worker=0, machine="m-0"),
    Saved(job="small", task=0, attempt=0, at=NOW, every_s=600.0),
    Exited(job="gang", task=0, attempt=0, worker=0, cause=Cause.CODE, exit_code=1),
    Gone(job="gang", task=0, attempt=0, worker=0),
    Voided(job="gang", task=0, attempt=0, worker=1),
    JobRejected(request="r", job="bad", name="bad", user="ann", project="p", reason="no"),
    RequestRejected(request="s", user="ann", reason="no"),
    RequestsDropped(user="ann", count=3, reason="no"),
    Illegal(what="nothing"),
)


def test_every_setting_of_the_policy_is_the_one_of_its_name() -> None:
    names = [
        setting.name.removesuffix("_s") for setting in dataclasses.fields(PolicySettings) if setting.name != "rules"
    ]
    settings = {name: 1.0 + n for n, name in enumerate(names)}
    found = dataclasses.asdict(policy_settings(Config(**settings), rules=1))
    assert found == {f"{name}_s": value for name, value in settings.items()} | {"rules": 1}
    assert policy_settings(Config()) == PolicySettings()


def test_an_event_that_is_indifferent_changes_no_word_of_the_answer() -> None:
    assert {type(event) for event in LATER} == set(INDIFFERENT)
    state = State(now=NOW)
    for event in BEFORE:
        apply(state, event, 0, 0)
    before = plan(state, INPUTS, NOW)
    assert [start.job for start in before.schedule.starts] == ["small"]
    for event in LATER:
        apply(state, event, 1, 0)
        assert plan(state, INPUTS, NOW) == before
