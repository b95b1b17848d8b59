"""A bastion with jobs on slices or VMs of the fake, under a storm from a seed: it is killed at any call, and begun anew."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bastion.journal import snapshot
from bastion.journal.own_log import OwnLog
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import LeadershipLost
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import new_jobspec
from bastion.model.layout import job_id
from bastion.model.state.state import ENDED, Cause, Job
from bastion.model.stored.requests import Cancel, Request, Submit
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from bastion.testing.fleets import sealing
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support.crew import Crew
from tests.google.support.kinds import SCOPE, FakesClock, Kind
from tests.google.support.near import NearGoogle
from tests.support.doors import FaultyBucket, HandTasks

CALM_TURNS = 400


class Killed(BaseException):
    """The bastion is no more, in the middle of whatever it did."""


@dataclass
class Knife:
    """Kills the bastion at a call: before it has its effect, or after."""

    left: int = -1

    def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


@dataclass
class SharpBucket(FaultyBucket):
    """A memory bucket at each of whose calls the bastion may be killed."""

    knife: Knife = field(default_factory=Knife)

    def _call(self, verb: str, key: str, effect: Callable[[], Any]) -> Any:
        self.knife()
        result = effect()
        self.knife()
        return result


@dataclass
class SeededIds:
    """Names from a seed."""

    random: Random

    def new(self) -> str:
        return f"{self.random.getrandbits(128):032x}"


class Storm:
    """One schedule: the same for the same seed."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind = kind
        self.random, self.ids, self.knife = Random(seed), SeededIds(Random(f"ids {seed}")), Knife()
        self.bucket = SharpBucket(knife=self.knife)
        self.crew = Crew(self.bucket.inner, self.ids, self._lasts, boots=lambda: self.random.uniform(0, 60))
        self.fake = Fake(seed=seed, machines=self.crew)
        self.clock = self.crew.clock = FakesClock(self.fake)
        self.settings = kind.settings(tiers=[self.random.choice(("on-demand", "spot"))])
        self.lengths: dict[str, tuple[float, Cause]] = {}
        self.kills = 0
        self.bucket.inner.write(layout.CONFIG, f'runners = ["{kind.name}"]\n[google]\nproject = "{PROJECT}"\n'.encode())
        self.bastion = self._begun()

    def play(self) -> None:
        """Some jobs come while everything goes wrong; then nothing does any more, and all of them end."""
        for _ in range(self.random.randint(1, 3)):
            self._submit()
        for _ in range(self.random.randint(8, 30)):
            self._mischief()
            self._turn(self.random.choice((3.0, 10.0, 20.0)))
        self._calm()
        for _ in range(CALM_TURNS):
            self._turn(20.0)
            if self.is_over():
                return

    def is_over(self) -> bool:
        """Every job has ended, and nothing is left in the cloud."""
        return not self.left() and all(job.state in ENDED for job in self.jobs())

    def jobs(self) -> list[Job]:
        return list(self.bastion.journal.state.jobs.values())

    def left(self) -> list[str]:
        """What there is of any kind that costs."""
        rows = {name: row for kind in self.kind.costs for name, row in self.fake.rows(kind).items()}
        return [f"{name}: {row.get('state', row.get('status'))}" for name, row in rows.items()]

    # The bastion

    def _turn(self, seconds: float) -> None:
        self.fake.clock.advance(seconds)
        self.crew.work()
        try:
            loop.turn(self.bastion)
        except (Killed, LeadershipLost):
            self._killed()

    def _killed(self) -> None:
        """The bastion begins anew."""
        self.knife.left = -1
        self.kills += 1
        self.bastion = self._begun()

    def _begun(self) -> Bastion:
        """A bastion that remembers nothing."""
        log = logging.getLogger("bastion")
        for handler in [one for one in log.handlers if isinstance(one, OwnLog)]:
            log.removeHandler(handler)
        tasks = HandTasks()
        site = GoogleContext(
            google=NearGoogle(self.fake, self.clock, self.ids, self.knife), settings=self.settings,
            scope=SCOPE, ids=self.ids, seal=sealing(), clock=self.clock, birth=self.crew.birth,
            at_once=tasks.map, given=self.kind.pool,
        )  # fmt: skip
        self.runner = self.kind.runner(context=site)
        doors = ServiceContext(
            bucket=self.bucket, runners={self.kind.name: self.runner}, clock=self.clock, ids=self.ids, tasks=tasks,
            snapshot=lambda: snapshot.make(self.bucket.inner),
        )  # fmt: skip
        me = loop.ThisBastion(name="b", host="here", boot="boot", pid=1, alive=lambda pid: False)
        return loop.begin(doors, me, 1.0)

    # Users

    def _submit(self) -> None:
        resources, replicas = self.random.choice(self.kind.shapes)
        spec = new_jobspec(
            name=f"j{self.random.randrange(10)}", user="ada", project="p", command=["x"],
            resources=resources, replicas=replicas, max_tries=2, grace_s=5,
        )  # fmt: skip
        request = self.ids.new()
        one, gang = (self.runner.workers(resources, number) for number in (1, replicas))
        self.crew.gangs[job_id(spec.name, request)] = one, gang
        self._asks(Submit(spec=spec), request)

    def _asks(self, request: Request, name: str = "") -> None:
        self.bucket.inner.create(layout.request("ada", name or self.ids.new()), encode(request))

    def _lasts(self, key: AttemptKey) -> tuple[float, Cause]:
        """How long an attempt's command runs, and how it ends."""
        at = str(key)
        if at not in self.lengths:
            cause = self.random.choice((Cause.OK, Cause.OK, Cause.CODE))
            self.lengths[at] = self.random.uniform(5, 600), cause
        return self.lengths[at]

    # What goes wrong

    def _mischief(self) -> None:
        faults, draw = self.fake.faults, self.random
        draw.choice((*_ACTS, *_OF_ONE[self.kind.name]))(self)
        if draw.random() < 0.1:
            faults.calm()

    def _calm(self) -> None:
        """From now on everything works; half of the jobs that are left are cancelled."""
        self._works()
        for job in self.jobs():
            if job.state not in ENDED and self.random.random() < 0.5:
                self._asks(Cancel(job=job.id, task=None))

    def _works(self) -> None:
        """Nothing is wrong any more."""
        faults = self.fake.faults
        faults.calm()
        faults.lag_s = 0.0
        faults.hanging.clear()
        faults.silent.clear()
        faults.limits.clear()
        faults.renew_credentials()
        faults.out_of_stock.clear()
        faults.left.clear()
        faults.restocked()


def _any(storm: Storm, kind: str) -> str:
    """The name of something that is there; empty if nothing is."""
    names = sorted(storm.fake.rows(kind))
    return storm.random.choice(names) if names else ""


def _on_one(do: Callable[[Storm, str], object]) -> Callable[[Storm], None]:
    def act(storm: Storm) -> None:
        if name := _any(storm, storm.kind.machines):
            do(storm, name)

    return act


def _draws(storm: Storm) -> None:
    rate = storm.random.choice((0.05, 0.2, 0.5))
    storm.fake.faults.draw(Random(storm.random.random()), rate)


def _kill(storm: Storm) -> None:
    storm.knife.left = storm.random.randint(1, 60)


def _asked_twice(storm: Storm) -> None:
    """A creation is late, the bastion is killed, and asks for the same in another zone: an admin turned them around."""
    storm._works()
    storm._submit()
    storm.fake.faults.come_late(storm.kind.creations[0], storm.random.uniform(5, 60))
    for _ in range(6):
        storm._turn(3.0)
        if not storm.fake.faults.plans:  # it has been asked for
            break
    storm.settings = storm.kind.settings(zones=storm.settings.zones[::-1], tiers=storm.settings.tiers)
    storm._killed()


def _cancel(storm: Storm) -> None:
    if jobs := sorted(storm.jobs(), key=lambda job: job.id):
        storm._asks(Cancel(job=storm.random.choice(jobs).id, task=None))


def _time_goes(storm: Storm) -> None:
    """The bastion is gone for a while, and the fleet goes on."""
    for _ in range(storm.random.randint(1, 20)):
        storm.fake.clock.advance(15)
        storm.crew.work()


def _late(storm: Storm) -> None:
    creation = storm.random.choice(storm.kind.creations)
    storm.fake.faults.come_late(creation, storm.random.choice((1.0, 30.0, 200.0, 700.0)))


def _limit(storm: Storm) -> None:
    metric, place = storm.kind.limited
    storm.fake.faults.limit(metric, 16, place=place)


def _stock_out(storm: Storm) -> None:
    zone = storm.random.choice((storm.kind.zones[0], "*"))
    storm.fake.faults.stock_out(zone, fails=storm.random.random() < 0.5)


_ACTS: tuple[Callable[[Storm], object], ...] = (
    *(_kill,) * 6,
    *(_draws,) * 2,
    *(_asked_twice,) * 2,
    _cancel,
    _time_goes,
    _stock_out,
    _limit,
    _late,
    Storm._submit,
    lambda storm: None,
    lambda storm: storm.fake.faults.restock(storm.kind.zones[0]),
    lambda storm: storm.fake.faults.restock(),
    lambda storm: storm.fake.faults.limits.clear(),
    lambda storm: storm.fake.faults.lose_answer(storm.random.choice(storm.kind.creations)),
    lambda storm: storm.fake.faults.lose_answer(storm.kind.deletion),
    lambda storm: storm.fake.faults.fail("*", storm.random.choice((429, 500, 503)), times=storm.random.randint(1, 9)),
    lambda storm: setattr(storm.fake.faults, "lag_s", storm.random.choice((0.0, 20.0, 90.0))),
    lambda storm: storm.fake.faults.hang_deletion("*"),
    lambda storm: storm.fake.faults.hanging.clear(),
    lambda storm: storm.fake.faults.silence(storm.kind.zones[0]),
    lambda storm: storm.fake.faults.silent.clear(),
    lambda storm: storm.fake.faults.expire_credentials(),
    lambda storm: storm.fake.faults.renew_credentials(),
    *(_on_one(lambda storm, name: storm.fake.preempt(name)),) * 3,
    _on_one(lambda storm, name: storm.fake.vanish(name)),
    _on_one(lambda storm, name: storm.fake.maintain(name, 30.0)),
)
_OF_ONE: dict[str, tuple[Callable[[Storm], object], ...]] = {
    "tpu": (_on_one(lambda storm, name: storm.fake.sicken(name)),),
    "gce": (lambda storm: storm.fake.faults.leave(storm.kind.zones[0], "*", storm.random.randrange(4)),),
}
