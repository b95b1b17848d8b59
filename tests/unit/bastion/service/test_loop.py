"""The loop stands by, takes over, survives a tick that falls, and ends when it is told to or deposed."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.journal import snapshot
from bastion.journal.leadership import PATIENCE_S
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import AccessDenied, LeadershipLost, RecordError
from bastion.model.stored.events import Epoch
from bastion.service import loop
from bastion.service.loop import ThisBastion, stand_by, turn
from tests.support.doors import fails, only
from tests.support.town import ME, Town
from tests.unit.bastion.journal.test_fence import status


class Waiting:
    """A town whose bastion is of another host, and one that stands by."""

    def __init__(self) -> None:
        self.town = Town()
        self.write(nonce="0")
        self.town.bucket.calls.clear()
        self.began = self.town.clock.now
        self.me = ThisBastion(name="b", host="there", boot="boot", pid=2, alive=lambda pid: False)

    def write(self, **fields: Any) -> None:
        self.town.bucket.inner.write(layout.STATUS, encode(status(host="here", **fields)))

    def stands_by(self) -> float | None:
        """How long it stood by; None if it was told to stop."""
        limit = self.began + 100
        over = stand_by(self.town.doors(), self.me, lambda: self.town.clock.now > limit)
        return self.town.clock.now - self.began if over else None


def test_nobody_stands_by_where_nobody_is() -> None:
    waiting = Waiting()
    waiting.town.bucket.inner.delete([layout.STATUS])
    assert waiting.stands_by() == 0


@pytest.mark.parametrize(("state", "seconds"), [("stopped", 0), ("running", PATIENCE_S)])
def test_a_silent_bastion_is_succeeded_after_its_patience_and_a_stopped_one_at_once(state: str, seconds: float) -> None:
    waiting = Waiting()
    waiting.write(state=state)
    assert waiting.stands_by() == seconds


def test_a_bastion_that_lives_is_never_succeeded() -> None:
    waiting = Waiting()
    waiting.town.clock.script = [lambda n=n: waiting.write(nonce=str(n)) if n % 5 == 0 else None for n in range(200)]  # type: ignore[misc]
    assert waiting.stands_by() is None


def test_a_store_that_does_not_answer_is_no_silence_of_the_bastion() -> None:
    waiting = Waiting()
    waiting.town.bucket.faults = [*[only("write", fails)] * 5, *[fails] * 20]
    assert waiting.stands_by() == 24 + PATIENCE_S, "counted from the last look that failed"


def test_the_first_acts_are_the_epoch_and_then_the_status_before_anything_else() -> None:
    town = Town()
    town.bucket.calls.clear()
    town.runner.calls.clear()
    town.begin()
    writes = [(verb, key) for verb, key in town.bucket.calls if verb not in ("read", "list")]
    assert writes == [("create", layout.journal(1)), ("replace", layout.STATUS)]
    assert town.runner.calls == []
    epochs = [event.epoch for event in town.journal() if isinstance(event, Epoch)]
    assert epochs == [1, 2]
    assert town.status().epoch == 2


def test_the_elder_of_two_is_deposed_at_its_next_word() -> None:
    town = Town()
    elder = town.bastion
    town.ticks(2)
    town.begin().tick()
    town.submits()
    town.clock.now += 1
    with pytest.raises(LeadershipLost):
        elder.tick()


def test_the_elder_of_two_is_deposed_by_the_status_even_if_it_has_nothing_to_write() -> None:
    town = Town()
    elder = town.bastion
    town.ticks(2)
    town.begin()
    town.clock.now += 6
    elder.tick()
    with pytest.raises(LeadershipLost):
        elder.tick()


def test_a_tick_that_falls_is_shown_and_the_next_one_works() -> None:
    town = Town()
    town.ticks(1)
    town.clock.now += 10
    good, town.bucket.list = town.bucket.list, breaks  # type: ignore[method-assign, assignment]
    turn(town.bastion)
    assert "tick" in town.bastion.problems
    assert any("ZeroDivisionError" in problem for problem in town.status().problems)
    town.bucket.list = good  # type: ignore[method-assign]
    job = town.submits()
    turn(town.bastion)
    assert "tick" not in town.bastion.problems
    assert town.job(job)


def breaks(*_: object, **__: object) -> None:
    raise ZeroDivisionError


def test_a_deposed_bastion_does_not_go_on() -> None:
    town = Town()
    town.begin().tick()
    town.submits()
    town.clock.now += 1
    with pytest.raises(LeadershipLost):
        turn(town.bastion)


def test_it_runs_until_it_is_told_to_stop_and_says_so() -> None:
    town = Town()
    left = iter(range(5))
    loop.run(town.doors(), ME, stopping=lambda: next(left, None) is None, takeover=True)
    assert town.status().state == "stopped"
    assert town.status().epoch == 2


def test_one_that_is_told_to_stop_while_it_stands_by_never_begins() -> None:
    waiting = Waiting()
    loop.run(waiting.town.doors(), waiting.me, stopping=lambda: True)
    assert [verb for verb, _ in waiting.town.bucket.calls if verb not in ("read", "list")] == []


def test_a_start_waits_for_a_store_that_does_not_answer() -> None:
    town = Town()
    town.bucket.faults = [fails] * 7
    assert town.begin().journal.epoch == 2


def test_problems_name_files_and_troubles() -> None:
    town = Town((layout.QUOTA, "broken"), (layout.CONFIG, "poll = 'x'"))
    town.bastion.problems["inbox"] = "away"
    quota, settings, inbox = loop.problems(town.bastion)
    assert quota.startswith("project-quotas/project-quotas.config cannot be used, nothing starts: ")
    assert settings.startswith("config.toml cannot be used, ")
    assert inbox == "inbox: away"


def test_counts_are_of_tasks_and_made_anew_when_the_journal_grows() -> None:
    town = Town()
    assert town.bastion.counts() == {}
    town.submits(count=3, resources={"v4": 8})
    town.ticks(1)
    assert town.bastion.counts() == {"PROVISIONING": 1, "PENDING": 2}
    assert town.bastion.counts() is town.bastion.counts()


def _denied(verb: str, key: str) -> None:
    if (verb, key) == ("read", layout.journal(0)):
        raise AccessDenied(f"403 for {key}")


@pytest.mark.parametrize("hole", ["gone", "cut", "denied"])
def test_no_bastion_begins_on_a_journal_with_a_hole_and_a_newer_snapshot_makes_it_harmless(hole: str) -> None:
    town, key = Town(), layout.journal(0)
    data = town.bucket.inner.read(key).data
    town.ticks()
    if hole == "denied":
        town.bucket.faults = [_denied] * 99
    else:
        town.bucket.inner.delete([key])
    if hole == "cut":
        town.bucket.inner.write(key, data[:50])
    before = [(stat.key, stat.version) for stat in town.bucket.inner.list("")]
    with pytest.raises(RecordError, match="journal object 0"):
        town.begin()
    assert [(stat.key, stat.version) for stat in town.bucket.inner.list("")] == before, "it has done nothing"
    town.bucket.inner.write(key, data)
    snapshot.make(town.bucket.inner)
    town.bucket.inner.delete([key])
    assert town.begin().journal.epoch == 2
