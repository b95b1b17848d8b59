"""On a machine with GPUs (`make test-gpu`): they are found, each process sees its own, and none sees another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion import layout
from bastion.codec import encode
from bastion.ports import Placement
from bastion.state import Cause
from runners.local.gpus import inventory
from tests.contract.local_fleet import LocalFleet
from tests.contract.runner_contract import KEY, OTHER, Stage, order

pytestmark = pytest.mark.gpu

SEEN = """
import ctypes
cuda, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert cuda.cuInit(0) in (0, 100)  # 100: no device may be seen
cuda.cuDeviceGetCount(ctypes.byref(count))
print(count.value)
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    fleet = LocalFleet(tmp_path)
    fleet.runner.devices = inventory()
    yield fleet
    fleet.close()


def test_the_driver_names_its_devices(fleet: LocalFleet) -> None:
    gpus = inventory()
    assert gpus
    assert all(gpu.kind not in ("", "gpu") for gpu in gpus)
    assert fleet.runner.capacity()[gpus[0].kind] >= 1


def test_a_process_sees_its_own_devices_and_no_others(fleet: LocalFleet) -> None:
    stage, kind = Stage(fleet), inventory()[0].kind
    for key, resources, devices in ((KEY, {kind: 1}, 1), (OTHER, {"cpu": 1}, 0)):
        stage.bucket.create(layout.order(key), encode(order(key, ["python3", "-c", SEEN])))
        stage.runner.create(Placement(key=key, resources=resources, replicas=1, workers=1, tier=0, epoch=1))
        assert stage.ended(key).cause is Cause.OK
        assert stage.log(key) == f"{devices}\n"
