"""A sighting becomes the events that it asks for, once: old news gives nothing, nor does what is not known."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Claimed,
    Ended,
    Exited,
    Gone,
    Started,
    Stopping,
    Submitted,
    Voided,
)
from bastion.model.stored.records import Claim, Facts
from bastion.service.observations import (
    CapacityRead,
    ClaimRead,
    FactsRead,
    Sighting,
    SilentWorker,
    UnreadableObject,
    note,
)
from tests.support.doors import folded
from tests.support.world import NOON, spec

KEY = AttemptKey("j", 0, 0)
J0: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
STARTED: list[AnyEvent] = [
    Submitted(request="r", job="j", spec=spec()),
    Started(**J0, runner="local", tier=0, workers=1),
]
SEEN: list[AnyEvent] = [*STARTED, Claimed(**J0, worker=0, machine="m", address="a", port=7)]
GONE: list[AnyEvent] = [*SEEN, Gone(**J0, worker=0)]
ENDED: list[AnyEvent] = [*GONE, Ended(**J0, cause=Cause.OK, outcome=JobState.SUCCEEDED, reason="")]
CLAIM = ClaimRead(KEY, 0, Claim(machine="m", address="a", port=7, nonce="n"))
VOID = ClaimRead(KEY, 0, Claim(void=True, nonce="n"))
RUNS = FactsRead(KEY, 0, Facts(phase="running", machine="m"))
OK = FactsRead(KEY, 0, Facts(phase="ended", machine="m", cause=Cause.OK, exit_code=0, step=7, message="x" * 9999))
NO_MORE = FactsRead(KEY, 0, None, gone=True)
SILENT = SilentWorker(KEY, 0, 50.0)

CASES: list[tuple[list[AnyEvent], Sighting, list[type]]] = [
    (STARTED, CLAIM, [Claimed]),
    (STARTED, VOID, [Voided]),
    (STARTED, RUNS, []),
    (STARTED, OK, [Exited]),
    (STARTED, SILENT, []),
    (SEEN, CLAIM, []),
    (SEEN, VOID, []),
    (SEEN, RUNS, []),
    (SEEN, OK, [Exited]),
    (SEEN, NO_MORE, [Gone]),
    (SEEN, FactsRead(KEY, 0, OK.facts, gone=True), [Exited, Gone]),
    (SEEN, SILENT, [Stopping]),
    ([*SEEN, Stopping(**J0, cause=Cause.PREEMPTED, deadline=NOON, reason="")], SILENT, []),
    ([*SEEN, Exited(**J0, worker=0, cause=Cause.OK)], SILENT, []),
    ([*STARTED, Voided(**J0, worker=0)], CLAIM, []),
    ([*STARTED, Voided(**J0, worker=0)], OK, []),
    (GONE, OK, []),
    (GONE, NO_MORE, []),
    *((ENDED, old, []) for old in (CLAIM, VOID, OK, NO_MORE, SILENT)),
    *(([], unknown, []) for unknown in (CLAIM, VOID, OK, NO_MORE, SILENT, UnreadableObject("what"))),
]


@pytest.mark.parametrize(("before", "seen", "kinds"), CASES, ids=[str(number) for number in range(len(CASES))])
def test_what_a_sighting_asks_for_and_only_once(before: list[AnyEvent], seen: Sighting, kinds: list[type]) -> None:
    state = folded(*before)
    events = list(note(state, seen, NOON))
    assert [type(event) for event in events] == kinds
    folded(*events, state=state)
    assert list(note(state, seen, NOON)) == []


def test_what_a_worker_says_is_kept_within_bounds() -> None:
    [event] = note(folded(*SEEN), OK, NOON)
    assert isinstance(event, Exited)
    assert (event.cause, event.exit_code, event.step, len(event.message)) == (Cause.OK, 0, 7, 2048)


def test_a_silent_worker_is_stopped_at_once_with_its_reason() -> None:
    [event] = note(folded(*SEEN), SILENT, NOON)
    assert isinstance(event, Stopping)
    assert (event.cause, event.deadline, event.reason) == (Cause.LOST, NOON, "worker 0 has been silent for 50 s")


@pytest.mark.parametrize("holds", [{"v4": 8}, {}, None])
def test_capacity_is_news_once(holds: dict[str, int] | None) -> None:
    state = folded(CapacityChanged(runner="local", resources={"v4": 1}))
    seen = CapacityRead("local", holds)
    events = list(note(state, seen, NOON))
    assert events == [CapacityChanged(runner="local", resources=holds)]
    folded(*events, state=state)
    assert list(note(state, seen, NOON)) == []
    assert list(note(folded(), seen, NOON)) == events
