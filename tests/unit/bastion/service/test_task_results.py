"""Each kind of background task yields a type of its own, and the tick has a case for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import pytest

from bastion.model.clocks import ClockReading
from bastion.model.errors import BucketError, LeadershipLost
from bastion.model.stored.events import SightChanged
from bastion.service.background_tasks import BackgroundTasks, then
from bastion.service.maintenance import CLOCK_AGAIN_S
from bastion.service.observations import UnreadableObject
from bastion.service.task_results import (
    NAMES,
    AdminFilesRead,
    BackgroundTask,
    BeatsRead,
    BuildsSeen,
    Done,
    Failed,
    FoldersSwept,
    JobsRetired,
    JournalSound,
    LogSent,
    ObjectsRemoved,
    RunnerSeen,
    SnapshotMade,
    StatusWritten,
    StopAsked,
    TaskResult,
)
from tests.support.doors import HandTasks
from tests.support.town import Town
from tests.support.world import NOON, HandClock

KINDS: tuple[type[Any], ...] = get_args(TaskResult)

SAMPLES: dict[type, TaskResult] = {
    StatusWritten: StatusWritten(),
    LogSent: LogSent(),
    JournalSound: JournalSound(),
    AdminFilesRead: AdminFilesRead(0.0, ()),
    BeatsRead: BeatsRead(0.0, {}, [], {}, []),
    RunnerSeen: RunnerSeen("local", [UnreadableObject("odd")]),
    FoldersSwept: FoldersSwept("local"),
    BuildsSeen: BuildsSeen([UnreadableObject("odd")]),
    ClockReading: ClockReading(NOON, 0.0, 0.0, 0.0),
    SnapshotMade: SnapshotMade(7),
    ObjectsRemoved: ObjectsRemoved(),
    JobsRetired: JobsRetired([]),
    StopAsked: StopAsked(),
}


@dataclass(frozen=True)
class Unknown:
    """A kind of result that the tick has no case for."""


def task(kind: type[Any]) -> BackgroundTask[Any]:
    return BackgroundTask(kind, "local" if kind in (RunnerSeen, FoldersSwept) else "")


def collects(town: Town, ended: BackgroundTask[Any], result: object) -> None:
    """A task ends with this result, or with this error, and a tick takes it in."""
    town.tasks.finished()

    def work() -> object:
        if isinstance(result, Exception):
            raise result
        return result

    assert town.tasks.start(ended, work)
    town.bastion.tick()


@pytest.mark.parametrize("kind", KINDS)
def test_the_tick_has_a_case_for_each_kind_of_result(kind: type[Any]) -> None:
    town = Town()
    town.bastion.problems.say(str(task(kind)), "what was wrong before")
    collects(town, task(kind), SAMPLES[kind])
    assert str(task(kind)) not in town.bastion.problems


def test_a_result_without_a_case_is_not_passed_over() -> None:
    with pytest.raises(AssertionError, match="Unknown"):
        Town().bastion._take(BackgroundTask(StatusWritten), Unknown(), NOON)  # type: ignore[arg-type]


def test_each_kind_of_task_has_a_name_of_its_own_for_people() -> None:
    assert NAMES.keys() == set(KINDS)
    assert len(set(NAMES.values())) == len(KINDS)
    assert [str(task(kind)) for kind in (RunnerSeen, FoldersSwept, StatusWritten)] == [
        "runner local",
        "folders local",
        "status",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_fails_is_a_problem_at_its_name_and_says_of_a_runner_only_if_it_asked_one(kind: type[Any]) -> None:
    town = Town()
    collects(town, task(kind), BucketError("away"))
    assert town.bastion.problems[str(task(kind))] == "away"
    assert (SightChanged(runner="local", why="away") in town.journal()) == (kind is RunnerSeen)


def test_only_a_failed_reading_of_the_clock_is_repeated_before_it_is_due() -> None:
    town = Town()
    chores = town.bastion.chores
    for kind in KINDS:
        chores.due.take(task(kind), 300)
        chores.note_failure(task(kind))
    town.clock.now += CLOCK_AGAIN_S
    assert [kind for kind in KINDS if chores.due.take(task(kind), 300)] == [ClockReading]


@pytest.mark.parametrize("kind", KINDS)
def test_a_bastion_ends_whatever_task_learns_of_its_successor(kind: type[Any]) -> None:
    town = Town()
    with pytest.raises(LeadershipLost):
        collects(town, task(kind), LeadershipLost("another took over"))


def test_two_equal_tasks_never_run_at_once_and_those_of_two_runners_do() -> None:
    hand, clock = HandTasks(held={BackgroundTask(RunnerSeen, "a"), BackgroundTask(RunnerSeen, "b")}), HandClock(now=3)
    tasks = BackgroundTasks(hand, clock)
    first, other = BackgroundTask(RunnerSeen, "a"), BackgroundTask(RunnerSeen, "b")
    assert tasks.start(first, lambda: RunnerSeen("a", ()))
    clock.now += 4
    assert tasks.start(other, lambda: RunnerSeen("b", ()))
    assert not tasks.start(BackgroundTask(RunnerSeen, "a"), lambda: RunnerSeen("a", ()))
    assert tasks.since == {first: 3, other: 7}
    hand.release(first)
    assert not tasks.start(first, lambda: RunnerSeen("a", ())), "its result is not collected yet"
    assert tasks.finished() == [Done(first, RunnerSeen("a", ()))]
    assert tasks.since == {other: 7}
    assert tasks.start(first, lambda: RunnerSeen("a", ()))


def test_a_failed_task_says_which_it_was() -> None:
    tasks = BackgroundTasks(HandTasks(), HandClock())
    error = BucketError("away")

    def fails() -> None:
        raise error

    tasks.start(BackgroundTask(LogSent), then(fails, LogSent()))
    tasks.start(BackgroundTask(StatusWritten), then(lambda: None, StatusWritten()))
    assert tasks.finished() == [
        Failed(BackgroundTask(LogSent), error),
        Done(BackgroundTask(StatusWritten), StatusWritten()),
    ]
