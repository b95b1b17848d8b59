"""`bastion top`, played by a pilot on the journal of a real bucket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Static

from bastion.cli.bastion.parts.top_app import JobDetails, Jobs, TopApp, bar
from bastion.cli.bastion.top import BoardReader
from bastion.cli.common.command_context import CommandContext
from bastion.launcher.explain.usage_board import ORDERS, ROWS_MAX, BoardOptions, board
from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey, Bucket, Stat
from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import FileChanged
from bastion.platform.system import RandomIds
from bastion.schedule.usage import ProjectUsage
from bastion.stores.counting import CountingBucket
from bastion.stores.local import LocalBucket
from tests.support.bench import QUOTA, Bench
from tests.support.doors import HandTasks
from tests.support.world import World

Play = Callable[[TopApp, "Pilot[int]"], Awaitable[None]]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A fleet of 8, of which nlp borrows 2 of vision's 4; bob's job waits for them."""
    world = World(LocalBucket(f"file://{tmp_path / 'bucket'}", create=True))
    world.happens(FileChanged(file="quota", version="1", text=QUOTA))
    world.ticks()
    world.runs(world.submitted("a" * 32, name="train", project="nlp", resources={"v4": 6}))
    world.submitted("b" * 32, name="eval", user="bob", project="vision", resources={"v4": 4}, priority=2)
    sweep = world.submitted("c" * 32, name="sweep", project="nlp", resources={"cpu": 1}, count=3)
    world.runs(sweep, task=1)
    return world


def looker(world: World, bucket: Bucket | None = None) -> tuple[BoardReader, HandTasks]:
    """What makes the boards, and what it runs on."""
    tasks = HandTasks()
    place = bucket or world.bucket
    context = CommandContext(
        bastion="team", bucket=place, clock=world.clock, tasks=tasks, ids=RandomIds(), settings=Config()
    )
    return BoardReader(context), tasks


def played(world: World, *plays: Play, size: tuple[int, int] = (120, 30), bucket: Bucket | None = None) -> None:
    """Run the app and play it."""
    look, tasks = looker(world, bucket)
    app = TopApp(look, tasks, look(BoardOptions(), anew=True), every_s=0.05)

    async def play() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for each in plays:
                await each(app, pilot)

    asyncio.run(play())


async def until(pilot: Pilot[int], condition: Callable[[], object]) -> None:
    """Let the app go on until it is so."""
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        assert pilot.app.is_running
        await pilot.pause(0.01)


def rows(app: TopApp) -> list[str]:
    """The jobs as they are drawn."""
    table = app.screen_stack[0].query_one(Jobs)
    return [" ".join(str(cell) for cell in table.get_row_at(at)) for at in range(table.row_count)]


def names(app: TopApp) -> list[str]:
    """Their names."""
    return [row.split("-")[0] for row in rows(app)]


def text(app: TopApp, which: str) -> str:
    """What a part of the screen says; nothing before it is there."""
    return "".join(str(part.render()) for part in app.screen.query(which).results(Static))


def test_it_shows_the_bastion_its_shares_and_its_jobs(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        assert text(app, "#head") == "bastion team: running, last seen 0s ago   2 RUNNING  1 PENDING"
        _, nlp_v4, vision_v4 = text(app, "#bars").splitlines()
        assert nlp_v4.startswith("nlp v4    █")
        assert abs(nlp_v4.count("▓") * 2 - nlp_v4.count("█")) <= 1
        assert nlp_v4.endswith(" 6/4 of 8")
        assert vision_v4.endswith(" 0/4 of 8")
        assert "░" in vision_v4
        assert names(app) == ["train", "eval", "sweep"]
        assert "may be reclaimed" in rows(app)[1]
        assert "sweep-cccccccc[0-2]" in rows(app)[2]
        assert text(app, "#told") == "3 jobs by submitted. local/10.0.0.0"

    played(world, play)


def test_keys_move_sort_filter_explain_and_quit(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        table = app.query_one(Jobs)
        await pilot.press("j")
        assert table.cursor_row == 1
        await pilot.press("down", "k")
        assert table.cursor_row == 1

        await pilot.press("s")
        await until(pilot, lambda: app.board.asked.order == "state")
        assert names(app) == ["eval", "train", "sweep"]
        assert table.cursor_row == 0  # it stays on its job
        for order in [*list(ORDERS)[2:], "submitted"]:
            await pilot.press("s")
            await until(pilot, lambda order=order: app.board.asked.order == order)

        await pilot.press("slash", *"nlp q")
        await until(pilot, lambda: text(app, "#told").startswith("0 jobs by submitted, with 'nlp q'"))
        await pilot.press("backspace", "backspace", "enter")
        await until(pilot, lambda: names(app) == ["train", "sweep"])
        await pilot.press("j", "k", "escape")
        await until(pilot, lambda: len(rows(app)) == 3)

        await pilot.press("home", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, JobDetails) and "eval-bbbbbbbb of bob" in text(app, "#why"))
        assert "needs 4 v4, 2 of 8 free" in text(app, "#why").splitlines()[1]
        assert "held by" in text(app, "#why")
        await pilot.press("q")
        await until(pilot, lambda: not isinstance(app.screen, JobDetails))

        await pilot.press("q")
        await until(pilot, lambda: app.return_value == 0)

    played(world, play)


def test_a_board_that_comes_while_it_ends_is_not_drawn(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        screens = app._screen_stack
        kept = [screens.pop()]  # as the app does before its timers stop
        app._draw()
        screens.extend(kept)

    played(world, play)


def test_ctrl_c_is_told_by_the_exit_code(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        await pilot.press("ctrl+c")
        await until(pilot, lambda: app.return_value == 130)

    played(world, play)


def test_what_happens_is_drawn_and_the_open_page_with_it(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, JobDetails) and "PENDING" in text(app, "#why"))
        assert app.screen.styles.align == ("center", "middle"), "the style sheet names the class of the page"
        world.runs("eval-bbbbbbbb")
        await until(pilot, lambda: "attempt 0, RUNNING: local on 10.0.0.0" in text(app, "#why"))
        await pilot.press("escape")
        world.ends(AttemptKey("train-aaaaaaaa", 0, 0), Cause.OK, JobState.SUCCEEDED, code=0)
        await until(pilot, lambda: names(app) == ["eval", "sweep"])

    played(world, play)


def test_a_silent_bastion_is_said_to_be_silent(world: World) -> None:
    world.clock.now = 14 * 60

    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        assert "team: unknown, last seen 14m ago" in text(app, "#head")
        assert "has been silent for 840 s" in text(app, "#problems")
        assert names(app) == ["train", "eval", "sweep"]

    played(world, play)


class Flaky(CountingBucket):
    """A store that does not answer while there is a `problem`."""

    problem: Exception | None = None

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        if self.problem:
            raise self.problem
        return super().list(prefix, after=after)


def test_a_store_that_does_not_answer_takes_nothing_away(world: World) -> None:
    flaky = Flaky(world.bucket)

    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        flaky.problem = BucketError("no answer")
        await until(pilot, lambda: "no answer; trying again" in text(app, "#problems"))
        assert len(rows(app)) == 3
        flaky.problem = None
        await until(pilot, lambda: "no answer" not in text(app, "#problems"))

    played(world, play, bucket=flaky)


def test_a_look_at_nothing_new_costs_two_requests_and_another_order_none(world: World) -> None:
    counted = CountingBucket(world.bucket)
    look, _ = looker(world, counted)
    look(BoardOptions(), anew=True)
    for anew, cost in ((True, 2), (True, 2), (False, 0), (True, 2)):
        counted.counts.clear()
        look(BoardOptions(order="state", text="nlp", job="eval-bbbbbbbb"), anew=anew)
        assert counted.counts.total() == cost


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5), (3, 2), (300, 100)])
def test_it_fits_every_terminal(world: World, size: tuple[int, int]) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        assert "train" in rows(app)[0]
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, JobDetails))
        await pilot.press("escape", "slash", "x")
        await pilot.resize_terminal(*size[::-1])
        await pilot.resize_terminal(*size)
        await pilot.press("escape")
        await until(pilot, lambda: len(rows(app)) == 3)

    played(world, play, size=size)


def test_on_80_columns_the_reason_can_be_read(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        drawn = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "eval-bbbbbbbb" in drawn
        assert "needs 4 v4" in drawn
        assert "Quit" in drawn

    played(world, play, size=(80, 24))


def test_on_a_low_terminal_the_bastion_its_shares_and_jobs_are_still_seen(world: World) -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        await pilot.press("j")
        drawn = [strip.text for strip in app.screen._compositor.render_strips()]
        assert drawn[0].startswith("bastion team: unknown, last seen 14m ago")
        assert "6/4 of 8" in drawn[3]
        assert [line for line in drawn if "eval-bbbbbbbb  " in line] != []
        assert drawn[9].startswith("3 jobs by submitted. first in line:")

    world.clock.now = 840
    played(world, play, size=(40, 10))


def test_an_empty_fleet_and_a_single_users_are_shown() -> None:
    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        assert "team: stopped, never seen   no jobs" in text(app, "#head")
        await pilot.press("enter", "j", "s")

    played(World(), play)


def test_of_very_many_jobs_the_first_are_drawn() -> None:
    world = World()
    for number in range(ROWS_MAX + 3):
        world.asked(f"{number:032d}", name=f"job{number}")

    shown = board(world.look(), BoardOptions(text="job"), {"problems": []})

    assert (len(shown.ids), len(shown.cells), shown.more) == (ROWS_MAX, ROWS_MAX, 3)


@given(
    share=st.integers(0, 20), used=st.integers(0, 40), borrowed=st.integers(0, 40), there_is=st.integers(0, 20),
    width=st.integers(1, 60),
)  # fmt: skip
def test_a_bar_is_as_long_as_it_should_be(share: int, used: int, borrowed: int, there_is: int, width: int) -> None:
    use = ProjectUsage(project="p", kind="v4", share=share, used=used, borrowed=min(borrowed, used))
    parts = bar(use, there_is, width)

    assert parts.own + parts.borrowed + parts.idle + parts.rest == width
    assert min(parts.own, parts.borrowed, parts.idle, parts.rest) >= 0
    assert bool(parts.own + parts.borrowed) is bool(used)


def test_without_a_terminal_it_says_what_to_use_instead(bench: Bench) -> None:
    for words in ((), ("--json",)):
        said = bench.bastion("top", *words)
        assert (said.code, said.out) == (2, "")
        assert "use bastion status or launch ls --all" in said.err
