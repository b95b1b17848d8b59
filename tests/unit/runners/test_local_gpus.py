"""The GPUs of this machine through NVML, here a fake one; and who gets which."""

from __future__ import annotations

import pynvml
import pytest

from bastion.model.errors import RunnerError
from bastion.runners.local.gpus import LocalGpu, assign, count, inventory, kind_of, portion
from tests.support.fake_nvml import FakeNvml


def test_every_device_is_found_with_its_kind() -> None:
    nvml = FakeNvml("NVIDIA H200", b"NVIDIA H200", "Tesla T4")
    gpus = inventory(nvml)
    assert gpus == (LocalGpu("0", "h200"), LocalGpu("1", "h200"), LocalGpu("2", "t4"))
    assert count(gpus) == {"h200": 2, "t4": 1}
    assert nvml.calls == ["init", "shutdown"]


def test_a_machine_without_a_driver_has_none() -> None:
    nvml = FakeNvml("NVIDIA H200")
    nvml.refuse("nvmlInit", pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
    assert inventory(nvml) == ()


def test_a_driver_that_fails_later_is_an_error_and_is_closed() -> None:
    nvml = FakeNvml("NVIDIA H200")
    nvml.refuse("nvmlDeviceGetName", pynvml.NVML_ERROR_GPU_IS_LOST)
    with pytest.raises(RunnerError, match="cannot list the GPUs"):
        inventory(nvml)
    assert nvml.calls == ["init", "shutdown"]


@pytest.mark.parametrize(
    ("product", "kind"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA A100-SXM4-80GB", "a100"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA", "gpu"),
        ("", "gpu"),
    ],
)
def test_a_kind_is_one_word(product: str, kind: str) -> None:
    assert kind_of(product) == kind


GPUS = (LocalGpu("0", "h200"), LocalGpu("1", "t4"), LocalGpu("2", "h200"), LocalGpu("3", "h200"))


def test_a_worker_gets_what_it_asks_for_and_nothing_that_is_held() -> None:
    assert assign({"h200": 2}, GPUS, held=["2"]) == ("0", "3")
    assert assign({"h200": 1, "t4": 1, "cpu": 4}, GPUS, held=[]) == ("0", "1")


def test_who_asks_for_none_gets_none() -> None:
    assert assign({"cpu": 4, "v4": 8}, GPUS, held=[]) == ()


def test_too_few_free_devices_are_an_error() -> None:
    with pytest.raises(RunnerError, match="2 t4 are needed and 1 are free"):
        assign({"t4": 2}, GPUS, held=[])


@pytest.mark.parametrize(
    ("indices", "among", "portions"),
    [
        (["0", "1", "2", "3"], 2, [("0", "1"), ("2", "3")]),
        (["0", "1", "2"], 2, [("0",), ("1",)]),
        (["5"], 1, [("5",)]),
        (["0"], 2, [("0",), ("0",)]),
        ([], 2, [(), ()]),
    ],
)
def test_workers_divide_what_there_is(indices: list[str], among: int, portions: list[tuple[str, ...]]) -> None:
    assert [portion(indices, number, among) for number in range(among)] == portions
