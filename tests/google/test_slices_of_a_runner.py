"""Slices by their runner: it asks for two, each boots by the metadata of the API, their workers run the job, both are deleted."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.journal import logs
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.stored.records import Facts
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds
from bastion.runners.delivery.archive import Archive
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.machines.boot import MachineBoot
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.runners.google.tpu.runner import TpuRunner
from bastion.stores.opening import open_part
from bastion.testing.fleets import sealing
from bastion.testing.stage import order
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support.kinds import FakesClock, at_once
from tests.google.support.machines import Room
from tests.google.support.tpus import placement, settings

KEY = AttemptKey("train-12345678", 0, 0)
PATIENCE_S = 180.0
SAYS = 'echo "on $BASTION_MACHINE"'


@dataclass
class Fleet:
    """A runner on a fake whose machines are real, with a store."""

    fake: Fake
    runner: TpuRunner
    bucket: Bucket

    def up(self, resources: dict[str, int], slices: int = 1) -> None:
        """Have the attempt's machines boot."""
        self.runner.list()
        self.runner.create(placement(self.runner, KEY, resources, slices))
        self.fake.clock.advance(300)
        self.fake.machines.settle()

    def facts(self, worker: int) -> Facts | None:
        try:
            found: Facts = decode(self.bucket.read(layout.facts(KEY, worker)).data, Facts, "facts")
        except ObjectNotFound:
            return None
        return found

    def ended(self, worker: int) -> Facts:
        self.until(lambda: (facts := self.facts(worker)) is not None and facts.phase == "ended")
        facts = self.facts(worker)
        assert facts is not None
        return facts

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, [machine.said for machine in self.fake.machines.all()]
            time.sleep(0.05)

    def log(self, worker: int) -> str:
        segments = logs.survey(self.bucket, layout.log(KEY, worker)).segments
        return b"".join(logs.read(self.bucket, segments)).decode()


@pytest.fixture
def fleet(
    tmp_path: Path, store: str, archive: Archive, gcs_address: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Fleet]:
    bucket = open_part(store)
    with Fake(machines=Room(tmp_path), machine_environ={"STORAGE_EMULATOR_HOST": gcs_address}) as fake:
        for name, url in fake.environment().items():
            monkeypatch.setenv(name, url)
        clock, ids = FakesClock(fake), RandomIds()
        google = GoogleApi(PROJECT, clock, ids, patience_s=0.0, limit_s=3.0)
        site = GoogleContext(
            google=google,
            settings=settings("us-central2-b", "us-east5-b"),
            scope="bastion-0123abcd",
            ids=ids,
            seal=sealing(),
            clock=clock,
            birth=MachineBoot(bucket, store, SystemShell(), {}, make=lambda _: archive),
            at_once=at_once,
        )
        yield Fleet(fake, TpuRunner(context=site), bucket)
        google.close()


def test_every_slice_runs_its_worker(fleet: Fleet) -> None:
    fleet.bucket.write(layout.order(KEY), encode(order(KEY, SAYS)))
    fleet.up({"v6e": 8}, slices=2)
    listed = {machine.worker: machine.id for machine in fleet.runner.list()}
    assert sorted(listed) == [0, 1]
    for worker, machine in listed.items():
        facts = fleet.ended(worker)
        assert (facts.exit_code, facts.machine) == (0, machine)
        assert fleet.log(worker) == f"on {machine}\n"
    for machine in listed.values():
        fleet.runner.delete(machine)
    fleet.fake.clock.advance(60)
    assert fleet.fake.rows("queuedResources") == fleet.fake.rows("nodes") == {}
    assert fleet.fake.machines.all() == []
