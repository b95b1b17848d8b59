"""The inbox: nobody hides others, order is the store's, every refusal says why, and who comes twice is known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BucketError
from bastion.model.interfaces import Stat
from bastion.model.job.spec import JobSpec
from bastion.model.settings.config import Config
from bastion.model.state.state import State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    JobRejected,
    RequestRejected,
    Submitted,
)
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Cancel, Hold, Release, Request, Submit, Top
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.schedule.plan import DecisionInputs
from bastion.service import request_reader
from bastion.service.received_request import ReceivedRequest
from bastion.service.request_handler import RequestHandler
from bastion.service.request_reader import PASSES_MAX, READS_MAX, RequestsRead, SortedRequests, in_order, sort
from tests.support.doors import FaultyBucket, fails, folded, memory
from tests.support.world import NOON, spec

QUOTA = parse("""
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
red = ["alice"]
blue = ["bob"]
[project_resources.red]
v4 = 0.5
""")
OPEN = DecisionInputs(quota=Quota.open(), config=Config(admins=["root"]))


def stat(user: str, number: int, at: float = 0.0) -> Stat:
    return Stat(layout.request(user, f"{number:032}"), "1", 10, NOON + timedelta(seconds=at))


def received(request: Request, user: str = "alice", request_id: str = "r" * 32) -> ReceivedRequest:
    return ReceivedRequest(layout.request(user, request_id), user, request_id, request)


def judged(
    found: ReceivedRequest, state: State | None = None, inputs: DecisionInputs = OPEN, *, all_read: bool = True
) -> Any:
    state = state or folded()
    return RequestHandler(state, inputs).event(found, all_read=all_read)


# Which are read


def test_one_of_many_users_is_not_hidden_by_a_flood() -> None:
    listing = [stat("aaron", number) for number in range(5_000)] + [stat("zoe", 0, at=99)]
    inbox = sort(State(), listing, {})
    assert len(inbox.read) == READS_MAX
    assert len(inbox.later) == 5_001 - READS_MAX
    assert listing[-1] in inbox.read


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 1500), min_size=1))
def test_each_user_gets_an_equal_part_while_there_is_more_than_can_be_read(numbers: dict[str, int]) -> None:
    inbox = sort(State(), [stat(user, n) for user, number in numbers.items() for n in range(number)], {})
    read = {user: sum(found.key.startswith(f"inbox/{user}/") for found in inbox.read) for user in numbers}
    assert sum(read.values()) == min(READS_MAX, sum(numbers.values()))
    short = [user for user in numbers if read[user] < numbers[user]]
    for user in short:
        assert all(read[user] >= read[other] - 1 for other in numbers)


def test_the_oldest_are_read_first_by_the_clock_of_the_store() -> None:
    listing = [stat("a", 0, at=3), stat("a", 1, at=1), stat("b", 0, at=2)]
    assert [found.modified for found in sort(State(), listing, {}).read] == [
        NOON + timedelta(seconds=seconds) for seconds in (1, 2, 3)
    ]


def test_what_is_known_is_to_be_removed_and_not_read() -> None:
    state = folded(RequestRejected(request=f"a/{0:032}", user="a", reason="why"))
    inbox = sort(state, [stat("a", 0), stat("a", 1)], {})
    assert inbox.known == (stat("a", 0).key,)
    assert [found.key for found in inbox.read] == [stat("a", 1).key]
    assert inbox.names == {f"a/{0:032}", f"a/{1:032}"}


def test_an_id_that_another_user_took_is_no_known_request() -> None:
    state = folded(RequestRejected(request=f"eve/{0:032}", user="eve", reason="why"))
    assert [found.key for found in sort(state, [stat("alice", 0)], {}).read] == [stat("alice", 0).key]


def test_what_waits_for_others_is_not_read_again() -> None:
    found = received(Cancel(job="j-1"))
    inbox = sort(State(), [Stat(found.key, "1", 10, NOON), stat("a", 1)], {found.key: found})
    assert inbox.kept == (found,)
    assert [other.key for other in inbox.read] == [stat("a", 1).key]
    assert sort(State(), [stat("a", 1)], {found.key: found}).kept == (), "it was removed"


# Reading


@pytest.mark.parametrize(
    ("key", "data", "problem"),
    [
        ("inbox/x.json", b"{}", "the request's key is not inbox/<user>/<request id>.json"),
        ("inbox/a/b/c.json", b"{}", "the request's key is not"),
        ("inbox/a/x.txt", b"{}", "the request's key is not"),
        ("inbox/a b/x.json", b"{}", "the request's key is not"),
        ("inbox/a/x-y.json", b"{}", "the request's key is not"),
        ("inbox/a/é.json", b"{}", "the request's key is not"),
        (f"inbox/a/{'x' * 65}.json", b"{}", "the request's key is not"),
        ("inbox/a/x.json", b"\xff", "cannot be read"),
        ("inbox/a/x.json", b'{"kind": "submit", "spec": {"priority": "high"}}', "priority"),
        ("inbox/a/x.json", b" " * (REQUEST_BYTES_MAX + 1), "at most"),
    ],
)
def test_what_is_no_request_is_a_letter_that_says_so(key: str, data: bytes, problem: str) -> None:
    bucket = memory()
    bucket.create(key, data)
    [listed] = bucket.list("inbox/")
    found = request_reader.read(bucket, listed)
    assert found is not None
    assert found.request is None
    assert problem in found.problem
    refused = judged(found)
    assert isinstance(refused, RequestRejected if problem.startswith("the request's key") else JobRejected)
    assert sort(folded(refused), [listed], {}).known == (key,)


def test_a_request_of_50_mb_is_not_even_fetched() -> None:
    bucket = FaultyBucket()
    found = request_reader.read(bucket, Stat("inbox/a/x.json", "1", 50_000_000, NOON))
    assert found is not None
    assert "50000000 bytes" in found.problem
    assert bucket.calls == []


def test_a_request_that_is_gone_is_none_and_a_store_that_fails_is_an_error() -> None:
    assert request_reader.read(memory(), stat("a", 0)) is None
    with pytest.raises(BucketError):
        request_reader.read(FaultyBucket(faults=[fails]), stat("a", 0))


# Judging


def test_a_good_submit_becomes_a_job() -> None:
    event = judged(received(Submit(spec=spec())))
    assert event == Submitted(request="alice/" + "r" * 32, job="j-rrrrrrrr", spec=spec())


@pytest.mark.parametrize(("waited_s", "kept_s"), [(5, None), (-900, None), (3600, 3600), (10**8, 30 * 86_400)])
def test_what_waited_for_long_keeps_the_time_of_its_request_and_not_one_that_somebody_made_up(
    waited_s: int, kept_s: int | None
) -> None:
    state = folded()
    state.now = NOON
    asked = replace(received(Submit(spec=spec())), stored=NOON - timedelta(seconds=waited_s))
    at = judged(asked, state).at
    assert at == (None if kept_s is None else NOON - timedelta(seconds=kept_s))


def _rejected(wanted: JobSpec, *before: AnyEvent, quota: Quota | None = QUOTA, user: str = "alice") -> AnyEvent:
    state = folded(CapacityChanged(runner="local", resources={"v4": 8}), *before)
    event: AnyEvent = judged(received(Submit(spec=wanted), user), state, DecisionInputs(quota=quota, config=Config()))
    return event


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (spec(project="blue", resources={"v4": 1}), "not a member of blue (alice belongs to red)"),
        (spec(project="rde", resources={"v4": 1}), "did you mean red"),
        (spec(project="red", resources={"V4": 1}), "this fleet has no V4; it has v4="),
        (spec(project="red", resources={"v4": 9}), "v4=9 is more than the fleet has, v4=8"),
        (spec(project="red", resources={"v4": 4}, replicas=3), "v4=12 is more than the fleet has"),
    ],
)
def test_a_job_that_may_not_enter_is_rejected_with_its_reason(wanted: JobSpec, reason: str) -> None:
    event = _rejected(wanted)
    assert isinstance(event, JobRejected)
    assert reason in event.reason


def test_the_user_is_the_path_whatever_the_spec_says() -> None:
    event = _rejected(spec(user="alice", project="red"), user="eve")
    assert isinstance(event, RequestRejected)
    assert event.reason == "the spec names the user alice, but is in the inbox of eve"


def test_a_job_id_is_never_given_twice() -> None:
    one = _rejected(spec(project="red", resources={"v4": 1}))
    assert isinstance(one, Submitted)
    other = received(Submit(spec=spec(project="red", resources={"v4": 1})), request_id="r" * 8 + "s" * 24)
    event = judged(other, folded(one))
    assert isinstance(event, RequestRejected)
    assert "already" in event.reason


def test_nothing_is_said_of_a_quota_that_is_not_known() -> None:
    assert isinstance(_rejected(spec(project="any", resources={"v4": 1}), quota=None), Submitted)


def test_a_pool_that_nobody_has_reported_refuses_nobody() -> None:
    event = judged(received(Submit(spec=spec(resources={"v4": 10**6}))), State(now=NOON))
    assert isinstance(event, Submitted)


JOB = Submitted(request="alice/x", job="j-1", spec=spec(count=3))


@pytest.mark.parametrize("user", ["alice", "root"])
@pytest.mark.parametrize("task", [None, 0, 2])
def test_owners_and_admins_cancel(user: str, task: int | None) -> None:
    event = judged(received(Cancel(job="j-1", task=task), user), folded(JOB))
    assert event == CancelRequested(request=f"{user}/{'r' * 32}", user=user, job="j-1", task=task)


@pytest.mark.parametrize(
    ("cancel", "user", "reason"),
    [
        (Cancel(job="j-1"), "eve", "job j-1 belongs to alice; only alice and admins may stop it"),
        (Cancel(job="j-1", task=3), "alice", "job j-1 has 3 tasks, and no task 3"),
        (Cancel(job="j-1", task=-1), "alice", "no task -1"),
        (Cancel(job="j-2"), "alice", "there is no job j-2"),
    ],
)
def test_a_cancel_that_has_no_effect_says_why(cancel: Cancel, user: str, reason: str) -> None:
    event = judged(received(cancel, user), folded(JOB))
    assert isinstance(event, RequestRejected)
    assert reason in event.reason
    assert event.job == cancel.job


def test_the_longest_job_id_is_named_in_full() -> None:
    long = f"{'n' * 63}-{'r' * 8}"
    event = judged(received(Cancel(job=long)))
    assert event.reason == f"there is no job {long}"


def test_a_cancel_of_an_unknown_job_waits_until_all_others_are_read() -> None:
    cancel = received(Cancel(job="j-1"))
    assert judged(cancel, all_read=False) is None
    assert isinstance(judged(cancel, folded(JOB), all_read=False), CancelRequested)
    assert isinstance(judged(cancel, all_read=True), RequestRejected)


def test_a_request_that_comes_twice_has_one_effect() -> None:
    found = received(Submit(spec=spec()))
    state = folded(judged(found))
    assert judged(found, state) is None


def read_of(*found: ReceivedRequest | Exception, kept: tuple[ReceivedRequest, ...] = ()) -> RequestsRead:
    """What comes of a listing in which these were read, each a second after the one before."""
    stats = [
        Stat(one.key, "1", 1, one.stored)
        if isinstance(one, ReceivedRequest)
        else stat("alice", 500 + number, at=number)
        for number, one in enumerate(found)
    ]
    inbox = SortedRequests(read=tuple(stats), later=(), known=(), names=frozenset(), kept=kept)
    return in_order(inbox, found)


def stored(request: Request | None, number: int, user: str = "alice") -> ReceivedRequest:
    """A received that was stored this many seconds after noon."""
    request_id = f"{number:03}"
    return ReceivedRequest(
        layout.request(user, request_id), user, request_id, request, "", NOON + timedelta(seconds=number)
    )


def ids(letters: Iterable[ReceivedRequest]) -> list[str]:
    return [found.id for found in letters]


def test_submissions_go_before_all_else_and_otherwise_the_oldest() -> None:
    submit = Submit(spec=spec())
    found = [stored(Cancel(job="j-1"), 1), stored(submit, 2), stored(None, 3), stored(submit, 4)]
    read = read_of(*found, kept=(stored(Hold(job="j-1"), 0), stored(Release(job="j-1"), 5)))
    assert (ids(read.now), read.later) == (["002", "004", "000", "001", "003", "005"], ())


def test_what_a_user_asks_after_what_cannot_be_read_waits_for_it_but_for_an_end() -> None:
    error = BucketError("no answer")
    found = [
        stored(Hold(job="j"), 0), error, stored(Release(job="j"), 2), stored(Cancel(job="j"), 3),
        stored(Submit(spec=spec()), 4), stored(Release(job="j"), 5, user="bob"),
    ]  # fmt: skip
    read = read_of(*found, kept=(stored(Top(job="j"), 6),))
    assert ids(read.now) == ["004", "000", "003", "005"]
    assert (ids(read.later), read.failed) == (["002", "006"], (error,))


def test_of_what_takes_a_pass_over_the_queue_only_some_is_done_in_one_tick() -> None:
    read = read_of(*(stored(Top(job="j-1"), number) for number in range(100)), stored(Cancel(job="j-1"), 100))
    assert ids(read.now) == [*(f"{number:03}" for number in range(PASSES_MAX)), "100"]
    assert ids(read.later) == [f"{number:03}" for number in range(PASSES_MAX, 100)]


def test_a_letter_of_a_newer_client_says_upgrade() -> None:
    bucket = memory()
    bucket.create(stat("a", 0).key, encode({"schema": 2, "kind": "hold", "job": "j"}))
    [listed] = bucket.list("inbox/")
    found = request_reader.read(bucket, listed)
    assert found is not None
    assert "upgrade" in found.problem
