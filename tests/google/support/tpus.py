"""The runner of TPU slices on the fake, over HTTP, with the fake's clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import AttemptKey, Machine, Placement
from bastion.model.settings.tables import GoogleSettings
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.runners.google.tpu.runner import TpuRunner
from bastion.testing.fleets import sealing
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support.kinds import SCOPE, FakesClock, at_once

KEY = AttemptKey("train-12345678", 0, 0)
ZONE, OTHER_ZONE, V5_ZONE = "us-east5-b", "us-east1-d", "us-west4-a"


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
        self.runner = runner(self.fake, self.runner.context.settings)
        return self.runner

    def rows(self, kind: str) -> dict[str, Any]:
        return {name.rpartition("/")[2]: row for name, row in self.fake.rows(kind).items()}

    def creations(self) -> list[str]:
        """In which zones queued resources were asked for."""
        calls = self.fake.calls("tpu.projects.locations.queuedResources.create")
        return [str(call.parameters["parent"]).rpartition("/")[2] for call in calls]


def runner(fake: Fake, settings: GoogleSettings, scope: str = SCOPE, **more: Any) -> TpuRunner:
    clock = FakesClock(fake)
    google = GoogleApi(PROJECT, clock, RandomIds(), **{"patience_s": 0.0, "limit_s": 0.5, **more})
    site = GoogleContext(
        google=google, settings=settings, scope=scope, ids=RandomIds(), seal=sealing(), clock=clock,
        birth=lambda key, machine: {"machine": machine}, at_once=at_once,
    )  # fmt: skip
    return TpuRunner(context=site)


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
            here.runner.context.google.close()  # type: ignore[attr-defined]
