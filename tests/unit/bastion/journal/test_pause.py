"""A paused bastion starts nothing and stops nobody, whatever happens meanwhile; what people ask for it does."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import Illegal, Paused, RequestRejected, Resumed, Started, Stopping
from bastion.model.stored.requests import Cancel, Hold, Pause, Resume, Update
from bastion.model.stored.status import summary
from tests.support.town import Town
from tests.support.world import NOON

S = JobState
NEW = Changes(command="new", bundle=BundleRef())


def town_of(admins: str = "root") -> Town:
    town = Town((layout.CONFIG, f'admins = ["{admins}"]\nreclaim_delay = 5\n'))
    town.ticks()
    return town


def count(town: Town, kind: type) -> int:
    return sum(isinstance(event, kind) for event in town.journal())


def test_nothing_starts_and_everybody_is_told_who_paused_it_since_when() -> None:
    town = town_of()
    town.asks(Pause(), "root")
    town.ticks()
    job, held = town.submits(), town.submits(name="held")
    town.asks(Hold(job=held))
    town.ticks(30)
    assert count(town, Started) == 0
    assert town.reasons()[job] == "paused by root since 2026-01-31T12:00:02Z"
    assert town.reasons()[held].startswith("held by alice")
    town.asks(Resume(), "root")
    town.ticks()
    assert [event.job for event in town.journal() if isinstance(event, Started)] == [job]
    assert not count(town, Illegal)


def test_it_stays_so_over_a_restart_and_the_status_says_it() -> None:
    town = town_of()
    town.asks(Pause(), "root")
    town.ticks()
    town.bastion = town.begin()
    town.submits()
    town.ticks(10)
    assert count(town, Started) == 0
    shown = summary("b", town.status(), now=NOON, died=False)["paused"]
    assert (shown["user"], shown["since"][:16]) == ("root", "2026-01-31T12:00")


def test_nobody_is_preempted_and_what_runs_goes_on() -> None:
    town = town_of()
    weak = town.submits(name="weak", resources={"v4": 8})
    town.ticks()
    town.runs(weak)
    town.asks(Pause(), "root")
    town.submits(name="strong", resources={"v4": 8}, priority=1)
    town.ticks(60)
    assert count(town, Stopping) == 0
    assert town.job(weak).state is S.RUNNING
    town.asks(Resume(), "root")
    town.ticks()
    assert town.job(weak).state is S.PREEMPTING


def test_what_is_asked_to_stop_is_stopped_and_what_ends_is_booked() -> None:
    town = town_of()
    ends, stops = town.submits(name="ends"), town.submits(name="stops")
    town.ticks()
    keys = {job: town.runs(job) for job in (ends, stops)}
    town.asks(Pause(), "root")
    town.asks(Cancel(job=stops))
    town.ticks(2)
    assert town.job(stops).state is S.CANCELLING
    town.ends(keys[stops], Cause.CANCELLED)
    town.ends(keys[ends], Cause.OK, 0)
    assert [town.job(job).state for job in (ends, stops)] == [S.SUCCEEDED, S.CANCELLED]


def test_what_was_being_replaced_waits_and_what_runs_is_not_replaced() -> None:
    town = town_of()
    replaced, runs = town.submits(name="replaced"), town.submits(name="runs")
    town.ticks()
    key = town.runs(replaced)
    town.runs(runs)
    town.asks(Update(job=replaced, changes=NEW))
    town.ticks()
    town.asks(Pause(), "root")
    town.ticks()
    town.asks(Update(job=runs, changes=NEW))
    town.ends(key, Cause.UPDATED, 143)
    assert [town.job(job).state for job in (replaced, runs)] == [S.PENDING, S.RUNNING]
    (told,) = [event.reason for event in town.journal() if isinstance(event, RequestRejected)]
    assert "the bastion is paused by root since" in told
    town.asks(Resume(), "root")
    town.ticks()
    assert town.job(replaced).state is S.PROVISIONING
    assert not count(town, Illegal)


@pytest.mark.parametrize("request_", [Pause(), Resume()])
def test_only_admins_of_the_bastion_may(request_: Pause | Resume) -> None:
    town = town_of()
    town.asks(request_, "alice")
    town.ticks()
    (told,) = [event.reason for event in town.journal() if isinstance(event, RequestRejected)]
    assert "alice is not an admin of the bastion" in told
    assert "ask one of root" in told
    assert town.inbox() == []


def test_the_first_pause_is_remembered_and_a_second_resume_changes_nothing() -> None:
    town = town_of()
    for request in (Pause(), Pause(), Resume(), Resume()):
        town.asks(request, "root")
        town.ticks()
        paused = town.bastion.journal.state.paused
        assert (str(paused) if paused else None) == (
            "root since 2026-01-31T12:00:02Z" if isinstance(request, Pause) else None
        )
    assert (count(town, Paused), count(town, Resumed)) == (2, 2)
