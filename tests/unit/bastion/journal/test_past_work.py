"""The work of each project, as the fold of a journal keeps it, is what a recount of its attempts says."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.journal.fold import apply
from bastion.model.codec import decode, encode, readable
from bastion.model.errors import IllegalMove
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import AnyEvent, Decided, Ended, Started, Submitted, Topped, Updated, Voided
from bastion.quota.demand import CLASSES, OVERTAKEN
from bastion.quota.project_work import moment, rank_number
from tests.depth import examples
from tests.support.world import NOON, spec

readable(State)

LAW = settings(max_examples=examples(60), derandomize=True, deadline=None)
S = 1_000_000
JOBS = 3
Row = tuple[str, str, int, int, int]  # project, kind, rank, place, start


class Recount:
    """What each attempt that lives used of each kind, summed up from one event to the next."""

    def __init__(self) -> None:
        self.used: Counter[Row] = Counter()
        self.begun = False
        self._now = NOON

    def passes(self, state: State, seconds: int) -> None:
        """So much time goes by before the next event."""
        if self.begun:
            for key, job, attempt in state.live_attempts():
                rank = rank_number(CLASSES.index(job.job_class), job.priority)
                entered = state.jobs[key.job].entered
                for kind, amount in job.demand.items():
                    row = job.project, kind, rank, entered, moment(attempt.started)
                    self.used[row] += amount * seconds * S

    def sums(self, project: str, kind: str, rank: int) -> tuple[Counter[int], Counter[int]]:
        """By place in the journal, and by start."""
        orders, starts = Counter[int](), Counter[int]()
        for (name, what, number, order, start), amount in self.used.items():
            if (name, what, number) == (project, kind, rank):
                orders[order] += amount
                starts[start] += amount
        return orders, starts


_Op = tuple[str, int, int, int]
_ops = st.tuples(
    st.sampled_from("start start start end end rank top snapshot decide older".split()),
    st.integers(0, JOBS - 1),
    st.integers(0, 3),
    st.integers(0, 500),
)


def event(state: State, op: _Op, request: str) -> list[AnyEvent]:
    """What happens to a task of a job."""
    what, number, task, _ = op
    name = f"j{number}"
    known = state.jobs[name].tasks.get(task)
    at: dict[str, Any] = {"job": name, "task": task}
    match what:
        case "start":
            count = len(known.attempts) if known else 0
            return [Started(**at, attempt=count, runner="local", tier=0, workers=1)]
        case "end":
            at["attempt"] = len(known.attempts) - 1 if known else 0
            return [Voided(**at, worker=0), Ended(**at, cause=Cause.VOID, outcome=JobState.PENDING, reason="")]
        case "rank":
            return [Updated(request=request, user="u", job=name, changes=Changes(priority=1 + task))]
        case "top":
            return [Topped(request=request, user="u", job=name)]
        case "decide":
            return [Decided(rules=OVERTAKEN)]
    return [Decided(rules=OVERTAKEN - 1)] if what == "older" else []


def submitted() -> State:
    state = State(now=NOON)
    for number in range(JOBS):
        wish = spec(project=f"p{number % 2}", resources={"v4": 1 + number, "cpu": 1 + number}, count=4)
        apply(state, Submitted(request=f"r{number}", job=f"j{number}", spec=wish), 0, number)
    return state


@LAW
@given(st.lists(_ops, max_size=60))
def test_it_is_a_recount_of_all_attempts_since_the_first_decision_that_needs_it(ops: list[_Op]) -> None:
    """Through changes of rank and place, snapshots, and decisions of older rules, after which it begins anew."""
    state, recount, seconds = submitted(), Recount(), 0
    for number, op in enumerate(ops):
        seconds += op[-1]
        recount.passes(state, op[-1])
        state.now = NOON + timedelta(seconds=seconds)
        for each in event(state, op, f"x{number}"):
            try:
                apply(state, each, 1 + number, 0)
            except IllegalMove:
                break
        if op[0] == "snapshot":
            state = decode(encode(state), State, "state")
        if op[0] == "older" or (op[0] == "decide" and not recount.begun):
            recount = Recount()
            recount.begun = op[0] == "decide"
    recount.passes(state, 60)
    agree(state, recount, moment(NOON + timedelta(seconds=seconds + 60)))


def agree(state: State, recount: Recount, now: int) -> None:
    assert (state.work is not None) == recount.begun
    live = Counter[tuple[str, str]]()
    for _, job, _ in state.live_attempts():
        live.update({(job.project, kind): amount for kind, amount in job.demand.items()})
    for project, work in (state.work or {}).items():
        for kind, kept in work.kinds.items():
            assert kept.held == live[project, kind]
            assert kept.used(now) == sum(n for row, n in recount.used.items() if row[:2] == (project, kind))
            assert kept.orders.keys() == kept.starts.keys()
            for rank in kept.orders:
                orders, starts = recount.sums(project, kind, rank)
                for tables, sums in ((kept.orders, orders), (kept.starts, starts)):
                    for key in (-1, *sums):
                        assert tables[rank].after(key, now) == sum(n for other, n in sums.items() if other > key)
    known = {(project, kind) for project, work in (state.work or {}).items() for kind in work.kinds}
    assert {row[:2] for row, amount in recount.used.items() if amount} <= known


@pytest.mark.parametrize("at", range(6))
def test_it_begins_with_the_decision_and_not_with_the_snapshot(at: int) -> None:
    """Whatever snapshot a fold begins from, also one of a version that kept no work."""
    ops = [("start", 0, 0, 9), ("start", 1, 0, 60), ("decide", 0, 0, 60), ("start", 2, 0, 60), ("end", 0, 0, 60)]
    one, other = submitted(), submitted()
    for number, op in enumerate([*ops, ("decide", 0, 0, 60)]):
        if number == at:
            other = decode(encode(other), State, "state")
        for state in (one, other):
            state.now = NOON + timedelta(minutes=number)
            for each in event(state, op, f"x{number}"):
                apply(state, each, 1 + number, 0)
    assert encode(one) == encode(other)
    assert one.work is not None
    kept = one.work["p0"].kinds["v4"]
    assert kept.used(moment(NOON + timedelta(minutes=4))) == (2 * 1 + 1 * 3) * 60 * S, "from minute 2 on"


def test_an_older_version_and_its_snapshots_do_not_change_it() -> None:
    """An older version keeps no work, and decides by older rules. After it the work begins anew for everybody."""
    ops = [("decide", 0, 0, 0), ("start", 0, 0, 0), ("older", 0, 0, 0), ("start", 1, 0, 0), ("decide", 0, 0, 0)]
    one, other = submitted(), submitted()
    for number, op in enumerate(ops):
        for state in (one, other):
            state.now = NOON + timedelta(minutes=number)
            for each in event(state, op, f"x{number}"):
                apply(state, each, 1 + number, 0)
        if op[0] == "older":
            other.work = None  # as its snapshot says
    assert encode(one) == encode(other)
    assert one.work is not None
    assert one.work["p0"].kinds["v4"].used(moment(NOON + timedelta(minutes=5))) == 60 * S
