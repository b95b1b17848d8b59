"""Whoever asks for too much is told so, is in nobody's way, and costs bounded memory and a bounded journal."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import msgspec
import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import RecordError
from bastion.model.interfaces import Stat
from bastion.model.settings import config
from bastion.model.settings.tables import UserLimits
from bastion.model.settings.user_limits import RequestCounters, too_much
from bastion.model.state.state import Cause, JobState, State
from bastion.model.state.user_counters import UserCounters
from bastion.model.stored.events import (
    Exited,
    FileBroken,
    JobRejected,
    RequestRejected,
    RequestsDropped,
    SightChanged,
    Submitted,
)
from bastion.model.stored.records import Facts
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Submit
from bastion.model.wording import TEXT_BYTES_MAX
from bastion.schedule.lifecycle import KEEP_REQUESTS, forget
from bastion.service import request_reader
from bastion.service.request_queue import REFUSALS_MAX, WAITING_BYTES_MAX
from tests.support.doors import FaultyBucket, fails, folded
from tests.support.town import Town
from tests.support.world import NOON, spec

S = JobState
TEXTS = {"reason", "message", "problem", "why", "what"}


def limited(**most: int) -> Town:
    """A town whose settings say so."""
    lines = [f"{name} = {number}" for name, number in most.items()]
    return Town((layout.CONFIG, "\n".join(['admins = ["root"]', "[limits]", *lines, ""])))


def refusals(town: Town) -> list[str]:
    return [event.reason for event in town.journal() if isinstance(event, JobRejected)]


def dropped(town: Town) -> Counter[str]:
    found = Counter[str]()
    for event in town.journal():
        if isinstance(event, RequestsDropped):
            found[event.user] += event.count
    return found


# What a user may have


def test_a_user_has_so_many_jobs_that_have_not_ended_and_others_are_not_touched() -> None:
    town = limited(jobs_per_user=3)
    for _ in range(5):
        town.submits(user="ann")
    bob = town.submits(user="bob")
    town.ticks(2)
    told = refusals(town)
    assert len(told) == 2
    assert told[0] == (
        "ann has 3 jobs that have not ended, and at most 3 are allowed (limits.jobs_per_user); wait until some have "
        "ended, or ask an admin of the bastion for more"
    )
    assert not town.job(bob).ended


def test_whose_jobs_have_ended_may_have_more() -> None:
    town = limited(jobs_per_user=1)
    first = town.submits(user="ann")
    town.ticks(1)
    town.cancels(first, user="ann")
    town.ticks(3)
    assert town.job(first).state is S.CANCELLED
    second = town.submits(user="ann")
    town.ticks(1)
    assert not town.job(second).ended


def test_all_together_have_so_many_jobs() -> None:
    town = limited(jobs=2)
    for user in ("ann", "bob", "cyd"):
        town.submits(user=user)
    town.ticks(1)
    assert ["all users have 2 jobs" in reason for reason in refusals(town)] == [True]


def test_an_array_counts_with_all_its_tasks() -> None:
    town = limited(tasks_per_user=10)
    town.submits(user="ann", count=8)
    town.ticks(1)
    town.submits(user="ann", count=3)
    town.submits(user="bob", count=10)
    town.ticks(1)
    assert ["ann has 8 tasks" in reason for reason in refusals(town)] == [True]


def test_what_a_restarted_bastion_counts_is_what_it_counted_before() -> None:
    town = limited(jobs_per_user=2, requests_per_user=4)
    for _ in range(2):
        town.submits(user="ann")
    town.ticks(1)
    town.bastion = town.begin()
    town.submits(user="ann")
    town.ticks(1)
    assert len(refusals(town)) == 1
    town.bastion = town.begin()
    for _ in range(2):
        town.submits(user="ann")
    town.ticks(1)
    assert len(refusals(town)) == 2
    assert dropped(town) == {"ann": 1}


@pytest.mark.parametrize("wrong", ["jobs = 0", "tasks = 10000001", "pending = 3", 'jobs = "many"'])
def test_limits_that_make_no_sense_are_refused(wrong: str) -> None:
    with pytest.raises(RecordError, match="limits"):
        config.parse(f"[limits]\n{wrong}\n")


def test_the_defaults_let_a_hundred_thousand_jobs_wait() -> None:
    census = UserCounters()
    for number in range(100_000):
        assert too_much(census, f"u{number % 5}", 1, UserLimits()) == ""
        census.enter(f"u{number % 5}", 1)
    assert "u0 has 20000 jobs" in too_much(census, "u0", 1, UserLimits())


# What a user may send


def test_who_sends_too_much_a_day_is_dropped_in_one_event_a_tick_and_remembered_by_nobody() -> None:
    town = limited(requests_per_user=3)
    for _ in range(50):
        town.submits(user="eve")
    zoe = town.submits(user="zoe")
    town.ticks(1)
    assert dropped(town) == {"eve": 47}
    assert [event.count for event in town.journal() if isinstance(event, RequestsDropped)] == [47]
    assert len(town.bastion.journal.state.requests) == 4
    assert town.job(zoe)
    town.ticks(8)
    assert town.inbox() == []
    (told,) = (problem for problem in town.status().problems if problem.startswith("limits: "))
    assert told == (
        "limits: eve has sent 3 requests today, and at most 3 are read (limits.requests_per_user); the count begins again at "
        f"{NOON + timedelta(days=1):%Y-%m-%d}T00:00Z; until then only requests that end a job are read"
    )


def test_who_sent_too_much_can_still_stop_what_they_have_but_not_for_ever() -> None:
    town = limited(requests_per_user=2)
    first, second = town.submits(user="eve"), town.submits(user="eve", count=3)
    town.ticks(1)
    town.cancels(second, user="eve", task=1)
    town.cancels(second, user="eve", task=1)
    town.cancels(first, user="eve")
    town.cancels(first, user="eve")
    town.cancels("nobodys-00000000", user="eve")
    town.ticks(3)
    assert town.job(first).cancelled_by == "eve"
    assert town.job(second).tasks[1].cancel
    assert dropped(town) == {"eve": 3}


def test_another_day_begins_with_nothing_sent() -> None:
    town = limited(requests_per_user=1)
    for _ in range(2):
        town.submits(user="eve")
    town.ticks(1)
    assert dropped(town) == {"eve": 1}
    town.clock.now += 86_400
    job = town.submits(user="eve")
    town.ticks(1)
    assert town.job(job)
    assert dropped(town) == {"eve": 1}
    town.clock.now += 86_400
    town.ticks(1)
    assert "limits" not in town.bastion.problems


def test_what_was_dropped_and_cannot_be_removed_is_told_once() -> None:
    town = limited(requests_per_user=1)
    for _ in range(5):
        town.submits(user="eve")
    town.bucket.faults = [lambda verb, key: fails(verb, key) if verb == "delete" else None] * 60
    town.ticks(8)
    assert dropped(town) == {"eve": 4}
    town.bucket.faults = []
    town.ticks(2)
    assert town.inbox() == []


def test_garbage_by_the_thousand_stops_nobody_and_does_not_fill_the_journal() -> None:
    town = Town()
    number = request_reader.EACH_MAX + 2_000
    for each in range(number):
        town.bucket.inner.create(layout.request("eve", f"{each:032}"), b"\xff garbage")
    job = town.submits(user="zoe")
    town.ticks(1)
    assert not town.job(job).ended, "in the first tick"
    town.ticks(12)
    assert town.inbox() == []
    told = [event for event in town.journal() if isinstance(event, JobRejected | RequestRejected)]
    assert len(told) + dropped(town)["eve"] == number
    assert len(told) <= 13 * REFUSALS_MAX
    written = sum(stat.size for stat in town.bucket.inner.list(layout.JOURNAL))
    assert written < 1024**2


# How much they send, and how much is kept of it


def test_who_sends_too_many_bytes_a_day_is_told_and_then_only_counted() -> None:
    town = limited(request_bytes_per_user=20_000)
    for _ in range(5):
        town.submits(user="eve", env={"A": "x" * 9_000})
    zoe = town.submits(user="zoe", env={"A": "x" * 9_000})
    town.ticks(1)
    assert dropped(town) == {"eve": 2}, "the third went over the bound, and the others found it reached"
    assert town.job(zoe)
    town.ticks(8)
    (told,) = (problem for problem in town.status().problems if problem.startswith("limits: "))
    assert "bytes of requests today, and at most 20000 are accepted (limits.request_bytes_per_user)" in told
    assert "bytes of requests" in town.status().limited["eve"]


def test_all_together_send_so_many_bytes_a_day() -> None:
    town = limited(request_bytes=15_000)
    for user in ("ann", "bob", "cyd"):
        town.submits(user=user, env={"A": "x" * 9_000})
    town.ticks(1)
    assert sum(dropped(town).values()) == 1


def test_what_was_written_in_anothers_name_counts_as_its_writers_also_after_a_restart() -> None:
    state = folded(
        RequestRejected(request="bob/1", user="eve", reason="", size=300),
        RequestRejected(request="bob/2", user="eve", reason=""),
        RequestRejected(request="bob/3", user="bob", reason="", size=20),
    )
    assert state.sent
    assert state.sent.users == {"eve": 300, "bob": 20}
    restarted = msgspec.json.decode(encode(state), type=State)
    limits = UserLimits(requests_per_user=2, request_bytes_per_user=300)
    told = {user: RequestCounters(restarted).too_many(user, restarted, NOON, limits) for user in ("eve", "bob")}
    assert told["eve"].startswith("eve has sent 2 requests today")
    assert told["bob"] == ""


def test_bytes_are_counted_over_a_restart_and_not_over_midnight() -> None:
    town = limited(request_bytes_per_user=15_000)
    town.submits(user="eve", env={"A": "x" * 9_000})
    town.ticks(1)
    town.bastion = town.begin()
    for _ in range(2):
        town.submits(user="eve", env={"A": "x" * 9_000})
    town.ticks(1)
    assert dropped(town) == {"eve": 1}
    town.clock.now += 86_400
    job = town.submits(user="eve", env={"A": "x" * 9_000})
    town.ticks(1)
    assert town.job(job)
    assert dropped(town) == {"eve": 1}


def test_requests_are_counted_over_a_restart_also_over_midnight() -> None:
    town = limited(requests_per_user=2)
    for _ in range(2):
        town.submits(user="eve")
    town.ticks(1)
    town.clock.now += 86_400
    town.bastion = town.begin()
    jobs = [town.submits(user="eve") for _ in range(2)]
    town.ticks(1)
    assert all(town.job(job) for job in jobs), "yesterday's count for nothing"
    town.bastion = town.begin()
    town.submits(user="eve")
    town.ticks(1)
    assert dropped(town) == {"eve": 1}, "and today's are known to who begins today"


def test_two_thousand_refused_submissions_with_a_hundred_names_each_keep_little() -> None:
    town, number = Town(), 2_000
    state = town.bastion.journal.state
    before = len(encode(state))
    for n in range(number):
        names = [f"ok:{'n' * 110}-{n:04}-{each:08x}" for each in range(100)]
        town.submits(user=f"u{n % 40}", after=names)
        if n % 500 == 499:
            town.ticks(1)
    town.ticks(3)
    told = refusals(town)
    assert len(told) == number
    assert max(len(reason.encode()) for reason in told) <= TEXT_BYTES_MAX
    assert "... (cut: it had " in told[0]
    assert (len(encode(state)) - before) / number <= 4_096
    written = sum(stat.size for stat in town.bucket.inner.list(layout.JOURNAL))
    assert written / number <= 4_096


def test_whatever_is_said_is_stored_in_two_kib() -> None:
    town = Town()
    job = town.submits()
    town.ticks(2)
    key = town.runs(job)
    nasty = '\x00\udc80\\"é' * 5_000
    facts = Facts(phase="ended", machine=f"machine-{key}-0", cause=Cause.CODE, exit_code=1, message='\\"é' * 10_000)
    town.bucket.inner.write(layout.facts(key, 0), encode(facts))
    town.bastion.problems.say("somewhere", nasty)
    town.bastion.journal.add(SightChanged(runner="local", why=nasty))
    town.bastion.journal.add(FileBroken(file="quota", version="9", problem=nasty))
    town.ticks(30)
    for event in town.journal():
        for name in TEXTS & set(event.__struct_fields__):
            assert len(encode(getattr(event, name))) <= TEXT_BYTES_MAX + 2, type(event).__name__
    assert max(len(encode(problem)) for problem in town.status().problems) <= TEXT_BYTES_MAX + 2
    assert any(isinstance(event, Exited) and "(cut: it had" in event.message for event in town.journal())


# What is looked at


def test_of_a_user_who_floods_the_inbox_no_more_is_listed_than_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_reader, "EACH_MAX", 10)
    bucket = FaultyBucket()
    for user, number in (("a", 3), ("b", 50), ("b-x", 2), ("b0", 30), ("c", 1)):
        for each in range(number):
            bucket.inner.create(layout.request(user, f"{each:032}"), b"")
    stats = list(request_reader.listed(bucket))
    assert Counter(stat.key.split("/")[1] for stat in stats) == {"a": 3, "b": 11, "b-x": 2, "b0": 11, "c": 1}
    assert [verb for verb, _ in bucket.calls] == ["list"] * 3
    inbox = request_reader.sort(State(), stats, {})
    assert inbox.cut == {"b", "b0"}
    assert inbox.more, "so what asks for a job that is not known waits"


def test_ids_of_a_user_of_whom_not_all_is_listed_are_not_forgotten() -> None:
    state = folded(*(RequestRejected(request=f"{user}/1", user=user, reason="") for user in ("ann", "eve")))
    later = NOON + KEEP_REQUESTS + timedelta(seconds=1)
    assert [event.requests for event in forget(state, frozenset(), later, frozenset({"eve"}))] == [["ann/1"]]


def test_no_more_bytes_are_read_in_a_tick_than_fit_and_users_take_turns() -> None:
    large = [Stat(layout.request("eve", f"{n:032}"), "1", REQUEST_BYTES_MAX, NOON) for n in range(1_000)]
    small = Stat(layout.request("zoe", "1"), "1", 10, NOON + timedelta(hours=1))
    inbox = request_reader.sort(State(), [*large, small], {})
    assert sum(stat.size for stat in inbox.read) <= request_reader.READ_BYTES_MAX + REQUEST_BYTES_MAX
    assert small in inbox.read
    assert len(inbox.later) == 1_001 - len(inbox.read)


def test_what_is_too_large_to_be_read_takes_nothing_of_what_may_be_read() -> None:
    listing = [Stat(layout.request("eve", f"{n:032}"), "1", 10**12, NOON) for n in range(1_500)]
    assert len(request_reader.sort(State(), listing, {}).read) == 1_500


def test_what_waits_for_others_takes_bounded_memory_and_is_refused_beyond() -> None:
    town = Town()
    each = REQUEST_BYTES_MAX * 2 // 3
    number = WAITING_BYTES_MAX // each + 8
    for n in range(number):
        wanted = spec(user="eve", name=f"j{n}", env={f"A{i}": "x" * 30_000 for i in range(6)}, after=["ok:no-00000000"])
        town.bucket.inner.create(layout.request("eve", f"{n:032}"), encode(Submit(spec=wanted)))
    other = layout.request("zoe", "1")
    town.submits(user="zoe")
    town.bucket.inner.create(other, b"{}")
    town.bucket.faults = [
        lambda verb, key: fails(verb, key) if (verb, key) == ("read", other) else None  # so nobody knows all of it
    ] * 500
    town.ticks(1)
    waiting = town.bastion.requests._waiting
    assert 0 < sum(received.size for received in waiting.values()) <= WAITING_BYTES_MAX + REQUEST_BYTES_MAX
    assert len(refusals(town)) == number - len(waiting) > 0
    assert [type(event) for event in town.journal()].count(Submitted) == 1
