"""What counts as an end that could have come without a crash, and what does not."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

import pytest

from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState
from tests.simulation.crashes.outcome import Log, Outcome
from tests.simulation.crashes.relation import complaints, could, leftovers, logs

C = Cause
KEY = AttemptKey("train-00000001", 0, 0)
TASK = KEY.job, KEY.task
CALM = Outcome(
    requests=[("ann/1", "Submitted", KEY.job), ("ann/2", "CancelRequested", KEY.job)],
    tasks={TASK: JobState.CANCELLED},
    causes={TASK: [Cause.CANCELLED]},
    began={KEY},
    files={"quota": ("text", "")},
    keys=[layout.order(KEY), layout.claim(KEY, 0), layout.journal(0)],
)


@pytest.mark.parametrize(
    ("was", "came", "spare", "possible"),
    [
        ([C.OK], [C.OK], 0, True),
        ([C.OK], [C.LOST, C.OK], 1, True),
        ([C.OK], [C.VOID, C.OK], 1, True),
        ([C.CODE, C.OK], [C.LOST, C.OK], 1, True),
        ([C.CODE, C.OK], [C.CODE, C.LOST, C.OK], 1, True),
        ([C.CANCELLED], [C.LOST], 1, True),
        ([C.OK], [C.LOST, C.LOST, C.OK], 2, True),
        ([C.OK], [C.LOST, C.OK], 0, False),
        ([C.OK], [C.LOST, C.LOST, C.OK], 1, False),
        ([C.OK], [C.CODE, C.OK], 1, False),
        ([C.CODE, C.OK], [C.OK], 1, False),
        ([C.CODE, C.OK], [C.OK, C.CODE], 1, False),
        ([C.OK], [], 1, False),
        ([], [C.OK], 1, False),
        ([], [], 0, True),
    ],
)
def test_only_so_many_attempts_may_be_lost(was: list[Cause], came: list[Cause], spare: int, possible: bool) -> None:
    assert could(was, came, spare) is possible


def forget_a_request(found: Outcome) -> None:
    del found.requests[1]


def repeat_a_request(found: Outcome) -> None:
    found.requests.append(found.requests[1])


def reject_a_request(found: Outcome) -> None:
    found.requests[1] = ("ann/2", "RequestRejected", KEY.job)


def change_the_order(found: Outcome) -> None:
    found.requests.reverse()


def end_otherwise(found: Outcome) -> None:
    found.tasks[TASK] = JobState.SUCCEEDED


def lose_a_job(found: Outcome) -> None:
    del found.tasks[TASK]


def run_it_again(found: Outcome) -> None:
    found.causes[TASK] = [Cause.CODE, Cause.CANCELLED]


def fall_back_to_an_older_quota(found: Outcome) -> None:
    found.files["quota"] = ("older", "")


def hold(found: Outcome) -> None:
    found.held.add(KEY.job)


def pause(found: Outcome) -> None:
    found.paused = True


def see_a_problem(found: Outcome) -> None:
    found.problems.append("tick: KeyError")


def forget_a_job(found: Outcome) -> None:
    found.forgotten.add(KEY.job)


def leave(key: str) -> Callable[[Outcome], None]:
    return lambda found: found.keys.append(key)


def leave_a_machine(found: Outcome) -> None:
    found.machines.append("m-1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (forget_a_request, "requests became"),
        (repeat_a_request, "request ann/2 had 2 effects"),
        (reject_a_request, "requests became"),
        (change_the_order, "requests became"),
        (end_otherwise, "tasks stand"),
        (lose_a_job, "tasks stand"),
        (run_it_again, "the attempts of"),
        (fall_back_to_an_older_quota, "files in force"),
        (hold, "jobs are held"),
        (pause, "it is paused"),
        (see_a_problem, "problems are shown"),
        (forget_a_job, "jobs were forgotten"),
        (leave_a_machine, "machine m-1 is left"),
        (leave(layout.request("ann", "3")), "is left"),
        (leave(layout.beat(KEY, 0)), "is left"),
        (leave(layout.facts(KEY, 0)), "is left"),
        (leave(layout.claim(AttemptKey(KEY.job, 0, 1), 0)), "of no attempt that anybody knows"),
        (leave(layout.order(AttemptKey("nobody-00000000", 0, 0))), "of no attempt that anybody knows"),
    ],
)
def test_every_other_end_is_told(change: Callable[[Outcome], None], told: str) -> None:
    found = deepcopy(CALM)
    assert list(complaints(CALM, found, spare=1, client_fell=False)) == []
    change(found)
    assert any(told in complaint for complaint in complaints(CALM, found, spare=1, client_fell=False))


def test_requests_of_a_client_that_fell_may_come_in_another_order() -> None:
    found = deepcopy(CALM)
    found.requests.reverse()
    assert list(complaints(CALM, found, spare=0, client_fell=True)) == []


def test_nothing_of_a_job_that_left_is_kept() -> None:
    found = deepcopy(CALM)
    found.forgotten.add(KEY.job)
    assert len(list(leftovers(found))) == 2


@pytest.mark.parametrize(
    ("log", "fell", "good"),
    [
        (Log("line 0\nline 1\n", ended=True), False, True),
        (Log("line 0\nline 1\n[bastion] the worker fell\n", ended=True), False, True),
        (Log("line 0\nline 1\n"), False, False),
        (Log("line 0\n", ended=True), False, False),
        (None, False, False),
        (Log("line 0\nli"), True, True),
        (None, True, True),
        (Log("line 0\nline 0\nline 1\n", ended=True), True, False),
        (Log("line 1\n"), True, False),
        (Log("line 0\n", gaps=True), True, False),
    ],
)
def test_a_log_is_whole_unless_its_machine_fell(log: Log | None, fell: bool, good: bool) -> None:
    named = KEY, 0
    found = Outcome(logs={named: log} if log else {})
    assert (list(logs(found, {named: "line 0\nline 1\n"}, {named} if fell else set())) == []) is good
