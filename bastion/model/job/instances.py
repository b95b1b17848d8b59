"""The one table of instance types: `tpu-v4-32` is 32 units of `v4` on 4 hosts, `gpu-h100-8` is 8 of `h100`. Pure.

The number of a TPU type is the one in Google's own name for the slice: TensorCores up to v5p and for 7x, chips for
v5litepod and v6e.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import SpecError
from ..nearest import did_you_mean
from .alternatives import AMOUNT_MAX


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A TPU slice.

    kind: the TPU kind, as `v4`.
    size: the number in Google's name for the slice: TensorCores or chips.
    topology: the shape in chips, as `2x2x4`.
    chips: number of chips.
    hosts: number of hosts.
    runtime: the runtime version that its hosts boot; "" if the slice is not available as TPU VMs.
    """

    kind: str
    size: int
    topology: str
    chips: int
    hosts: int
    runtime: str

    @property
    def name(self) -> str:
        """Return Google's accelerator type, as the API names it: `v4-32`."""
        return f"{self.kind}-{self.size}"

    @property
    def instance_type(self) -> str:
        """Return our name for it: `tpu-v4-32`."""
        return f"tpu-{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class VmType:
    """A VM of Compute Engine with all its GPUs.

    machine_type: Google's name for it.
    kind: the kind of GPU; "" if it has none.
    gpus: number of GPUs.
    cpu: vCPUs.
    memory: whole GiB.
    """

    machine_type: str
    kind: str
    gpus: int
    cpu: int
    memory: int


_BASE, _LITE = "tpu-ubuntu2204-base", "v2-alpha-tpuv5-lite"
_CUBES = "8=2x2x1 16=2x2x2 32=2x2x4 64=2x4x4 128=4x4x4 256=4x4x8 512=4x8x8 1024=8x8x8 "
_FLAT = "1=1x1 4=2x2 8=2x4 16=4x4 32=4x8 64=8x8 128=8x16 256=16x16"
_SHAPES = {
    "v2": (2, _BASE, "8=2x2 32=4x4 128=8x8 256=8x16 512=16x16"),
    "v3": (2, _BASE, "8=2x2 32=4x4 64=4x8 128=8x8 256=8x16 512=16x16 1024=16x32 2048=32x32"),
    "v4": (2, _BASE, _CUBES + "1536=8x8x12 2048=8x8x16 4096=8x16x16"),
    "v5litepod": (1, _LITE, _FLAT),
    "v5p": (2, "v2-alpha-tpuv5", _CUBES + "2048=8x8x16 4096=8x16x16 8192=16x16x16 12288=16x16x24"),
    "v6e": (1, "v2-alpha-tpuv6e", _FLAT),
    "7x": (2, "", _CUBES + "2048=8x8x16 4096=8x16x16"),
}
"""For each kind: units of a chip, the runtime version, and the topology (in chips) of each size."""

_CHIPS_OF_A_HOST, _CHIPS_OF_ONE = 4, 8
"""A host has 4 chips. A slice of up to 8 chips in one plane (v5litepod, v6e) is one host."""


def _slices() -> dict[str, dict[int, Slice]]:
    found: dict[str, dict[int, Slice]] = {}
    for kind, (units, runtime, shapes) in _SHAPES.items():
        for number, topology in (shape.split("=") for shape in shapes.split()):
            chips = int(number) // units
            alone = units == 1 and chips <= _CHIPS_OF_ONE
            found.setdefault(kind, {})[int(number)] = Slice(
                kind=kind,
                size=int(number),
                topology=topology,
                chips=chips,
                hosts=1 if alone else chips // _CHIPS_OF_A_HOST,
                runtime=runtime,
            )
    return found


SLICES: Mapping[str, Mapping[int, Slice]] = _slices()
"""All TPU slices, by kind and size."""

_MACHINES = """
a2-highgpu-1g a100 1 12 85
a2-highgpu-2g a100 2 24 170
a2-highgpu-4g a100 4 48 340
a2-highgpu-8g a100 8 96 680
a2-megagpu-16g a100 16 96 1360
a2-ultragpu-1g a100 1 12 170
a2-ultragpu-2g a100 2 24 340
a2-ultragpu-4g a100 4 48 680
a2-ultragpu-8g a100 8 96 1360
a3-highgpu-1g h100 1 26 234
a3-highgpu-2g h100 2 52 468
a3-highgpu-4g h100 4 104 936
a3-highgpu-8g h100 8 208 1872
a3-megagpu-8g h100 8 208 1872
a3-ultragpu-8g h200 8 224 2952
a4-highgpu-8g b200 8 224 3968
a4x-highgpu-4g gb200 4 140 884
g2-standard-4 l4 1 4 16
g2-standard-8 l4 1 8 32
g2-standard-12 l4 1 12 48
g2-standard-16 l4 1 16 64
g2-standard-32 l4 1 32 128
g2-standard-24 l4 2 24 96
g2-standard-48 l4 4 48 192
g2-standard-96 l4 8 96 384
"""
_SHARES = (("e2", "standard", 4, (2, 4, 8, 16, 32)), ("e2", "highmem", 8, (2, 4, 8, 16)),
           ("n2", "standard", 4, (48, 64, 80, 96, 128)), ("n2", "highmem", 8, (32, 48, 64, 80, 96)))  # fmt: skip


def _vm_types() -> list[VmType]:
    rows = [line.split() for line in _MACHINES.split("\n") if line]
    rows += [
        [f"{family}-{form}-{cpu}", "", "0", str(cpu), str(cpu * gib)]
        for family, form, gib, sizes in _SHARES
        for cpu in sizes
    ]
    return [
        VmType(machine_type=name, kind=kind, gpus=int(gpus), cpu=int(cpu), memory=int(memory))
        for name, kind, gpus, cpu, memory in rows
    ]


VM_TYPES = tuple(_vm_types())
"""VMs of Compute Engine. First those with GPUs, for each kind and number the smallest first; then those without."""

KINDS = {
    "tpu": tuple(SLICES),
    "gpu": ("a100", "b200", "gb200", "h100", "h200", "l4", "l40s", "t4", "v100"),
}
"""The accelerators of instance types. Machines of your own may have any number of GPUs."""

_TYPE = re.compile(r"(tpu|gpu)-([a-z0-9]+)-([1-9][0-9]{0,6})")
_OTHER_NAMES = {"v5e": "v5litepod", "v5lite": "v5litepod", "v7x": "7x"}


def resources(instance_type: str) -> dict[str, int]:
    """Return what one replica of this type holds. Raises `SpecError`, which names the nearest valid type."""
    match = _TYPE.fullmatch(instance_type)
    if not match or match[2] not in KINDS[match[1]] or int(match[3]) > AMOUNT_MAX:
        raise SpecError(f"instance_type is {instance_type[:64]!r}; {_advice(instance_type[:64])}")
    if match[1] == "tpu":
        slice_of(match[2], int(match[3]))
    return {match[2]: int(match[3])}


def slice_of(kind: str, size: int) -> Slice:
    """Return the slice of this TPU kind and size. Raises `SpecError`, which names the nearest slice that exists."""
    sizes = SLICES[kind]
    if size not in sizes:
        near = min(sizes, key=lambda there: (abs(there - size), -there))
        known = ", ".join(map(str, sizes))
        raise SpecError(f"there is no tpu-{kind}-{size}; did you mean tpu-{kind}-{near}? {kind} has {known}")
    return sizes[size]


def vms_of(resources: Mapping[str, int]) -> tuple[VmType, int]:
    """Return the machine type of one replica, and how many machines: several if one machine has too few GPUs.

    `resources` have one GPU kind or none, and `cpu` (vCPUs) and `memory` (GiB). Raises `SpecError`, which names what
    exists.
    """
    gpus = [kind for kind in resources if kind not in ("cpu", "memory")]
    if len(gpus) > 1 or not resources:
        raise SpecError(f"a VM has GPUs of one kind, and this asks for {' and '.join(sorted(gpus)) or 'nothing'}")
    kind, number = (gpus[0], resources[gpus[0]]) if gpus else ("", 0)
    types = [one for one in VM_TYPES if one.kind == kind]
    if not types:
        known = ", ".join(sorted({one.kind for one in VM_TYPES if one.kind}))
        raise SpecError(f"Google has no VMs with {kind}; use one of {known}")
    most = max(one.gpus for one in types)
    hosts = number // most if number > most else 1
    if number > most and number % most:
        raise SpecError(f"no VMs make up {number} of {kind}; did you mean gpu-{kind}-{(hosts + 1) * most}?")
    sizes = sorted({one.gpus for one in types})
    if number // hosts not in sizes:
        near = min(sizes, key=lambda size: (abs(size - number), -size))
        raise SpecError(f"there is no VM with {number} of {kind}; did you mean gpu-{kind}-{near}?")
    return _smallest([one for one in types if one.gpus == number // hosts], resources, hosts), hosts


def _smallest(types: Sequence[VmType], resources: Mapping[str, int], hosts: int) -> VmType:
    """Return the smallest type that holds one host's part of the resources.

    Raises `SpecError`, which names the size of the largest types.
    """
    cpu, memory = -(-resources.get("cpu", 0) // hosts), -(-resources.get("memory", 0) // hosts)
    fitting = [one for one in types if one.cpu >= cpu and one.memory >= memory]
    if not fitting:
        most = max(one.cpu for one in types), max(one.memory for one in types)
        raise SpecError(f"no VM has {cpu} cpu and {memory} memory; the largest have {most[0]} cpu or {most[1]} memory")
    return min(fitting, key=lambda one: (one.cpu, one.memory))


def _advice(wrong: str) -> str:
    """Suggest the nearest type, with the number that the user asked for."""
    stem, _, number = wrong.lower().rpartition("-")
    if not number.isdigit():
        stem, number = wrong.lower(), "8"
    family, _, kind = stem.rpartition("-")
    stem = f"{family}-{_OTHER_NAMES.get(kind, kind)}" if family else stem
    return did_you_mean(
        f"{stem}-{number}",
        [f"{family}-{kind}-{number}" for family, kinds in KINDS.items() for kind in kinds],
        "use tpu-KIND-N or gpu-KIND-N, as in tpu-v4-32 or gpu-h100-8",
    )
