"""A hundred followers of one job: they cost the bastion nothing, one word keeps its output coming, and it comes soon."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from bastion.launcher.logs import task_follower
from bastion.launcher.logs.follower_notice import WATCH_S
from bastion.launcher.logs.log_lines import LogSelection
from bastion.launcher.read.job_lookup import find
from bastion.launcher.read.reader import BastionReader
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.job.spec import new_jobspec
from bastion.model.stored.requests import Submit
from bastion.quota.resources import Resources
from bastion.runners.worker.interfaces import WorkerPace
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.stores.counting import CountingBucket
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life, SimClock, SimIds, SimTasks
from tests.simulation.parts.store import SimBucket, Store

FOLLOWERS = 100
SOON_S = 2.0
YOUNG_S = WorkerPace().young_s
RAMP_S = 10.0
"""How long after its first follower a worker may take to hear of it."""


class PromptBucket(SimBucket):
    """A way to the store that takes no time: so two minutes of a bastion that has nothing to do are the same."""

    def _call(self, what: str, effect: Callable[[], Any], told: Callable[[Any], str], *, may_echo: bool = False) -> Any:
        return effect()


class OneMachine(SimRunner):
    """A fleet that one job takes."""

    name = "local"

    def capacity(self) -> Resources | None:
        return {"v4": 1}


class Scene:
    """A bastion, one job that prints the time every `every_s` seconds, and those who follow it."""

    def __init__(self, every_s: float) -> None:
        self.kernel = kernel = Kernel(5)
        self.store = Store(kernel)
        self.words: list[float] = []
        self.segments = 0
        self.late: list[float] = []
        self.bastion = CountingBucket(PromptBucket(self.store))
        self.followers: list[CountingBucket] = []
        self._every_s = every_s
        self._hosts: dict[str, SimHost] = {}
        self._clock, self._ids = SimClock(kernel), SimIds(kernel)
        spec = new_jobspec(name="j", user="ann", project="red", command="tell", resources={"v4": 1})
        PromptBucket(self.store).create(layout.request("ann", self._ids.new()), encode(Submit(spec=spec)))
        kernel.spawn(Life(), self._be_bastion)
        kernel.sleep(20)
        assert len(self._hosts) == 1, "the job never began"
        self.store.watchers.append(self._note)

    def asks(self, seconds: float) -> Counter[str]:
        """What the bastion asks of the bucket from now on."""
        before = self.bastion.counts.copy()
        self.kernel.sleep(seconds)
        return self.bastion.counts - before

    def follow(self, life: Life, after: float, wrong_s: float = 0.0) -> None:
        """Somebody follows, whose clock is wrong by so much."""
        bucket = CountingBucket(SimBucket(self.store))
        self.followers.append(bucket)
        self.kernel.spawn(life, lambda: self._follow(life, bucket, wrong_s), after)

    def measured(self, seconds: float) -> list[float]:
        """How late the lines were that followers saw in this time, best first."""
        self.late.clear()
        self.kernel.sleep(seconds)
        return sorted(self.late)

    def _be_bastion(self) -> None:
        doors = ServiceContext(
            bucket=self.bastion,
            runners={"local": OneMachine(self.kernel, self._way, {"tell": self._tell}, self._hosts)},
            clock=self._clock,
            ids=self._ids,
            tasks=SimTasks(self.kernel, Life()),
            snapshot=lambda: None,
        )
        bastion = loop.begin(
            doors, loop.ThisBastion(name="b", host="h", boot="b", pid=1, alive=lambda _pid: False), 0.5
        )
        while True:
            bastion.tick()
            doors.tasks.wait(bastion.idle_s())

    def _way(self, _machine: object) -> SimBucket:
        return SimBucket(self.store)

    def _tell(self, process: SimProcess) -> int:
        while True:
            process.print(f"{self.kernel.now}\n")
            process.sleep(self._every_s)

    def _follow(self, life: Life, bucket: CountingBucket, wrong_s: float) -> None:
        clock, tasks = WrongClock(self.kernel, wrong_s), SimTasks(self.kernel, life)
        reader = BastionReader(bucket, clock, tasks)
        doors = task_follower.FollowContext(bucket=bucket, clock=clock, tasks=tasks, reader=reader)
        screen = task_follower.FollowOutput(lines=self._see, note=lambda _text: None)
        task_follower.follow(doors, find("j", reader.look()), 0, LogSelection(tail=0), screen)

    def _see(self, lines: list[str]) -> None:
        self.late += [self.kernel.now - float(line) for line in lines]

    def _note(self, _verb: str, key: str, _data: bytes) -> None:
        if key.startswith("watch/"):
            self.words.append(self.kernel.now)
        self.segments += key.startswith("logs/")


class WrongClock(SimClock):
    """A clock whose time of day is wrong."""

    def __init__(self, kernel: Kernel, wrong_s: float) -> None:
        super().__init__(kernel)
        self._wrong_s = wrong_s

    def wall(self) -> datetime:
        return super().wall() + timedelta(seconds=self._wrong_s)


def gaps(moments: list[float]) -> Iterator[float]:
    return (later - sooner for sooner, later in itertools.pairwise(moments))


def p95(late: list[float]) -> float:
    return late[int(0.95 * len(late))]


@pytest.fixture
def chatty() -> Scene:
    return Scene(every_s=0.25)


def test_a_hundred_followers_cost_the_bastion_nothing_and_see_each_line_soon(chatty: Scene) -> None:
    chatty.kernel.sleep(YOUNG_S)
    alone = chatty.asks(60)
    for number in range(FOLLOWERS):
        chatty.follow(Life(), after=number * 0.01)
    chatty.kernel.sleep(RAMP_S)
    asked = [bucket.counts.total() for bucket in chatty.followers]
    lines, stored, followed = len(chatty.late), chatty.segments, chatty.asks(240)

    assert {verb: 4 * n for verb, n in alone.items()} == followed, "the bastion was asked for by followers"
    late = sorted(chatty.late[lines:])
    assert len(late) == pytest.approx(FOLLOWERS * 240 / 0.25, rel=0.02)
    assert p95(late) < SOON_S
    assert late[-1] < 2 * SOON_S, "there was a gap"
    assert len(chatty.words) == pytest.approx((RAMP_S + 240) / WATCH_S, abs=1), "more than one told the worker"
    assert min(gaps(chatty.words)) >= WATCH_S - 1
    rates = [(bucket.counts.total() - then) / 240 for bucket, then in zip(chatty.followers, asked, strict=True)]
    stored = chatty.segments - stored
    assert stored / 240 < 2.0
    assert max(rates) < 2.75 + stored / 240, (
        "more than a look at each turn, a read of each segment, and the journal's end"
    )


def test_a_quiet_job_is_asked_for_less_and_its_lines_are_still_seen_soon() -> None:
    scene = Scene(every_s=41.0)
    scene.kernel.sleep(YOUNG_S)
    for _ in range(10):
        scene.follow(Life(), after=scene.kernel.random.random())
    scene.kernel.sleep(120)
    asked = [bucket.counts.total() for bucket in scene.followers]

    assert p95(scene.measured(1200)) < SOON_S
    rates = [(bucket.counts.total() - then) / 1200 for bucket, then in zip(scene.followers, asked, strict=True)]
    assert max(rates) < 2.5


def test_who_comes_to_a_job_that_is_watched_writes_nothing(chatty: Scene) -> None:
    chatty.kernel.sleep(YOUNG_S)
    chatty.follow(Life(), after=0)
    for number in range(50):
        chatty.follow(Life(), after=1 + 4 * number)
    chatty.kernel.sleep(200)
    assert min(gaps(chatty.words)) >= WATCH_S - 1
    assert len(chatty.words) == 7


def test_when_the_one_who_writes_goes_another_does_and_nobody_sees_a_gap(chatty: Scene) -> None:
    chatty.kernel.sleep(YOUNG_S)
    lives = [Life() for _ in range(5)]
    for number, life in enumerate(lives):
        chatty.follow(life, after=0.1 * number)
    chatty.kernel.sleep(RAMP_S)
    for life in lives[:-1]:
        chatty.kernel.sleep(25)
        life.end()
    late = chatty.measured(120)
    assert late[-1] < 2 * SOON_S
    assert max(gaps(chatty.words)) <= WATCH_S + 1


@pytest.mark.parametrize("wrong_s", [-3600.0, 3600.0])
def test_a_wrong_clock_costs_one_word_and_no_more(chatty: Scene, wrong_s: float) -> None:
    chatty.kernel.sleep(YOUNG_S)
    chatty.follow(Life(), after=0)
    chatty.follow(Life(), after=10, wrong_s=wrong_s)
    chatty.kernel.sleep(300)
    assert len(chatty.words) <= 300 / WATCH_S + 2
    assert max(gaps(chatty.words)) <= WATCH_S + 1


def test_a_word_of_long_ago_is_renewed_at_once(chatty: Scene) -> None:
    life = Life()
    chatty.follow(life, after=0)
    chatty.kernel.sleep(5)
    life.end()
    chatty.kernel.sleep(300)
    chatty.follow(Life(), after=0)
    chatty.kernel.sleep(5)
    assert len(chatty.words) == 2
    chatty.kernel.sleep(RAMP_S)
    assert p95(chatty.measured(60)) < SOON_S
