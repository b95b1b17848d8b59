"""The GPUs of this machine, listed through NVML if there is a driver."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import RunnerError
from bastion.quota.resources import Resources

_MAKERS = frozenset({"nvidia", "tesla", "quadro", "geforce"})
_FAMILIES = frozenset({"rtx", "gtx"})


@dataclass(frozen=True, slots=True)
class LocalGpu:
    """One GPU of this machine.

    index: its index in the order of the PCI bus.
    kind: its kind, as quota files write it (`h200`).
    """

    index: str
    kind: str


def inventory(nvml: Any = None) -> tuple[LocalGpu, ...]:
    """Return the GPUs of this machine; none if there is no driver. `nvml` replaces the module `pynvml`."""
    import pynvml

    library = nvml or pynvml
    try:
        library.nvmlInit()
    except pynvml.NVMLError:
        return ()
    try:
        count = library.nvmlDeviceGetCount()
        return tuple(LocalGpu(str(index), kind_of(_name(library, index))) for index in range(count))
    except pynvml.NVMLError as error:
        raise RunnerError(f"cannot list the GPUs: {error}; see what `nvidia-smi` says") from error
    finally:
        with suppress(pynvml.NVMLError):
            library.nvmlShutdown()


def _name(library: Any, index: int) -> str:
    name: str | bytes = library.nvmlDeviceGetName(library.nvmlDeviceGetHandleByIndex(index))
    return name.decode() if isinstance(name, bytes) else name


def kind_of(product: str) -> str:
    """Return one word for a product: `NVIDIA A100-SXM4-80GB` is an `a100`, `NVIDIA GeForce RTX 4090` an `rtx4090`."""
    words = [word for word in re.split(r"[^a-z0-9]+", product.lower()) if word and word not in _MAKERS]
    if len(words) > 1 and words[0] in _FAMILIES:
        return words[0] + words[1] if words[1][0].isdigit() else words[1]
    return words[0] if words else "gpu"


def count(gpus: Iterable[LocalGpu]) -> dict[str, int]:
    """Return the number of GPUs of each kind."""
    out: dict[str, int] = {}
    for gpu in gpus:
        out[gpu.kind] = out.get(gpu.kind, 0) + 1
    return out


def assign(resources: Resources, gpus: Iterable[LocalGpu], held: Iterable[str]) -> tuple[str, ...]:
    """Return the indices that one worker gets: as many of each kind as it asks for, none that is held.

    Kinds that are no GPU of this machine get none. Raises `RunnerError` if too few are free.
    """
    taken, by_kind = frozenset(held), dict[str, list[str]]()
    for gpu in gpus:
        by_kind.setdefault(gpu.kind, []).append(gpu.index)
    out: list[str] = []
    for kind, indices in by_kind.items():
        free, wanted = [index for index in indices if index not in taken], resources.get(kind, 0)
        if wanted > len(free):
            raise RunnerError(f"{wanted} {kind} are needed and {len(free)} are free now; Bastion tries again")
        out += free[:wanted]
    return tuple(out)


def portion(indices: Sequence[str], number: int, among: int) -> tuple[str, ...]:
    """Return the devices of one of `among` workers that divide these; all of them if there are too few to divide."""
    each = len(indices) // among
    return tuple(indices[number * each : (number + 1) * each] if each else indices)
