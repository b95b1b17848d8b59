"""The runner of TPU slices on the fake, with the fake's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bastion.google.api import GoogleApi
from bastion.google.settings import GoogleSettings
from bastion.ports import AttemptKey, Machine, Placement
from bastion.system import RandomIds
from runners.tpu.runner import TpuRunner
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT

KEY = AttemptKey("train-12345678", 0, 0)
ZONE, OTHER_ZONE, V5_ZONE = "us-east5-b", "us-east1-d", "us-west4-a"


class FakesClock:
    """The time of the fake; to sleep is to let it pass."""

    def __init__(self, fake: Fake) -> None:
        self._clock = fake.clock

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now, UTC)

    def monotonic(self) -> float:
        return self._clock.now

    def sleep(self, seconds: float) -> None:
        self._clock.advance(seconds)


@dataclass
class Ground:
    """A fake cloud, and a runner on it."""

    fake: Fake
    runner: Any

    def ask(
        self, key: AttemptKey = KEY, resources: dict[str, int] | None = None, slices: int = 1, tier: int = 0
    ) -> None:
        """List, then create, as a turn does."""
        self.runner.list()
        self.runner.create(placement(self.runner, key, resources, slices, tier))

    def passes(self, seconds: float) -> list[Machine]:
        """Let time pass; what is listed then."""
        self.fake.clock.advance(seconds)
        return list(self.runner.list())

    def up(self, key: AttemptKey = KEY, resources: dict[str, int] | None = None, slices: int = 1) -> list[Machine]:
        """The machines of an attempt, running."""
        self.ask(key, resources, slices)
        found = [machine for machine in self.passes(600) if machine.key == key]
        assert found
        assert all(machine.seen for machine in found)
        return found

    def again(self) -> Any:
        """A new runner, as after a restart of the bastion."""
        self.runner = runner(self.fake, self.runner.settings)
        return self.runner

    def rows(self, kind: str) -> dict[str, Any]:
        return {name.rpartition("/")[2]: row for name, row in self.fake.rows(kind).items()}

    def creations(self) -> list[str]:
        """In which zones queued resources were asked for."""
        calls = self.fake.calls("tpu.projects.locations.queuedResources.create")
        return [str(call.parameters["parent"]).rpartition("/")[2] for call in calls]


def at_once(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    def one(item: Any) -> Any:
        try:
            return work(item)
        except Exception as error:
            return error

    return [one(item) for item in items]


def runner(fake: Fake, settings: GoogleSettings, scope: str = "bastion-0123abcd", **more: Any) -> TpuRunner:
    clock = FakesClock(fake)
    google = GoogleApi(PROJECT, clock, RandomIds(), **{"patience_s": 0.0, "limit_s": 0.5, **more})
    return TpuRunner(
        google=google, settings=settings, scope=scope, ids=RandomIds(), clock=clock,
        birth=lambda key, machine: {"machine": machine}, at_once=at_once,
    )  # fmt: skip


def settings(*zones: str, **more: Any) -> GoogleSettings:
    return GoogleSettings(project=PROJECT, zones=list(zones or (ZONE, OTHER_ZONE)), **more)


def placement(
    runner: TpuRunner, key: AttemptKey = KEY, resources: dict[str, int] | None = None, slices: int = 1, tier: int = 0
) -> Placement:
    wanted = resources or {"v6e": 16}
    workers = runner.workers(wanted, slices)
    return Placement(key=key, resources=wanted, replicas=slices, workers=workers, tier=tier, epoch=3)


@contextmanager
def ground(monkeypatch: Any, google: GoogleSettings | None = None, **more: Any) -> Iterator[Ground]:
    with Fake() as fake:
        for name, url in fake.environment().items():
            monkeypatch.setenv(name, url)
        here = Ground(fake, runner(fake, google or settings(), **more))
        try:
            yield here
        finally:
            here.runner.google.close()  # type: ignore[attr-defined]
