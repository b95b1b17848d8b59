"""A tick reads, decides, appends and acts; it costs little when nothing happens, and one bad thing harms no other."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from bastion.model import layout
from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Ended,
    Illegal,
    RequestRejected,
    RequestsDropped,
    Started,
    Submitted,
)
from bastion.service.maintenance import LOG, STATUS
from bastion.service.request_queue import REFUSALS_MAX, RELIST_S
from bastion.service.request_reader import READS_MAX
from tests.support.doors import fails, only
from tests.support.town import Town

S = JobState


def kinds(town: Town) -> list[type]:
    return [type(event) for event in town.journal()]


def first_attempt(job: str) -> AttemptKey:
    return AttemptKey(job, 0, 0)


def test_a_job_goes_all_its_way() -> None:
    town = Town()
    job = town.submits()
    key = first_attempt(job)
    town.ticks(2)
    assert ("create", key) in town.runner.calls
    town.bucket.inner.read(layout.order(key))
    machine = town.claims(key)
    town.ticks(2)
    assert town.job(job).state is S.RUNNING
    town.says(key, Cause.OK, 0)
    town.ticks(20)
    assert ("delete", machine) in town.runner.calls
    town.runner.loses(machine)
    town.ticks(3)
    assert town.job(job).state is S.SUCCEEDED
    town.ticks(20)
    left = [
        stat.key for prefix in (layout.INBOX, layout.FACTS, layout.BEATS) for stat in town.bucket.inner.list(prefix)
    ]
    assert left == []
    assert Illegal not in kinds(town)


def test_orders_are_written_after_the_journal_and_before_the_runner_is_called() -> None:
    town = Town()
    job = town.submits()
    town.bucket.calls.clear()
    town.ticks(1)
    written = [key for verb, key in town.bucket.calls if verb == "create"]
    assert written == [layout.journal(town.bastion.journal.state.seq - 1), layout.order(first_attempt(job))]
    assert town.runner.calls == [("create", first_attempt(job))]


def test_what_is_desired_is_shown_to_runners_once_the_append_has_returned() -> None:
    """A runner's turn, which runs beside the tick, must not act on what the journal may never hold."""
    town = Town()
    town.submits()
    seen: list[tuple[str, int]] = []

    def during(verb: str, key: str) -> Callable[[], object]:
        return lambda: seen.append((key, len(town.bastion.rows))) if verb == "create" else None

    town.bucket.faults = [during] * 20
    town.ticks(1)
    appended = layout.journal(town.bastion.journal.state.seq - 1)
    assert (appended, 0) in seen
    assert len(town.bastion.rows) == 1


@pytest.mark.parametrize("jobs", [0, 50])
def test_an_idle_tick_lists_the_inbox_and_nothing_else(jobs: int) -> None:
    town = Town((layout.QUOTA, "broken"))  # so nothing starts
    for _ in range(jobs):
        town.submits()
    town.ticks(20)
    town.bucket.calls.clear()
    town.ticks(60)
    calls = [(verb, key) for verb, key in town.bucket.calls if key not in (layout.STATUS, layout.QUOTA, layout.CONFIG)]
    newest = "read", layout.journal(town.bastion.journal.state.seq - 1)
    assert calls.count(newest) == 6, "is the end of the journal still there?"
    assert [call for call in calls if call != newest] == [("list", layout.INBOX)] * 60
    assert len(town.bucket.calls) <= 120


def test_a_request_is_removed_only_when_its_effect_is_in_the_journal() -> None:
    town = Town()
    job = town.submits()
    town.bucket.calls.clear()
    town.ticks(1)
    calls = [(verb, key.startswith(layout.JOURNAL)) for verb, key in town.bucket.calls
             if key.startswith((layout.JOURNAL, layout.INBOX))]  # fmt: skip
    verbs = [
        verb for verb, is_journal in calls if (verb, is_journal) != ("read", True)
    ]  # is the journal's end still there?
    assert verbs == ["list", "read", "create", "delete"]
    assert town.inbox() == []
    assert town.job(job)


def test_a_failed_removal_is_made_again_and_has_no_second_effect() -> None:
    town = Town()
    town.submits()
    town.bucket.faults = [only("delete", fails)] * 20
    town.ticks(1)
    assert len(town.inbox()) == 1
    town.bucket.faults = []
    town.ticks(3)
    assert town.inbox() == []
    assert kinds(town).count(Submitted) == 1


def test_thousands_of_cancels_of_unknown_jobs_hold_up_nobody() -> None:
    town = Town()
    for number in range(READS_MAX + 500):
        town.cancels(f"unknown-{number}")
    town.ticks(1)
    assert town.bastion.requests.backlog
    assert town.bastion.idle_s() == 0
    job = town.submits()
    town.ticks(2)
    assert town.job(job)
    town.ticks(2)
    assert not town.bastion.requests.backlog
    assert town.inbox() == []
    told = kinds(town).count(RequestRejected)
    dropped = [event.count for event in town.journal() if isinstance(event, RequestsDropped)]
    assert told <= len(dropped) * REFUSALS_MAX
    assert told + sum(dropped) == READS_MAX + 500


def test_a_long_listing_is_worked_off_before_the_next_but_who_comes_meanwhile_waits_no_longer_than_that() -> None:
    town = Town()
    for number in range(3 * READS_MAX + 1):
        town.cancels(f"unknown-{number}")
    town.bucket.calls.clear()
    town.ticks(1)
    job = town.submits(user="bob")
    town.ticks(1, every=0.0)
    assert town.bucket.calls.count(("list", layout.INBOX)) == 1
    assert job not in town.bastion.journal.state.jobs
    town.ticks(1, every=RELIST_S)
    assert town.bucket.calls.count(("list", layout.INBOX)) == 2
    assert town.job(job)
    assert town.bastion.requests.backlog
    town.ticks(4, every=0.0)
    assert town.inbox() == []


def test_what_cannot_be_read_of_a_long_listing_is_tried_again_before_all_of_it_counts_as_read() -> None:
    town = Town()
    job = town.submits()
    [submit] = town.inbox()
    for number in range(READS_MAX):
        town.cancels(f"unknown-{number}")
    early = town.cancels(job)

    def refuse(verb: str, key: str) -> None:
        if (verb, key) == ("read", submit):
            raise BucketError("denied")

    town.bucket.faults = [refuse] * (READS_MAX + 50)
    town.ticks(1)
    assert town.bastion.requests.backlog
    town.ticks(1, every=0.0)
    assert early in town.inbox()
    town.bucket.faults = []
    town.ticks(2, every=RELIST_S)
    assert town.job(job).state is JobState.CANCELLED


def test_what_was_read_and_waits_is_not_read_again() -> None:
    town = Town()
    cancel, other = town.cancels("unknown-1"), town.submits()
    blocked = next(key for key in town.inbox() if key != cancel)
    reads: list[str] = []

    def refuse(verb: str, key: str) -> None:
        reads.extend([key] if verb == "read" and key.startswith(layout.INBOX) else [])
        if key == blocked and verb == "read":
            raise BucketError("denied")

    town.bucket.faults = [refuse] * 200
    town.ticks(3)
    assert reads.count(cancel) == 1
    assert reads.count(blocked) == 3
    assert "denied" in town.bastion.problems["inbox"]
    assert town.inbox() == sorted([cancel, blocked]), "a cancel of an unknown job waits for the failed read"
    town.bucket.faults = []
    town.ticks(2)
    assert town.job(other)
    assert town.inbox() == []
    assert "inbox" not in town.bastion.problems


def test_reads_that_all_fail_do_not_spin() -> None:
    town = Town()
    for number in range(READS_MAX + 1):
        town.cancels(f"unknown-{number}")
    town.bucket.faults = [only("read", fails)] * (READS_MAX + 10)
    town.ticks(1)
    assert town.bastion.idle_s() > 0


@pytest.mark.parametrize("verb", ["list", "read"])
def test_a_store_that_goes_away_with_a_backlog_is_not_hurried(verb: str) -> None:
    town = Town()
    for number in range(READS_MAX + 1):
        town.cancels(f"unknown-{number}")
    town.ticks(1)
    assert town.bastion.idle_s() == 0
    town.submits()
    town.bucket.faults = [only(verb, fails)] * (READS_MAX + 10)
    town.ticks(1)
    assert town.bastion.idle_s() > 0


def test_a_listing_that_shows_a_cancel_and_not_its_submit_says_nothing() -> None:
    town = Town()
    job = town.submits()
    (submit,) = town.inbox()
    hidden = town.bucket.inner.read(submit).data
    town.bucket.inner.delete([submit])
    town.cancels(job)
    town.ticks(1)
    town.bucket.inner.create(submit, hidden)
    town.ticks(1)
    assert town.job(job).state is JobState.CANCELLED


def test_a_cancel_read_before_its_submit_still_cancels() -> None:
    town = Town()
    job = town.submits()
    town.bucket.inner.delete(town.inbox())
    town.cancels(job)
    request = next(iter(town.inbox()))
    town.submits(name="other")
    town.ticks(2)
    refused = [event for event in town.journal() if isinstance(event, RequestRejected)]
    assert [event.job for event in refused] == [job]
    assert request not in town.inbox()


def test_a_cancel_that_lies_with_its_submit_finds_it() -> None:
    town = Town()
    job = town.submits()
    town.cancels(job)
    town.ticks(2)
    assert town.job(job).state is S.CANCELLED
    assert kinds(town).count(CancelRequested) == 1
    assert Started not in kinds(town)


def test_a_blind_runner_gets_no_starts_until_it_answers() -> None:
    town = Town()
    town.ticks(2)
    town.runner.blind = True
    town.ticks(15)
    assert "runner local" in town.bastion.problems
    job = town.submits()
    town.ticks(600)
    assert town.job(job).state is S.PENDING
    blind = town.bastion.journal.state.blind["local"]
    assert blind.why == "the fleet does not answer"
    assert (town.status().written - blind.since).total_seconds() > 590
    told = "the runner local has not answered since 12:00 UTC, 10m"
    assert [problem for problem in town.status().problems if problem.startswith(told)]
    town.runner.blind = False
    town.ticks(15)
    assert town.job(job).state is S.PROVISIONING
    assert "runner local" not in town.bastion.problems
    assert town.bastion.journal.state.blind == {}


def test_an_unreadable_claim_is_told_while_it_lies_there_and_forgotten_after() -> None:
    town = Town()
    job = town.submits()
    key = first_attempt(job)
    town.ticks(1)
    town.runner.has("m", key)
    town.bucket.inner.create(layout.claim(key, 0), b"rubbish")
    town.ticks(3)
    assert "claims" in town.bastion.problems["seen by runner local"]
    town.ticks(6)
    assert any("claims" in problem for problem in town.status().problems)
    town.bucket.inner.delete([layout.claim(key, 0)])
    town.ticks(3)
    assert "seen by runner local" not in town.bastion.problems


def test_what_cannot_start_does_not_wake_the_runner() -> None:
    town = Town()
    town.runner.pace_s = 30.0
    running = town.submits()
    town.ticks(1)
    town.claims(first_attempt(running))
    town.ticks(40)
    lists = town.runner.lists
    for _ in range(5):
        town.submits(resources={"v4": 1000})
        town.ticks(1)
    assert town.runner.lists - lists <= 1


def test_a_tick_that_falls_before_the_append_is_made_again() -> None:
    town = Town()
    town.ticks(1)
    job = town.submits()
    town.ids.new = lambda: 1 // 0  # type: ignore[method-assign, assignment, return-value]
    with pytest.raises(ZeroDivisionError):
        town.ticks(1)
    assert town.inbox() != [], "nothing is removed before it is in the journal"
    del town.ids.new
    town.ticks(2)
    assert town.job(job).state is S.PROVISIONING
    assert town.inbox() == []
    assert kinds(town).count(Submitted) == 1


def test_idle_never_spins_and_never_sleeps_longer_than_a_poll() -> None:
    town = Town()
    town.submits(max_tries=2, retry_interval_s=0.3)
    for _ in range(30):
        town.ticks(1, every=0.37)
        assert 0 < town.bastion.idle_s() <= town.poll


def test_a_restart_finds_all_as_it_was() -> None:
    town = Town()
    job = town.submits()
    town.ticks(1)
    machine = town.claims(first_attempt(job))
    town.ticks(2)
    before = town.job(job)
    town.bastion = town.begin()
    town.runner.calls.clear()
    town.ticks(3)
    assert town.job(job) == before
    assert town.bastion.journal.epoch == 2
    assert town.runner.calls == []
    assert [found.id for found in town.runner.machines] == [machine]


def test_a_second_task_of_the_same_kind_is_not_begun() -> None:
    town = Town()
    town.tasks.held.add(STATUS)
    town.ticks(20)
    assert town.tasks.begun.count(STATUS) == 1


def test_a_farewell_waits_for_a_swap_that_is_under_way_and_has_the_last_word() -> None:
    town = Town()
    town.tasks.held.update({STATUS, LOG})
    town.ticks(6)
    town.bastion.close()
    town.tasks.wait(0)
    assert town.status().state == "stopped"


def test_a_farewell_does_not_need_the_log() -> None:
    town = Town()
    town.ticks(1)
    town.bastion.own_log.handle(logging.makeLogRecord({"msg": "a line", "levelname": "INFO"}))
    town.bucket.faults = [only("create", fails)] * 20
    town.bastion.close()
    assert town.status().state == "stopped"


def test_the_own_log_is_in_the_bucket_without_gaps(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bastion")
    town = Town()
    for _ in range(5):
        town.submits()
        town.ticks(4)
    town.bastion.close()
    keys = [stat.key for stat in town.bucket.inner.list(layout.bastion_log(1))]
    assert keys == [layout.segment(layout.bastion_log(1), number) for number in range(len(keys))]
    text = b"".join(town.bucket.inner.read(key).data for key in keys).decode()
    assert text.count("Submitted ") == 5


def ends(town: Town) -> list[AnyEvent]:
    return [event for event in town.journal() if isinstance(event, Ended)]


def test_a_preempted_machine_burns_no_try_and_the_job_runs_again() -> None:
    town = Town()
    job = town.submits()
    town.ticks(1)
    machine = town.claims(first_attempt(job))
    town.ticks(2)
    town.runner.loses(machine)
    town.ticks(3)
    [end] = ends(town)
    assert isinstance(end, Ended)
    assert (end.cause, end.outcome) == (Cause.LOST, S.PENDING)
    assert ("create", AttemptKey(job, 0, 1)) in town.runner.calls
