"""Zones and what is in them: some of Google's, with the TPUs and GPUs that its pages list there. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

TPUS: dict[str, tuple[str, ...]] = {
    "us-central1-a": ("v5litepod", "v2"),
    "us-central1-b": ("v2", "v6e"),
    "us-central1-c": ("v2",),
    "us-central1-f": ("v2",),
    "us-central2-b": ("v4",),
    "us-east1-c": ("v5litepod",),
    "us-east1-d": ("v6e",),
    "us-east5-a": ("v5p", "v6e"),
    "us-east5-b": ("v6e",),
    "us-south1-a": ("v5litepod",),
    "us-west1-c": ("v5litepod",),
    "us-west4-a": ("v5litepod",),
    "europe-west4-a": ("v3", "v6e"),
    "europe-west4-b": ("v5litepod", "v5p"),
    "asia-northeast1-b": ("v6e",),
}
GPUS: dict[str, tuple[str, ...]] = {
    "us-central1-a": ("a2", "a3", "g2", "a4"),
    "us-central1-b": ("a2", "a3", "g2", "a4"),
    "us-central1-c": ("a2", "a3", "g2"),
    "us-central1-f": ("a2",),
    "us-east4-a": ("a3", "g2"),
    "us-east5-a": ("a3",),
    "us-east5-b": ("a2",),
    "us-west1-b": ("a2", "g2"),
    "us-west1-c": ("g2",),
    "us-west4-a": ("a3",),
    "europe-west4-a": ("a2", "g2"),
    "europe-west4-b": ("a2", "a3", "g2"),
    "asia-northeast1-b": ("a3",),
}
ZONES = sorted({*TPUS, *GPUS})
REGIONS = sorted({zone.rpartition("-")[0] for zone in ZONES})

VERSIONS = (
    "tpu-ubuntu2204-base",
    "tpu-vm-base",
    "tpu-vm-v4-base",
    "v2-alpha-tpuv5",
    "v2-alpha-tpuv5-lite",
    "v2-alpha-tpuv6e",
)
"""Runtime versions of TPU VMs."""

_SIZES = {
    # The most TensorCores of a slice, TensorCores per chip, chips per host of a slice, most chips of a lone host.
    "v2": (512, 2, 4, 4),
    "v3": (2048, 2, 4, 4),
    "v4": (4096, 2, 4, 4),
    "v5p": (12288, 2, 4, 4),
    "v5litepod": (256, 1, 4, 8),
    "v6e": (256, 1, 4, 8),
}
_CONFIGURED = {"V2": "v2", "V3": "v3", "V4": "v4", "V5LITE_POD": "v5litepod", "V5P": "v5p", "V6E": "v6e"}


@dataclass(frozen=True, slots=True)
class Slice:
    """One TPU slice: its type in the API's words, its chips and its hosts."""

    kind: str
    family: str
    chips: int
    hosts: int


def slice_of(kind: str) -> Slice | None:
    """The slice of an accelerator type such as `v4-16`. None if there is no such."""
    match = re.fullmatch(r"(v\d\w*?)-(\d+)", kind)
    if not match or match[1] not in _SIZES:
        return None
    most, cores, per_host, lone = _SIZES[match[1]]
    size = int(match[2])
    least = 1 if cores == 1 else 8
    if not least <= size <= most or (size > 8 and size % 8) or (size < 8 and size not in (1, 4)):
        return None
    chips = size // cores
    return Slice(kind, match[1], chips, 1 if chips <= lone else chips // per_host)


def slice_of_topology(kind: str, topology: str) -> Slice | None:
    """The slice of a type and a topology, such as `V4` and `2x2x2`."""
    family = _CONFIGURED.get(kind, "")
    if not family or not re.fullmatch(r"\d{1,3}(x\d{1,3}){1,2}", topology):
        return None
    chips = 1
    for side in topology.split("x"):
        chips *= int(side)
    return slice_of(f"{family}-{chips * _SIZES[family][1]}")


def kinds(zone: str) -> list[str]:
    """All accelerator types of a zone."""
    sizes = [1, 4, *(8 * 2**n for n in range(11))]
    return [kind for family in TPUS.get(zone, ()) for n in sizes if slice_of(kind := f"{family}-{n}")]


MACHINES: dict[str, tuple[int, int, str, int]] = {
    # vCPUs, MiB of memory, GPU, GPUs
    "e2-micro": (2, 1024, "", 0),
    "e2-small": (2, 2048, "", 0),
    "e2-medium": (2, 4096, "", 0),
    **{f"{line}-standard-{n}": (n, n * 4096, "", 0) for line in ("e2", "n2", "n2d", "c3") for n in (2, 4, 8, 16, 32)},
    **{f"{line}-highmem-{n}": (n, n * 8192, "", 0) for line in ("e2", "n2", "n2d", "c3") for n in (2, 4, 8, 16)},
    **{f"a2-highgpu-{n}g": (12 * n, n * 87040, "nvidia-tesla-a100", n) for n in (1, 2, 4, 8)},
    "a2-megagpu-16g": (96, 1392640, "nvidia-tesla-a100", 16),
    **{f"a2-ultragpu-{n}g": (12 * n, n * 174080, "nvidia-a100-80gb", n) for n in (1, 2, 4, 8)},
    **{f"a3-highgpu-{n}g": (26 * n, n * 239616, "nvidia-h100-80gb", n) for n in (1, 2, 4, 8)},
    "a3-megagpu-8g": (208, 1916928, "nvidia-h100-mega-80gb", 8),
    "a3-ultragpu-8g": (224, 3022848, "nvidia-h200-141gb", 8),
    "a4-highgpu-8g": (224, 4063232, "nvidia-b200", 8),
    **{f"g2-standard-{n}": (n, n * 4096, "nvidia-l4", 1) for n in (4, 8, 12, 16, 32)},
    "g2-standard-24": (24, 98304, "nvidia-l4", 2),
    "g2-standard-48": (48, 196608, "nvidia-l4", 4),
    "g2-standard-96": (96, 393216, "nvidia-l4", 8),
}
METRICS = {
    "nvidia-tesla-a100": "NVIDIA_A100_GPUS",
    "nvidia-a100-80gb": "NVIDIA_A100_80GB_GPUS",
    "nvidia-h100-80gb": "NVIDIA_H100_GPUS",
    "nvidia-h100-mega-80gb": "NVIDIA_H100_MEGA_GPUS",
    "nvidia-h200-141gb": "NVIDIA_H200_GPUS",
    "nvidia-b200": "NVIDIA_B200_GPUS",
    "nvidia-l4": "NVIDIA_L4_GPUS",
}
"""The quotas of GPUs, by kind; of preemptible ones with `PREEMPTIBLE_` before."""


def has_machine(zone: str, kind: str) -> bool:
    """A zone offers a machine type."""
    family = kind.partition("-")[0]
    return zone in ZONES and kind in MACHINES and (not MACHINES[kind][2] or family in GPUS.get(zone, ()))
