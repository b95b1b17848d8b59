"""On a machine with GPUs (`make test-gpu`): they are found and looked at; each process sees its own, and none another's."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pynvml
import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.state.state import Cause
from bastion.model.stored.gpu_facts import Gpu, line
from bastion.runners.local.gpus import inventory
from bastion.runners.worker.linux.nvml import NvmlGpus
from bastion.testing.stage import KEY, OTHER, Stage, order
from tests.contract.local_fleet import LocalFleet

pytestmark = pytest.mark.gpu

SEEN = """
import ctypes
cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert cuda.cuInit(0) in (0, 100)  # 100: no device may be seen
cuda.cuDeviceGetCount(ctypes.byref(count))
print(count.value)
"""
HELD_MIB = 1024
HOLDS = f"""
import ctypes, time
cuda, device, context, held = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cuInit(0) == cuda.cuDeviceGet(ctypes.byref(device), 0) == 0
assert cuda.cuCtxCreate_v2(ctypes.byref(context), 0, device) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(held), ctypes.c_size_t({HELD_MIB} << 20)) == 0
print("held", flush=True)
time.sleep(600)
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    fleet = LocalFleet(tmp_path)
    fleet.runner.devices = inventory()
    yield fleet
    fleet.close()


@pytest.fixture
def gpus() -> NvmlGpus:
    """All GPUs of this machine."""
    return NvmlGpus([gpu.index for gpu in inventory()])


def test_the_driver_names_its_devices(fleet: LocalFleet) -> None:
    gpus = inventory()
    assert gpus
    assert all(gpu.kind not in ("", "gpu") for gpu in gpus)
    assert fleet.runner.capacity()[gpus[0].kind] >= 1


def test_a_process_sees_its_own_devices_and_no_others(fleet: LocalFleet) -> None:
    stage, kind = Stage(fleet), inventory()[0].kind
    for key, resources, devices in ((KEY, {kind: 1}, 1), (OTHER, {"cpu": 1}, 0)):
        starts(stage, key, SEEN, resources)
        assert stage.ended(key).cause is Cause.OK
        assert stage.log(key) == f"{devices}\n"


def test_every_gpu_tells_its_memory_use_temperature_and_power(gpus: NvmlGpus) -> None:
    for gpu in gpus.sample():
        print(line(gpu))
        assert gpu.problem == ""
        assert 0 <= told(gpu.memory_used_mib) <= told(gpu.memory_total_mib)
        assert 0 <= told(gpu.utilization_percent) <= 100
        assert 0 < told(gpu.temperature_c) < 120
        assert 0 < told(gpu.power_w) < 5_000


def test_ecc_errors_are_told_exactly_where_the_driver_counts_them(gpus: NvmlGpus) -> None:
    """`nvidia-smi` is asked the same: it prints `[N/A]` for what the driver does not offer."""
    fields = "ecc.errors.corrected.volatile.total,ecc.errors.uncorrected.volatile.total,memory.total"
    argv = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"]
    rows = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()
    for gpu, row in zip(gpus.sample(), rows, strict=True):
        said = [int(word) if word.strip().isdigit() else None for word in row.split(",")]
        assert said == [gpu.ecc_corrected, gpu.ecc_uncorrected, gpu.memory_total_mib]


def test_xids_are_listened_to_exactly_where_the_driver_tells_them(gpus: NvmlGpus) -> None:
    seen = gpus.sample()
    for gpu in seen:
        kinds = pynvml.nvmlDeviceGetSupportedEventTypes(pynvml.nvmlDeviceGetHandleByIndex(int(gpu.index)))
        assert gpu.xids == ([] if kinds & pynvml.nvmlEventTypeXidCriticalError else None)


def test_the_facts_of_a_worker_show_what_its_process_holds(fleet: LocalFleet) -> None:
    stage, first = Stage(fleet), inventory()[0]
    starts(stage, KEY, HOLDS, {first.kind: 1})
    fleet.until(lambda: "held" in stage.log(), "the memory being held")
    fleet.until(lambda: bool(shown(stage)), "a look at the GPU")
    (gpu,) = NvmlGpus([shown(stage)[0].index]).sample()
    assert told(gpu.memory_used_mib) >= HELD_MIB
    assert shown(stage)[0].name == gpu.name


def starts(stage: Stage, key: AttemptKey, program: str, resources: dict[str, int]) -> None:
    stage.bucket.create(layout.order(key), encode(order(key, ["python3", "-c", program])))
    stage.runner.create(Placement(key=key, resources=resources, replicas=1, workers=1, tier=0, epoch=1))


def shown(stage: Stage) -> list[Gpu]:
    """The GPUs in the worker's facts."""
    facts = stage.facts()
    return facts.gpus if facts else []


def told(value: int | None) -> int:
    assert value is not None
    return value
