"""Instance types name what one replica holds."""

from __future__ import annotations

import math
import re

import pytest

from bastion.model.errors import SpecError
from bastion.model.job.instances import SLICES, VM_TYPES, resources, slice_of, vms_of


@pytest.mark.parametrize(
    ("instance_type", "expected"),
    [
        ("tpu-v4-32", {"v4": 32}),
        ("tpu-v5litepod-16", {"v5litepod": 16}),
        ("tpu-v5p-8", {"v5p": 8}),
        ("tpu-v6e-256", {"v6e": 256}),
        ("tpu-7x-128", {"7x": 128}),
        ("gpu-h100-8", {"h100": 8}),
    ],
)
def test_a_type_is_a_kind_and_a_number(instance_type: str, expected: dict[str, int]) -> None:
    assert resources(instance_type) == expected


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("tpu-v5e-16", "did you mean tpu-v5litepod-16?"),
        ("tpu-v4", "did you mean tpu-v4-8?"),
        ("TPU-V4-32", "did you mean tpu-v4-32?"),
        ("gpu-h10-8", "did you mean gpu-h100-8?"),
        ("gpu-v4-8", "did you mean"),
        ("tpu-v4-0", "did you mean"),
        ("n2-standard-4", "use tpu-KIND-N"),
        ("", "use tpu-KIND-N"),
        ("tpu-v4-9999999", "did you mean"),
        ("tpu-v4-4", "there is no tpu-v4-4; did you mean tpu-v4-8? v4 has 8, 16, 32"),
        ("tpu-v4-24", "did you mean tpu-v4-32?"),
        ("tpu-v5p-100000", "did you mean tpu-v5p-12288?"),
    ],
)
def test_an_unknown_type_is_answered_with_the_nearest(wrong: str, advice: str) -> None:
    with pytest.raises(SpecError) as error:
        resources(wrong)

    assert advice in str(error.value)


def test_every_slice_is_as_large_as_its_topology_and_its_hosts_hold_its_chips() -> None:
    for kind, sizes in SLICES.items():
        for size, found in sizes.items():
            assert (found.kind, found.size) == (kind, size)
            assert math.prod(map(int, found.topology.split("x"))) == found.chips, found
            assert found.chips / found.hosts in ((4,) if found.hosts > 1 else (1, 4, 8)), found


def test_slices_are_googles() -> None:
    assert [(one.hosts, one.chips, one.topology) for one in (slice_of("v4", 16), slice_of("v5litepod", 16))] == [
        (2, 8, "2x2x2"),
        (4, 16, "4x4"),
    ]
    assert (slice_of("v6e", 256).hosts, slice_of("v6e", 8).hosts, slice_of("v3", 8).hosts) == (64, 1, 1)
    assert slice_of("v5p", 8).name == "v5p-8"


def test_machines_with_gpus_are_listed_smallest_first() -> None:
    by_number: dict[tuple[str, int], list[int]] = {}
    for machine in (one for one in VM_TYPES if one.kind):
        by_number.setdefault((machine.kind, machine.gpus), []).append(machine.cpu)
    assert all(sizes == sorted(sizes) for sizes in by_number.values())
    assert len({machine.machine_type for machine in VM_TYPES}) == len(VM_TYPES)


@pytest.mark.parametrize(
    ("wanted", "machine_type", "hosts"),
    [
        ({"h100": 8}, "a3-highgpu-8g", 1),
        ({"h100": 32}, "a3-highgpu-8g", 4),
        ({"a100": 8, "memory": 1000}, "a2-ultragpu-8g", 1),
        ({"a100": 16}, "a2-megagpu-16g", 1),
        ({"l4": 1}, "g2-standard-4", 1),
        ({"l4": 1, "cpu": 13}, "g2-standard-16", 1),
        ({"h100": 16, "cpu": 400}, "a3-highgpu-8g", 2),
        ({"cpu": 3, "memory": 8}, "e2-standard-4", 1),
        ({"memory": 200}, "n2-highmem-32", 1),
    ],
)
def test_the_smallest_vm_that_holds_it(wanted: dict[str, int], machine_type: str, hosts: int) -> None:
    found, number = vms_of(wanted)
    assert (found.machine_type, number) == (machine_type, hosts)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"h100": 3}, "did you mean gpu-h100-4?"),
        ({"h100": 20}, "did you mean gpu-h100-24?"),
        ({"t4": 1}, "use one of a100, b200, gb200, h100, h200, l4"),
        ({"h100": 8, "l4": 1}, "GPUs of one kind"),
        ({"cpu": 500}, "the largest have 128 cpu or 768 memory"),
        ({"l4": 1, "memory": 500}, "the largest have 32 cpu or 128 memory"),
        ({}, "nothing"),
    ],
)
def test_what_no_vm_is_names_what_there_is(wanted: dict[str, int], said: str) -> None:
    with pytest.raises(SpecError, match=re.escape(said)):
        vms_of(wanted)
