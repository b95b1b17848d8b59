"""The runners of Google's machines keep the runners' contract: the fake's API, and real workers on machines that weigh little."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bastion.model.interfaces import AttemptKey, Runner
from bastion.model.job.instances import VM_TYPES
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds
from bastion.runners.delivery.archive import Archive
from bastion.runners.google.gce import render as gce
from bastion.runners.google.machines.boot import MachineBoot
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.runners.google.machines.names import GoogleHost, GoogleLabels, host_of
from bastion.runners.google.tpu import render as tpu
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import sealing
from bastion.testing.runner_contract import RunnerContract
from tests.google.fake import Fake
from tests.google.fake.cloud import Guest
from tests.google.support.kinds import GCE, SCOPE, TPU, FakesClock, Kind, at_once
from tests.google.support.light import Light, Machine
from tests.google.support.near import NearGoogle

_DEADLINE_S = 180.0
_LOOK_S, _STEP_S = 0.02, 5.0
"""Between two looks: of the real time, and of the fake's."""


class GoogleFleet:
    """One of Google's runners on one bastion's part of a bucket below `folder`."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.kind = kind
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.machines = Light(folder / "machines", self._gpus)
        self.fake = Fake(machines=self.machines)
        self.clock = FakesClock(self.fake)
        flags = {"steady_flush_s": "1", "stop_s": "0.5"}
        nothing = Archive("0" * 64, lambda: b"")  # who starts these machines' workers needs none
        self.birth = MachineBoot(
            self.bucket, self.bucket.url, SystemShell(), flags, run_as="root", make=lambda _: nothing
        )
        self.runner = self.again()

    def again(self) -> Runner:
        return self._made(SCOPE)

    def stranger(self) -> Runner:
        return self._made("another-0123abcd")

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"no sign of {what}"
            time.sleep(_LOOK_S)
            self.fake.clock.advance(_STEP_S)

    def crash_worker(self, machine: str) -> None:
        at = self._machine(machine)
        for process in at.workers():
            process.suspend()
        for process in at.workers():
            process.kill()
        self.until(lambda: not at.workers(), "the worker's death")

    def take_away(self, machine: str) -> None:
        host = host_of(machine)
        assert host
        self.fake.preempt(host.name, notice_s=1e9)

    def is_idle(self, machine: str) -> bool:
        return self._machine(machine).over

    @contextmanager
    def away(self) -> Iterator[None]:
        self.fake.faults.drop("*", times=math.inf)
        try:
            yield
        finally:
            self.fake.faults.calm()

    @contextmanager
    def answers_lost(self) -> Iterator[None]:
        self.fake.faults.lose_answer(self.kind.creations[0])
        try:
            yield
        finally:
            self.fake.faults.calm()

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """Somebody who may make machines in the project gives one the labels of ours."""
        mark = GoogleLabels(scope=SCOPE, key=key, epoch=epoch, nonce="0" * 32)
        zone, google = self.kind.zones[0], self.kind.settings()
        door = NearGoogle(self.fake, self.clock, RandomIds(), lambda: None)
        if self.kind is TPU:
            body = tpu.body(google, zone, "eve", mark, tpu.wanted({"v6e": 8}), 1, 0, {})
            parent = f"projects/{google.project}/locations/{zone}"
            door.call("tpu.projects.locations.queuedResources.create", parent=parent, queuedResourceId="eve", body=body)
            return str(GoogleHost(zone=zone, name="eve", nonce=mark.nonce, host=worker))
        body = gce.body(google, zone, "eve", mark, gce.wanted({"cpu": 2}, 1, "on-demand"), {})
        door.call("compute.instances.bulkInsert", project=google.project, zone=zone, body=body)
        return str(GoogleHost(zone=zone, name=f"eve-{worker}", nonce=mark.nonce, host=0))

    def questions(self) -> int:
        return len(self.fake.calls())

    def close(self) -> None:
        self.machines.close()
        assert not self.fake.desk.crashes
        assert not self.fake.mistakes

    def _made(self, scope: str) -> Runner:
        site = GoogleContext(
            google=NearGoogle(self.fake, self.clock, RandomIds(), lambda: None),
            settings=self.kind.settings(zones=[self.kind.zones[0]]), scope=scope, ids=RandomIds(), seal=sealing(),
            clock=self.clock, birth=self.birth, at_once=at_once,
        )  # fmt: skip
        runner: Runner = self.kind.runner(context=site)
        return runner

    def _gpus(self, guest: Guest) -> list[str]:
        """The products of the GPUs that a VM of this type has."""
        name = str((self.fake.cloud.rows.get(guest.resource) or {}).get("machineType", "")).rpartition("/")[2]
        return [f"NVIDIA {vm.kind.upper()}" for vm in VM_TYPES if vm.machine_type == name for _ in range(vm.gpus)]

    def _machine(self, machine: str) -> Machine:
        host = host_of(machine)
        assert host
        return self.machines.one(host.name, host.host)


class TestTpuRunner(RunnerContract):
    asks = {"v6e": 8}
    wide = {"v6e": 16}

    @pytest.fixture
    def fleet(self, tmp_path: Path) -> Iterator[GoogleFleet]:
        fleet = GoogleFleet(TPU, tmp_path)
        yield fleet
        fleet.close()


class TestGceRunner(RunnerContract):
    asks = {"cpu": 2}
    wide = {"h100": 16}
    devices = {"a100": 2}

    @pytest.fixture
    def fleet(self, tmp_path: Path) -> Iterator[GoogleFleet]:
        fleet = GoogleFleet(GCE, tmp_path)
        yield fleet
        fleet.close()
