"""Traces: jobs as they were, in the order of their time; what is wrong is an error that names its line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.model.errors import BastionError
from bastion.simulate import trace

HEADS = "submit_s,duration_s,gpus,project,user,priority"


def read(*rows: str, heads: str = HEADS) -> list[trace.Arrival]:
    return trace.read([heads, *rows], "gpu")


def test_a_row_is_a_job() -> None:
    (job,) = read("60,7200.5,8,nlp,alice,2")

    assert (job.at - trace.EPOCH, job.work) == (timedelta(seconds=60), (timedelta(seconds=7200.5),))
    assert (job.spec.project, job.spec.user, job.spec.priority) == ("nlp", "alice", 2)
    assert job.spec.demand == {"gpu": 8}


def test_a_project_without_users_has_one_and_no_priority_is_the_usual_one() -> None:
    first, second, other = read("0,1,1,nlp,,", "0,1,1,nlp,,", "0,1,1,vision,,")

    assert (first.spec.user, first.spec.priority) == (second.spec.user, 5)
    assert other.spec.user != first.spec.user


def test_jobs_come_in_the_order_of_their_time_and_then_of_their_lines() -> None:
    assert [job.job for job in read("9,1,1,a,,", "3,1,1,a,,", "9,1,1,b,,", "3,1,1,b,,")] == [
        "line-3",
        "line-5",
        "line-2",
        "line-4",
    ]


def test_columns_may_stand_in_any_order_and_user_and_priority_may_be_missing() -> None:
    (job,) = read("nlp,4,10,20\r\n", heads="project,gpus,submit_s,duration_s\n")

    assert (job.spec.project, job.spec.demand, job.spec.priority) == ("nlp", {"gpu": 4}, 5)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("0,1,1,nlp,", "line 3: has 5 cells; line 1 names 6 columns"),
        ("", "line 3: has 0 cells"),
        ("-1,1,1,nlp,,", "line 3: submit_s is '-1'; use seconds"),
        ("nan,1,1,nlp,,", "line 3: submit_s is 'nan'"),
        ("99999999999,1,1,nlp,,", "line 3: submit_s is '99999999999'"),
        ("0,1e3,1,nlp,,", "line 3: duration_s is '1e3'"),
        ("0,,1,nlp,,", "line 3: duration_s is ''"),
        ("0,1,0,nlp,,", "line 3: resources gpu is 0; use a whole number from 1"),
        ("0,1,1.5,nlp,,", "line 3: gpus is '1.5'; use a whole number"),
        ("0,1,9999999,nlp,,", "line 3: resources gpu is 9999999"),
        ("0,1,1,,,", "line 3: user is ''"),
        ("0,1,1,n/p,,", "line 3: user is 'n/p'"),
        ("0,1,1,nlp,al ice,", "line 3: user is 'al ice'"),
        ("0,1,1,nlp,,9", "line 3: priority is 9; use 1 to 5"),
        ("0,1,1,nlp,,high", "line 3: priority is 'high'"),
        ('0,1,1,"nlp,,', "line 3: is not CSV"),
        ("0,1,1,nlp,," + 1_000 * "x", "line 3: has 1011 characters"),
    ],
)
def test_a_bad_line_is_an_error_that_names_it(row: str, complaint: str) -> None:
    with pytest.raises(BastionError) as caught:
        read("0,1,1,nlp,,", row)

    assert str(caught.value).startswith(complaint)


@pytest.mark.parametrize(
    ("heads", "complaint"),
    [
        ("submit_s,duration_s,gpu,project", "line 1: 'gpu' is not a column of a trace; did you mean gpus?"),
        ("submit_s,duration_s,project", "line 1: lacks gpus; use submit_s,"),
        ("submit_s,duration_s,gpus,project,gpus", "line 1: names gpus more than once"),
        ("", "line 1: lacks submit_s, duration_s, gpus, project"),
    ],
)
def test_the_first_line_names_the_columns(heads: str, complaint: str) -> None:
    with pytest.raises(BastionError) as caught:
        trace.read([heads, "0,1,1,nlp"], "gpu")

    assert str(caught.value).startswith(complaint)


def test_a_trace_has_jobs_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BastionError, match="line 1: the trace has no jobs"):
        trace.read([HEADS], "gpu")

    monkeypatch.setattr(trace, "JOBS_MAX", 2)
    assert len(read("0,1,1,a,,", "0,1,1,a,,")) == 2
    with pytest.raises(BastionError, match="line 4: the trace has more than 2 jobs"):
        read("0,1,1,a,,", "0,1,1,a,,", "0,1,1,a,,")
