"""An update: what is asked for changes in place; a new command is the next attempt, on what the last one held."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.journal.recover import load, spec_of
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes, in_words, revised
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import Ended, Illegal, RequestRejected, Started
from bastion.model.stored.records import Order, StopOrder
from bastion.model.stored.requests import Cancel, Hold, Update
from tests.support.town import Town
from tests.support.world import spec

S, C = JobState, Cause
BUNDLE = BundleRef(type="tar", key="bundles/x.tar.zst", digest="a" * 64)
NEW = Changes(command=["new"], bundle=BUNDLE)


def begun(**fields: Any) -> tuple[Town, str, AttemptKey]:
    """A job that fills the fleet runs, another waits for it."""
    town = Town((layout.CONFIG, "reclaim_delay = 100000\n"))
    job = town.submits(**{"resources": {"v4": 8}, **fields})
    town.ticks()
    key = town.runs(job)
    town.submits(name="next", user="bob", resources={"v4": 8})
    town.ticks()
    return town, job, key


def told(town: Town) -> list[str]:
    return [event.reason for event in town.journal() if isinstance(event, RequestRejected)]


def order(town: Town, key: AttemptKey) -> Order:
    return decode(town.bucket.inner.read(layout.order(key)).data, Order, "order")


def causes(town: Town, job: str) -> list[Cause | None]:
    return [attempt.cause for attempt in town.job(job).tasks[0].attempts]


def test_a_pending_job_is_changed_in_place() -> None:
    town = Town()
    job = town.submits(time_limit_s=60.0)
    town.asks(Hold(job=job))
    town.asks(Update(job=job, changes=Changes(priority=2, max_tries=4, time_limit_s=None)))
    town.asks(Update(job=job, changes=Changes(grace_s=7.0, retry_interval_s=1.0, command="new", bundle=BUNDLE)))
    town.asks(Update(job=job, changes=Changes(priority=3)))
    town.ticks()
    found = town.job(job)
    assert (found.priority, found.max_tries, found.grace_s, found.retry_interval_s) == (3, 4, 7.0, 1.0)
    effective = spec_of(town.bucket.inner, found)
    assert (effective.priority, effective.time_limit_s, effective.command) == (3, None, "new")
    assert effective == spec_of(town.bucket.inner, load(town.bucket.inner).jobs[job]), "as a reader finds it"


def test_the_order_of_an_attempt_has_what_was_updated() -> None:
    town = Town()
    job = town.submits(time_limit_s=60.0)
    town.asks(Update(job=job, changes=Changes(grace_s=7.0, max_tries=2, command="new", bundle=BUNDLE)))
    town.asks(Update(job=job, changes=Changes(time_limit_s=5.0)))
    town.ticks()
    written = order(town, AttemptKey(job, 0, 0))
    assert (written.grace_s, written.max_tries, written.time_limit_s) == (7.0, 2, 5.0)
    assert (written.command, written.bundle) == ("new", BUNDLE)


def test_a_new_command_is_the_next_attempt_on_what_the_last_one_held() -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    assert town.job(job).state is S.PREEMPTING
    stop = decode(town.bucket.inner.read(layout.stop(key)).data, StopOrder, "stop")
    assert (stop.cause, stop.reason) == (C.UPDATED, "alice set a new command; the next attempt runs it")
    town.ends(key, C.UPDATED, 143)
    events = town.journal()
    (end,) = [number for number, event in enumerate(events) if isinstance(event, Ended)]
    following = events[end + 1]
    assert isinstance(following, Started)
    assert following.key == AttemptKey(job, 0, 1)
    town.runs(job, attempt=1)
    assert (order(town, following.key).command, order(town, following.key).restart_reason) == (["new"], "user")
    assert town.job(job).tasks[0].failures == 0
    assert [other.state for other in town.bastion.journal.state.jobs.values()] == [S.RUNNING, S.PENDING]
    assert not any(isinstance(event, Illegal) for event in events)


def test_a_second_new_command_replaces_the_first_before_it_ran() -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    town.asks(Update(job=job, changes=Changes(command=["newer"], bundle=BUNDLE)))
    town.ticks(2)
    town.ends(key, C.UPDATED, 143)
    assert order(town, AttemptKey(job, 0, 1)).command == ["newer"]
    town.asks(Update(job=job, changes=Changes(command=["newest"], bundle=BUNDLE)))
    town.ticks(3)
    assert order(town, AttemptKey(job, 0, 2)).command == ["newest"], "the one that had not come up was voided"
    assert causes(town, job) == [C.UPDATED, C.UPDATED, None]


@pytest.mark.parametrize(
    ("cause", "code", "then"),
    [
        (C.OK, 0, S.SUCCEEDED),
        (C.CODE, 1, S.PROVISIONING),
        (C.TIME_LIMIT, 143, S.PROVISIONING),
        (C.LOST, None, S.PROVISIONING),
        (None, None, S.PROVISIONING),
    ],
)
def test_however_the_old_command_ends_the_new_one_runs_unless_it_was_done(
    cause: Cause | None, code: int | None, then: JobState
) -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    town.ends(key, cause, code)
    assert town.job(job).state is then


def test_a_process_that_failed_by_itself_before_the_update_was_read_does_not_end_the_job() -> None:
    town, job, key = begun()
    town.says(key, C.CODE, 1)
    town.runner.loses(f"machine-{key}-0")
    town.asks(Update(job=job, changes=NEW))
    town.ticks(20)
    assert town.job(job).state is S.PROVISIONING
    assert town.job(job).tasks[0].failures == 1


def test_what_is_preempted_already_gives_way_and_runs_the_new_command_later() -> None:
    town, job, key = begun()
    town.submits(name="urgent", priority=1, resources={"v4": 8})
    town.asks(Update(job=job, changes=Changes(priority=5)))
    town.bucket.inner.write(layout.CONFIG, b"reclaim_delay = 0\n")
    town.ticks(15)
    assert town.job(job).tasks[0].attempts[0].stopping is C.PREEMPTED
    town.asks(Update(job=job, changes=NEW))
    town.ticks()
    town.ends(key, C.PREEMPTED, 143)
    assert (town.job(job).state, causes(town, job)) == (S.PENDING, [C.PREEMPTED])


def test_a_cancel_wins_over_a_new_command() -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    town.asks(Cancel(job=job))
    town.ticks()
    assert town.job(job).state is S.CANCELLING
    town.ends(key, C.UPDATED, 143)
    assert town.job(job).state is S.CANCELLED


def test_a_job_that_is_held_meanwhile_is_not_started() -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    town.asks(Hold(job=job))
    town.ends(key, C.UPDATED, 143)
    assert (town.job(job).state, causes(town, job)) == (S.PENDING, [C.UPDATED])


def test_every_running_task_of_an_array_is_replaced_and_no_other_is_favoured() -> None:
    town = Town()
    job = town.submits(count=9, resources={"v4": 1})
    town.ticks()
    for task in range(8):
        town.claims(AttemptKey(job, task, 0))
    town.ticks(2)
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    assert town.job(job).counts == {S.PREEMPTING: 8, S.PENDING: 1}
    for task in range(8):
        town.runner.loses(f"machine-{job}/{task}/0-0")
    town.ticks(3)
    assert town.job(job).counts == {S.PROVISIONING: 8, S.PENDING: 1}
    assert 8 not in town.job(job).tasks


def test_a_stop_keeps_the_grace_that_it_began_with() -> None:
    town, job, _ = begun(grace_s=30.0)
    town.asks(Update(job=job, changes=NEW))
    town.ticks()
    town.asks(Update(job=job, changes=Changes(grace_s=2.0)))
    town.ticks()
    assert [row.grace_s for row in town.bastion.rows] == [30.0]
    assert town.job(job).grace_s == 2.0


@pytest.mark.parametrize(
    ("before", "changes", "why"),
    [
        ([], Changes(time_limit_s=5.0), "keeps the time limit that it began with; only a new command can change it"),
        ([Hold], NEW, "it would be stopped and not started again"),
        ([Cancel], Changes(priority=1), "is being cancelled by alice"),
    ],
)
def test_what_comes_too_late_for_a_running_job_is_refused(before: list[Any], changes: Changes, why: str) -> None:
    town, job, _ = begun()
    for request in before:
        town.asks(request(job=job))
        town.ticks()
    town.asks(Update(job=job, changes=changes))
    town.ticks()
    assert len(told(town)) == 1
    assert why in told(town)[0]


def test_a_running_jobs_time_limit_comes_with_a_new_command() -> None:
    town, job, key = begun(time_limit_s=100.0)
    town.asks(Update(job=job, changes=Changes(command="new", bundle=BUNDLE, time_limit_s=None)))
    town.ticks(2)
    town.ends(key, C.UPDATED, 143)
    assert order(town, AttemptKey(job, 0, 1)).time_limit_s is None


def test_a_restart_knows_all_of_it() -> None:
    town, job, key = begun()
    town.asks(Update(job=job, changes=NEW))
    town.ticks(2)
    before = encode(town.bastion.journal.state.jobs)
    town.bastion = town.begin()
    assert encode(town.bastion.journal.state.jobs) == before
    town.ends(key, C.UPDATED, 143)
    assert order(town, AttemptKey(job, 0, 1)).command == ["new"]


def test_changes_in_words_and_in_a_spec() -> None:
    changes = Changes(
        priority=3, max_tries=2, retry_interval_s=1.5, time_limit_s=None, command=["a", "b c"], bundle=BUNDLE
    )
    assert in_words(changes) == "priority 3, tries 2, retry interval 1.5 s, no time limit, the command a 'b c'"
    assert revised(spec(time_limit_s=9.0), None, changes, digest="") == spec(
        priority=3, max_tries=2, retry_interval_s=1.5, command=["a", "b c"], bundle=BUNDLE
    )
