"""`launch ls --watch`: news are shown, looking is cheap, and Ctrl-C leaves everything as it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO

import pytest

from bastion.cli.launch.ls import TableOptions, cropped, looks, watch
from bastion.cli.terminal.output import Output
from bastion.cli.terminal.table import JSON, TABLE
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.view import JobFilter
from bastion.model.errors import AccessDenied, BucketError
from bastion.model.interfaces import Bucket, Stat
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import Ended, Gone
from bastion.stores.counting import CountingBucket
from tests.support.bench import Bench, Terminal
from tests.support.world import World

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def ctrl_c() -> None:
    """What the user does last."""
    raise KeyboardInterrupt


def watched(
    world: World, *happens: Callable[[], object], form: str = TABLE, out: StringIO | None = None,
    bucket: Bucket | None = None, **environ: str,
) -> tuple[str, str]:  # fmt: skip
    """Standard output and error of watching everything, while this happens between the looks."""
    output = Output(out or StringIO(), StringIO(), json=form == JSON, environ=environ)
    reader = BastionReader(bucket or world.bucket, world.clock, world.tasks)
    asked = TableOptions(bastion="b", user="alice", meant=JobFilter(), limit=None, form=form)
    world.clock.script = [*happens, ctrl_c]
    with pytest.raises(KeyboardInterrupt):
        watch(output, asked, looks(reader.look(), reader, world.clock, 2.0))
    return output.out.getvalue(), output.err.getvalue()  # type: ignore[attr-defined]


def nothing() -> None:
    """Only time passes."""


def test_a_pipe_gets_a_fresh_table_when_something_changed() -> None:
    world = World()
    world.ticks()
    job = world.submitted(name="train")

    out, _ = watched(world, nothing, lambda: world.runs(job), nothing, nothing)

    tables = out.split("\n\n")
    assert [table.splitlines()[1].split()[5] for table in tables] == ["PENDING", "RUNNING"]


def test_a_reason_that_counts_down_is_no_news() -> None:
    world = World()
    world.ticks()
    job = world.submitted(name="train", max_tries=2, retry_interval_s=60)
    key, at = world.runs(job), world.clock.wall() + timedelta(seconds=60)
    world.happens(
        Gone(job=job, task=0, attempt=0, worker=0),
        Ended(job=job, task=key.task, attempt=0, cause=Cause.CODE, outcome=JobState.PENDING, reason="", ready_at=at),
    )

    out, _ = watched(world, nothing, nothing, nothing)

    assert out.count("tries again in") == 1


def test_a_bastion_that_falls_silent_is_news() -> None:
    world = World()
    world.ticks()

    def silence() -> None:
        world.clock.now += 840

    out, _ = watched(world, nothing, silence, nothing, nothing)

    assert out.count("no jobs.") == 2
    assert "last tick 14m" in out


def test_each_news_is_one_json_object() -> None:
    world = World()

    out, _ = watched(world, lambda: world.submitted(), nothing, form=JSON, out=Terminal())

    assert [len(json.loads(line)["jobs"]) for line in out.splitlines()] == [0, 1]


def test_an_unchanged_look_costs_two_requests() -> None:
    world = World()
    world.ticks()
    world.submitted()
    counted = CountingBucket(world.bucket)
    costs: list[int] = []

    def count() -> None:
        costs.append(counted.counts.total())
        counted.counts.clear()

    watched(world, *[count] * 7, bucket=counted)

    assert costs[1:] == [2] * 6


def test_a_job_that_was_just_submitted_is_seen_by_the_second_look() -> None:
    world = World()

    out, _ = watched(world, lambda: world.asked(), nothing)

    assert "the scheduler has not picked it up yet" in out


class Flaky(CountingBucket):
    """A store that does not answer while there is a `problem`."""

    problem: Exception | None = None

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        if self.problem:
            raise self.problem
        return super().list(prefix, after=after)


def test_a_store_that_does_not_answer_is_told_once_and_asked_again() -> None:
    world = World()
    flaky = Flaky(world.bucket)
    silent = lambda: setattr(flaky, "problem", BucketError("no answer"))  # noqa: E731

    def back() -> None:
        flaky.problem = None
        world.submitted()

    out, err = watched(world, silent, nothing, back, bucket=flaky)

    assert err == "no answer; trying again\n"
    assert out.count("last") + out.count("never seen") == 2


def test_what_waiting_does_not_help_ends_it() -> None:
    world = World()
    flaky = Flaky(world.bucket)
    reader = BastionReader(flaky, world.clock, world.tasks)
    seen = looks(reader.look(), reader, world.clock, 2.0)
    next(seen)
    flaky.problem = AccessDenied("no")

    with pytest.raises(AccessDenied):
        next(seen)


def test_a_terminal_is_drawn_over_and_given_back() -> None:
    world = World()
    world.ticks()
    for number in range(9):
        world.submitted(f"{number:032d}", name=f"job{number}")

    out, _ = watched(world, nothing, out=Terminal(), COLUMNS="60", LINES="6")

    assert out.startswith(ENTER)
    assert out.count(ENTER) == out.count(LEAVE) == 1
    assert out.rindex("\x1b[?25h") > out.rindex("last tick")
    assert out.index(LEAVE) > out.rindex("last tick")
    assert "14 more lines; -u, -p, -s and -n show fewer" in out
    assert "job3" not in out
    assert out.count("9 PENDING") == 2


@pytest.mark.parametrize(("room", "kept"), [(5, 4), (4, 4), (3, 2), (1, 0), (0, 0), (-3, 0)])
def test_what_does_not_fit_is_counted(room: int, kept: int) -> None:
    shown = cropped(["a", "b", "c", "d"], room)

    assert shown[:kept] == ["a", "b", "c", "d"][:kept]
    assert len(shown) <= max(0, room)
    assert shown[kept:] in ([], [f"{4 - kept} more lines; -u, -p, -s and -n show fewer"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--watch=0",), "--watch is 0; use 0.5 seconds or more"),
        (("--watch=nan",), "--watch is nan; use"),
        (("-w", "-o", "csv"), "--watch goes with tables and json"),
    ],
)
def test_what_cannot_be_watched(bench: Bench, words: tuple[str, ...], complaint: str) -> None:
    said = bench.launch("ls", *words)

    assert said.code == 2
    assert complaint in said.err


def test_the_end_of_a_job_is_news() -> None:
    world = World()
    key = world.runs(world.submitted(name="train"))

    out, _ = watched(world, lambda: world.ends(key, Cause.OK, JobState.SUCCEEDED, code=0))

    assert out.count("SUCCEEDED") == 2
