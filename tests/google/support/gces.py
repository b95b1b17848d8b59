"""The runner of VMs on the fake, over HTTP, with the fake's clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bastion.model.settings.tables import GoogleSettings
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.gce.runner import GceRunner
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.testing.fleets import sealing
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support import tpus
from tests.google.support.kinds import SCOPE, FakesClock, at_once

ZONE, OTHER_ZONE, FAR_ZONE = "us-central1-a", "us-central1-c", "us-east4-a"
BULK = "compute.instances.bulkInsert"


class Ground(tpus.Ground):
    """A fake cloud, and a runner of VMs on it."""

    def again(self) -> GceRunner:
        self.runner = runner(self.fake, self.runner.context.settings)
        return self.runner

    def creations(self) -> list[str]:
        """In which zones VMs were asked for."""
        return [str(call.parameters["zone"]) for call in self.fake.calls(BULK)]

    def bodies(self) -> list[dict[str, Any]]:
        """What was asked for."""
        return [dict(call.body) for call in self.fake.calls(BULK)]


def runner(fake: Fake, settings: GoogleSettings, scope: str = SCOPE, **more: Any) -> GceRunner:
    clock = FakesClock(fake)
    google = GoogleApi(PROJECT, clock, RandomIds(), **{"patience_s": 0.0, "limit_s": 3.0, **more})
    site = GoogleContext(
        google=google, settings=settings, scope=scope, ids=RandomIds(), seal=sealing(), clock=clock,
        birth=lambda key, machine: {"machine": machine, "startup-script": "#"}, at_once=at_once,
    )  # fmt: skip
    return GceRunner(context=site)


def settings(*zones: str, **more: Any) -> GoogleSettings:
    return GoogleSettings(project=PROJECT, zones=list(zones or (ZONE, OTHER_ZONE)), **more)


@contextmanager
def ground(monkeypatch: Any, google: GoogleSettings | None = None, **more: Any) -> Iterator[Ground]:
    with Fake() as fake:
        for name, url in fake.environment().items():
            monkeypatch.setenv(name, url)
        here = Ground(fake, runner(fake, google or settings(), **more))
        try:
            yield here
        finally:
            here.runner.context.google.close()
