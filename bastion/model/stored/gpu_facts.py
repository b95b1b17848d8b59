"""Reports of a worker about its GPUs, as values and in words for people. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from ..codec import Moment, movable

GPUS_MAX = 32
XIDS_MAX = 8
WORDS_MAX = 120
"""The most that one worker reports: GPUs, different errors of each, and characters of a name or a problem."""


class Xid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A critical error that the driver reported.

    code: NVIDIA's number of the error.
    at: when it came for the first time.
    """

    code: int
    at: Moment

    def __post_init__(self) -> None:
        movable(self.at)


class Gpu(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One GPU of a worker, as it was when it was last read.

    None means that the driver does not offer the value; that is not 0.

    index: the GPU's index on its machine.
    name: the model.
    memory_used_mib: memory in use, in MiB.
    memory_total_mib: all its memory, in MiB.
    utilization_percent: how busy it is, in percent.
    temperature_c: temperature, in degrees Celsius.
    power_w: power, in watts.
    ecc_corrected: corrected ECC errors since the driver was loaded.
    ecc_uncorrected: uncorrected ECC errors since the driver was loaded.
    rows: rows of memory that failed: `ok` (remapped), `pending` (remapped at the next reset), `failed` (no spare is
        left).
    xids: XID errors since the worker began, each code once, the oldest first.
    problem: why the driver does not report more; "" if it reports all.
    """

    index: str
    name: str = ""
    memory_used_mib: int | None = None
    memory_total_mib: int | None = None
    utilization_percent: int | None = None
    temperature_c: int | None = None
    power_w: int | None = None
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    rows: Literal["ok", "pending", "failed"] | None = None
    xids: list[Xid] | None = None
    problem: str = ""


XIDS: Mapping[int, str] = {
    13: "graphics engine exception",
    31: "memory page fault",
    43: "the GPU stopped processing",
    45: "preemptive cleanup",
    48: "double-bit ECC error",
    61: "internal microcontroller breakpoint",
    62: "internal microcontroller halt",
    63: "row remapping recorded",
    64: "row remapping failed",
    68: "video processor exception",
    69: "graphics engine class error",
    74: "NVLink error",
    79: "the GPU has fallen off the bus",
    92: "high rate of single-bit ECC errors",
    94: "contained ECC error",
    95: "uncontained ECC error",
    119: "the GPU's system processor does not answer",
    120: "error of the GPU's system processor",
}
"""The XID errors that people meet, in words."""


def line(gpu: Gpu) -> str:
    """Describe a GPU in one line; values that the driver does not offer are left out.

    `gpu 3  NVIDIA H200  memory 1024 of 143771 MiB  use 97%  61 C  642 W  ECC errors 0 corrected, 0 uncorrected  no
    XID`.
    """
    parts = [f"gpu {gpu.index}", gpu.name, *_amounts(gpu), *_errors(gpu), gpu.problem]
    return "  ".join(part for part in parts if part)


def _amounts(gpu: Gpu) -> Iterator[str]:
    if gpu.memory_used_mib is not None and gpu.memory_total_mib is not None:
        yield f"memory {gpu.memory_used_mib} of {gpu.memory_total_mib} MiB"
    if gpu.utilization_percent is not None:
        yield f"use {gpu.utilization_percent}%"
    if gpu.temperature_c is not None:
        yield f"{gpu.temperature_c} C"
    if gpu.power_w is not None:
        yield f"{gpu.power_w} W"


def _errors(gpu: Gpu) -> Iterator[str]:
    ecc = ((gpu.ecc_corrected, "corrected"), (gpu.ecc_uncorrected, "uncorrected"))
    if told := ", ".join(f"{count} {what}" for count, what in ecc if count is not None):
        yield f"ECC errors {told}"
    if gpu.rows in ("pending", "failed"):
        yield f"row remapping {gpu.rows}"
    if gpu.xids is not None:
        yield ", ".join(map(_xid, gpu.xids)) or "no XID"


def blame(before: Iterable[Gpu], after: Iterable[Gpu]) -> str:
    """Describe what broke between two reads; empty if nothing did.

    As in `GPU 3: XID 79 (the GPU has fallen off the bus)`.
    """
    known = {gpu.index: gpu for gpu in before}
    broken = ((gpu.index, list(_broken(known.get(gpu.index, Gpu(index=gpu.index)), gpu))) for gpu in after)
    return "; ".join(f"GPU {index}: {', '.join(what)}" for index, what in broken if what)


def _broken(first: Gpu, last: Gpu) -> Iterator[str]:
    yield from map(_xid, last.xids or ())
    if first.ecc_uncorrected is not None and (last.ecc_uncorrected or 0) > first.ecc_uncorrected:
        yield f"uncorrected ECC errors: {(last.ecc_uncorrected or 0) - first.ecc_uncorrected}"
    if last.problem != first.problem and last.problem:
        yield last.problem


def _xid(xid: Xid) -> str:
    return f"XID {xid.code}" + (f" ({XIDS[xid.code]})" if xid.code in XIDS else "")


_GPU = re.compile(r"gpu|(rtx|gtx|titan|quadro|mi|gh|gb)[a-z0-9]*[0-9][a-z0-9]*|[abhlptk][0-9]{1,4}[a-z]*|v100[a-z0-9]*")
_TPU = re.compile(r"v[2-9][a-z]*|v5litepod|7x|tpu")


def is_gpu(kind: str) -> bool:
    """Return True if a kind of resource is a GPU by the names that makers use: `gpu`, `h100`, `rtx4090`, `mi300x`."""
    return _GPU.fullmatch(kind) is not None


def is_accelerator(kind: str) -> bool:
    """Return True if a kind of resource is a GPU or a TPU."""
    return is_gpu(kind) or _TPU.fullmatch(kind) is not None
