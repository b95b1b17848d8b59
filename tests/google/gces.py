"""The runner of VMs on the fake, with the fake's clock; and a bastion's fleet of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bastion.google.api import GoogleApi
from bastion.google.settings import GoogleSettings
from bastion.system import RandomIds
from runners.gce.runner import GceRunner
from tests.google import tpus
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.tpu_fleet import Fleet, key_of
from tests.google.tpus import FakesClock, at_once

ZONE, OTHER_ZONE, FAR_ZONE = "us-central1-a", "us-central1-c", "us-east4-a"
BULK = "compute.instances.bulkInsert"


class Ground(tpus.Ground):
    """A fake cloud, and a runner of VMs on it."""

    def again(self) -> GceRunner:
        self.runner = runner(self.fake, self.runner.settings)
        return self.runner

    def creations(self) -> list[str]:
        """In which zones VMs were asked for."""
        return [str(call.parameters["zone"]) for call in self.fake.calls(BULK)]

    def bodies(self) -> list[dict[str, Any]]:
        """What was asked for."""
        return [dict(call.body) for call in self.fake.calls(BULK)]


class GceFleet(Fleet):
    """A bastion whose machines are VMs."""

    def work(self) -> None:
        """Each VM that is up claims as its worker, if it may."""
        for row in self.ground.fake.rows("instances").values():
            if row["status"] != "RUNNING":
                continue
            told = {one["key"]: one["value"] for one in row["metadata"]["items"]}
            machine = f"{told['machine'].replace('*', row['name'])}/0"
            self.claim(key_of(row), int(row["name"].rpartition("-")[2]), machine)


def runner(fake: Fake, settings: GoogleSettings, scope: str = "bastion-0123abcd", **more: Any) -> GceRunner:
    clock = FakesClock(fake)
    google = GoogleApi(PROJECT, clock, RandomIds(), **{"patience_s": 0.0, "limit_s": 3.0, **more})
    return GceRunner(
        google=google, settings=settings, scope=scope, ids=RandomIds(), clock=clock,
        birth=lambda key, machine: {"machine": machine, "startup-script": "#"}, at_once=at_once,
    )  # fmt: skip


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
            here.runner.google.close()
