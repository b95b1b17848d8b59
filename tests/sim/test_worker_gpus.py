"""The real worker and its GPUs, in virtual time: they are told, they are blamed, and a driver that hangs holds up nothing."""

from __future__ import annotations

import pynvml
import pytest

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.interfaces import Machine
from bastion.model.state.state import Cause
from bastion.model.stored.gpu_facts import Gpu
from bastion.model.stored.records import Facts, StopOrder
from bastion.runners.worker.interfaces import WorkerContext, WorkerIdentity
from bastion.runners.worker.linux.nvml import NvmlGpus
from bastion.runners.worker.run import run
from bastion.stores.counting import CountingBucket
from bastion.stores.memory import MemoryBucket
from bastion.testing.stage import KEY, order
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, SimClock, SimIds, SimTasks
from tests.support.fake_nvml import FakeNvml

SAMPLES_S = 60.0


class Scene:
    """One worker with a GPU, and a program that ends when the test says so: with code 1, and with a word on its error."""

    def __init__(self) -> None:
        self.kernel = kernel = Kernel(3)
        self.nvml = FakeNvml("NVIDIA H200", "NVIDIA H200")
        self.nvml.waits = self._wait
        self.bucket = CountingBucket(MemoryBucket(f"memory://gpus-{id(self)}"))
        self.code: int | None = None
        self._machine = Machine(id="m", key=KEY, worker=0, epoch=1)
        self.host = SimHost(kernel, {"work": self._work}, self._machine)
        self.bucket.create(layout.order(KEY), encode(order(KEY, "work", grace_s=5.0)))

    def start(self) -> None:
        """Begin, and get as far as the process."""
        self.kernel.spawn(self.host.worker, self._be_worker)
        assert self.kernel.run(lambda: self.host.process is not None, 60)
        self.kernel.sleep(2)

    def facts(self) -> Facts:
        return decode(self.bucket.read(layout.facts(KEY, 0)).data, Facts, "facts")

    def gpu(self) -> Gpu:
        (gpu,) = self.facts().gpus
        return gpu

    def ends(self, code: int = 1) -> Facts:
        """The program ends. The last facts."""
        self.code = code
        assert self.kernel.run(lambda: self.facts().phase == "ended", 20), "the worker is held up"
        return self.facts()

    def hangs(self, name: str) -> None:
        """From now on this function of the driver does not return."""
        self.nvml.values[name] = property  # never answered
        setattr(self.nvml, name, lambda *_: self.kernel.park())

    def _wait(self, milliseconds: int) -> None:
        """What the driver does while there is nothing to tell."""
        end = self.kernel.now + milliseconds / 1000
        while not self.nvml.pending and self.kernel.now < end:
            self.kernel.sleep(0.05)

    def _work(self, process: SimProcess) -> int:
        while self.code is None:
            process.sleep(0.1)
        process.print("RuntimeError: CUDA error\n")
        return self.code

    def _be_worker(self) -> None:
        doors = WorkerContext(
            bucket=self.bucket,
            clock=SimClock(self.kernel),
            ids=SimIds(self.kernel),
            tasks=SimTasks(self.kernel, self.host.worker),
            machine=self.host,
            notice=self.host.notice,
            outputs="memory://outputs",
            gpus=NvmlGpus(["1"], self.nvml),
        )
        run(WorkerIdentity(key=KEY, worker=0, machine="m", address="10.0.0.1", devices=("1",)), doors)
        self.host.worker.end()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_what_the_gpus_do_is_told_once_a_minute(scene: Scene) -> None:
    scene.start()
    assert (scene.gpu().name, scene.gpu().temperature_c, scene.gpu().xids) == ("NVIDIA H200", 61, [])
    told = scene.bucket.counts["replace"]
    for degrees in range(600):
        scene.nvml.values["nvmlDeviceGetTemperature"] = degrees
        scene.kernel.sleep(1)
    assert 540 <= (scene.gpu().temperature_c or 0) <= 600
    assert scene.bucket.counts["replace"] - told <= 600 / SAMPLES_S + 1


def test_nothing_is_told_before_the_first_look_has_come_back(scene: Scene) -> None:
    scene.hangs("nvmlInit")
    scene.start()
    scene.kernel.sleep(100)
    assert scene.facts().gpus == []
    scene.kernel.sleep(100)
    assert scene.gpu() == Gpu(index="1", problem=scene.gpu().problem)


def test_an_error_is_told_at_once_and_blamed_when_the_job_fails(scene: Scene) -> None:
    scene.start()
    scene.nvml.breaks(1, 79)
    scene.kernel.sleep(3)
    assert [xid.code for xid in scene.gpu().xids or ()] == [79]
    facts = scene.ends()
    assert facts.message == "GPU 1: XID 79 (the GPU has fallen off the bus); RuntimeError: CUDA error"
    assert (facts.cause, facts.exit_code) == (Cause.CODE, 1)


def test_an_error_that_comes_with_the_end_is_blamed(scene: Scene) -> None:
    scene.start()
    scene.nvml.breaks(1, 48)
    scene.nvml.ecc[pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED] = 3
    message = scene.ends().message
    assert message.startswith("GPU 1: XID 48 (double-bit ECC error), uncorrected ECC errors: 3; ")


def test_errors_are_heard_one_after_the_other_also_after_a_driver_that_could_tell_none(scene: Scene) -> None:
    scene.nvml.refuse("nvmlInit", pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    scene.start()
    scene.kernel.sleep(10)
    assert "NVML cannot be opened" in scene.gpu().problem
    scene.nvml.allow("nvmlInit")
    scene.kernel.sleep(200)
    for xid in (13, 31, 79):
        scene.nvml.breaks(1, xid)
        scene.kernel.sleep(5)
        assert (scene.gpu().xids or ())[-1].code == xid
        scene.kernel.sleep(100)


def test_a_job_that_is_done_blames_nobody(scene: Scene) -> None:
    scene.start()
    scene.nvml.breaks(1, 79)
    scene.kernel.sleep(3)
    facts = scene.ends(0)
    assert (facts.cause, facts.message) == (Cause.OK, "")
    assert [xid.code for xid in facts.gpus[0].xids or ()] == [79]


def test_ecc_errors_of_before_are_not_blamed(scene: Scene) -> None:
    scene.nvml.ecc[pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED] = 3
    scene.start()
    assert scene.ends().message == "RuntimeError: CUDA error"
    assert scene.gpu().ecc_uncorrected == 3


def test_a_flood_of_errors_is_told_by_kind_and_with_few_writes(scene: Scene) -> None:
    scene.start()
    told = scene.bucket.counts["replace"]
    for xid in range(100):
        for _ in range(1_000):
            scene.nvml.breaks(1, xid)
    for degrees in range(58):
        scene.nvml.values["nvmlDeviceGetTemperature"] = degrees
        scene.kernel.sleep(1)
    assert [xid.code for xid in scene.gpu().xids or ()] == list(range(8))
    assert scene.bucket.counts["replace"] - told <= 10


@pytest.mark.parametrize("name", ["nvmlInit", "nvmlDeviceGetTemperature", "nvmlEventSetWait_v2"])
@pytest.mark.parametrize("late", [False, True])
def test_a_driver_that_hangs_holds_up_nothing_and_is_named(scene: Scene, name: str, late: bool) -> None:
    if not late:
        scene.hangs(name)
    scene.start()
    scene.hangs(name)
    scene.kernel.sleep(400)
    assert ("the driver has not answered since 2026-01-01T" in scene.gpu().problem) == (
        name == "nvmlDeviceGetTemperature" or (name == "nvmlInit" and not late)
    )
    facts = scene.ends()
    assert (facts.cause, facts.exit_code) == (Cause.CODE, 1)
    assert facts.message.endswith("RuntimeError: CUDA error")
    assert ("the driver has not answered" in facts.message) == bool(scene.gpu().problem)


def test_a_stop_is_heeded_while_the_driver_hangs(scene: Scene) -> None:
    scene.start()
    scene.hangs("nvmlDeviceGetTemperature")
    scene.kernel.sleep(100)
    stop = StopOrder(cause=Cause.PREEMPTED, grace_s=1.0, reason="made way for bob", nonce="n")
    scene.bucket.create(layout.stop(KEY), encode(stop))
    begun = scene.kernel.now
    assert scene.kernel.run(lambda: scene.facts().phase == "ended", 30)
    assert scene.kernel.now - begun < 15
    assert scene.facts().message.endswith("made way for bob")
