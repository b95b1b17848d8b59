"""What the driver says of a worker's GPUs, here a fake one: what it does not offer is not 0, what it refuses is told."""

from __future__ import annotations

import pynvml
import pytest

from bastion.model.stored.gpu_facts import WORDS_MAX, Gpu
from bastion.runners.worker.linux.nvml import NvmlGpus
from tests.support.fake_nvml import FakeNvml

WHOLE = Gpu(
    index="1",
    name="NVIDIA H200",
    memory_used_mib=3 * 1024,
    memory_total_mib=80 * 1024,
    utilization_percent=97,
    temperature_c=61,
    power_w=642,
    ecc_corrected=2,
    ecc_uncorrected=0,
    rows="ok",
    xids=[],
)


@pytest.fixture
def nvml() -> FakeNvml:
    return FakeNvml("Tesla T4", b"NVIDIA H200")


def test_a_worker_sees_its_own_gpus_and_all_that_the_driver_offers(nvml: FakeNvml) -> None:
    gpus = NvmlGpus(["1"], nvml)
    assert gpus.sample() == gpus.sample() == [WHOLE]
    assert nvml.calls == ["init"]


@pytest.mark.parametrize(
    ("refused", "fields"),
    [
        ("nvmlDeviceGetMemoryInfo", {"memory_used_mib", "memory_total_mib"}),
        ("nvmlDeviceGetUtilizationRates", {"utilization_percent"}),
        ("nvmlDeviceGetTemperature", {"temperature_c"}),
        ("nvmlDeviceGetPowerUsage", {"power_w"}),
        ("nvmlDeviceGetTotalEccErrors", {"ecc_corrected", "ecc_uncorrected"}),
        ("nvmlDeviceGetRemappedRows", {"rows"}),
        ("nvmlDeviceGetSupportedEventTypes", {"xids"}),
        ("nvmlEventSetCreate", {"xids"}),
        ("nvmlDeviceRegisterEvents", {"xids"}),
    ],
)
def test_what_the_driver_does_not_offer_is_not_0(nvml: FakeNvml, refused: str, fields: set[str]) -> None:
    nvml.refuse(refused)
    (gpu,) = NvmlGpus(["1"], nvml).sample()
    for field in Gpu.__struct_fields__:
        assert getattr(gpu, field) == (None if field in fields else getattr(WHOLE, field))


@pytest.mark.parametrize(
    ("remapped", "rows"), [((0, 0, 0, 0), "ok"), ((0, 2, 1, 0), "pending"), ((0, 2, 1, 1), "failed")]
)
def test_rows_of_memory_that_failed(nvml: FakeNvml, remapped: tuple[int, ...], rows: str) -> None:
    nvml.values["nvmlDeviceGetRemappedRows"] = remapped
    assert [gpu.rows for gpu in NvmlGpus(["0"], nvml).sample()] == [rows]


def test_a_gpu_that_is_lost_says_so_and_the_others_are_seen(nvml: FakeNvml) -> None:
    gpus = NvmlGpus(["0", "7"], nvml)
    first, unknown = gpus.sample()
    assert (first.name, first.problem) == ("Tesla T4", "")
    assert unknown == Gpu(index="7", problem="the driver does not know it")
    nvml.refuse("nvmlDeviceGetName", pynvml.NVML_ERROR_GPU_IS_LOST)
    assert [gpu.problem for gpu in gpus.sample()] == ["the driver says: GPU is lost", "the driver does not know it"]


def test_a_driver_that_is_not_there_is_asked_again(nvml: FakeNvml) -> None:
    nvml.refuse("nvmlInit", pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    gpus = NvmlGpus(["1"], nvml)
    (gpu,) = gpus.sample()
    assert gpu == Gpu(index="1", problem="NVML cannot be opened: NVML Shared Library Not Found")
    assert gpus.errors() is None
    nvml.allow("nvmlInit")
    assert gpus.sample() == [WHOLE]


def test_errors_are_told_with_their_gpu_all_that_wait_at_once(nvml: FakeNvml) -> None:
    gpus = NvmlGpus(["0", "1"], nvml)
    gpus.sample()
    assert gpus.errors() == []
    nvml.breaks(1, 79)
    nvml.breaks(0, 31)
    assert gpus.errors() == [("1", 79), ("0", 31)]
    assert gpus.errors() == []


def test_a_flood_of_errors_ends(nvml: FakeNvml) -> None:
    for _ in range(5_000):
        nvml.breaks(0, 13)
    gpus = NvmlGpus(["0"], nvml)
    gpus.sample()
    assert len(gpus.errors() or ()) == 1_000


def test_a_driver_that_tells_no_errors_is_not_listened_to(nvml: FakeNvml) -> None:
    nvml.refuse("nvmlDeviceGetSupportedEventTypes")
    gpus = NvmlGpus(["0"], nvml)
    gpus.sample()
    assert gpus.errors() is None


def test_a_worker_tells_of_so_many_gpus_and_no_more() -> None:
    assert len(NvmlGpus([str(n) for n in range(1_000)], FakeNvml("a")).sample()) == 32


def test_a_name_is_fit_for_a_terminal() -> None:
    (gpu,) = NvmlGpus(["0"], FakeNvml(b"NVIDIA \xff\x1b[31m" + b"x" * 500)).sample()
    assert gpu.name == "NVIDIA ??[31m" + "x" * (WORDS_MAX - 13)
