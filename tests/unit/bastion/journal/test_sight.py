"""That a runner does not answer is journalled when it begins and when it ends, and not in between."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.model.errors import RunnerError
from bastion.model.state.state import State
from bastion.model.stored.events import SightChanged
from bastion.service.observations import REWORD, WHY_MAX, runner_news
from tests.support.doors import folded
from tests.support.town import Town
from tests.support.world import NOON

AWAY = RunnerError("no route")


def blind() -> State:
    return folded(SightChanged(runner="local", why="no route"))


def whys(state: State, error: Exception | None, after: timedelta = timedelta()) -> list[str]:
    assert state.now is not None
    return [event.why for event in runner_news(state, "local", error, state.now + after)]


def test_it_is_news_once_and_so_is_its_end() -> None:
    assert (whys(State(now=NOON), None), whys(State(now=NOON), AWAY)) == ([], ["no route"])
    assert (whys(blind(), AWAY, REWORD), whys(blind(), None)) == ([], [""])


def test_other_words_are_news_after_a_while_and_since_when_is_kept() -> None:
    state, other = blind(), RunnerError("request 8 timed out")
    since = state.now
    assert whys(state, other, REWORD - timedelta(seconds=1)) == []
    assert whys(state, other, REWORD) == ["request 8 timed out"]
    state.now = since + REWORD if since else None
    folded(SightChanged(runner="local", why="request 8 timed out"), state=state)
    assert (state.blind["local"].since, state.blind["local"].heard) == (since, state.now)
    assert whys(state, AWAY, REWORD - timedelta(seconds=1)) == []


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (RunnerError(""), "RunnerError('')"),
        (RunnerError(" \n "), "RunnerError(' \\n ')"),
        (RunnerError("two\nlines"), "two lines"),
        (RunnerError("\udc80"), "?"),
        (ZeroDivisionError(), "ZeroDivisionError()"),
        (RunnerError("x" * 9_999), "x" * (WHY_MAX - 3) + "..."),
    ],
)
def test_whatever_a_runner_says_can_be_written_on_one_line(error: Exception, why: str) -> None:
    assert whys(State(now=NOON), error) == [why]


def test_a_runner_that_is_away_for_an_hour_costs_two_journal_objects() -> None:
    town = Town()
    town.ticks(20)
    before = town.journal()
    town.runner.blind = True
    town.ticks(3_600)
    town.runner.blind = False
    town.ticks(20)
    assert [event for event in town.journal()[len(before) :] if isinstance(event, SightChanged)] == [
        SightChanged(runner="local", why="the fleet does not answer"),
        SightChanged(runner="local"),
    ]


def test_who_starts_while_a_runner_is_blind_knows_since_when_and_waits_for_its_answer() -> None:
    town = Town()
    town.ticks(20)
    town.runner.blind = True
    town.ticks(20)
    since = town.bastion.journal.state.blind["local"].since
    town.bastion = town.begin()
    town.submits()
    town.ticks(20)
    assert town.bastion.journal.state.blind["local"].since == since
    assert not town.runner.calls
    town.runner.blind = False
    town.ticks(20)
    assert [what for what, _ in town.runner.calls] == ["create"]
