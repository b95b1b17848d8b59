"""NVIDIA's GPUs, read through NVML. Any call here may hang with the driver, so only tasks call it.

The calls run in the worker's own process, not in a child: all children of a worker are the user's. A hanging driver
holds only a daemon thread, and the process can end without it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

from bastion.model.stored.gpu_facts import GPUS_MAX, WORDS_MAX, Gpu

_WAIT_MS = 60_000
_EVENTS_MAX = 1_000
_MIB = 2**20


class NvmlGpus:
    """The GPUs of these indices. `library` replaces the module `pynvml`."""

    def __init__(self, indices: Sequence[str], library: Any = None) -> None:
        self._indices = tuple(indices)[:GPUS_MAX]
        self._library = library
        self._handles: dict[str, Any] | None = None
        self._events: Any = None
        self._watched: dict[int, str] = {}

    def sample(self) -> list[Gpu]:
        """Return the state of each GPU. If the driver refuses an answer, that is a problem of the GPU, not an error."""
        handles, problem = self._open()
        return [self._gpu(index, handles.get(index), problem) for index in self._indices]

    def errors(self) -> list[tuple[str, int]] | None:
        """Wait some time for critical errors: each a GPU's index and the error's number.

        Return None if, as far as `sample` saw, the driver reports no errors of these GPUs.
        """
        if not self._watched:
            return None
        found: list[tuple[str, int]] = []
        with suppress(self._nvml.NVMLError_Timeout):
            while len(found) < _EVENTS_MAX:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0 if found else _WAIT_MS)
                found.append((self._watched.get(_address(event.device), ""), int(event.eventData)))
        return found

    @property
    def _nvml(self) -> Any:
        import pynvml

        return self._library or pynvml

    def _open(self) -> tuple[dict[str, Any], str]:
        """Return the handles of the GPUs, and the problem if there are none."""
        n = self._nvml
        if self._handles is None:
            try:
                n.nvmlInit()
            except n.NVMLError as error:
                return {}, f"NVML cannot be opened: {error}"
            self._handles = {index: _asked(n, n.nvmlDeviceGetHandleByIndex, int(index)) for index in self._indices}
            self._watch(n)
        return self._handles, ""

    def _watch(self, n: Any) -> None:
        """Ask the driver to report critical errors, for those GPUs that can."""
        self._events = _asked(n, n.nvmlEventSetCreate)
        xid = n.nvmlEventTypeXidCriticalError
        for index, handle in (self._handles or {}).items():
            offered = _asked(n, n.nvmlDeviceGetSupportedEventTypes, handle) if handle else None
            if self._events is not None and offered is not None and offered & xid:
                with suppress(n.NVMLError):
                    n.nvmlDeviceRegisterEvents(handle, xid, self._events)
                    self._watched[_address(handle)] = index

    def _gpu(self, index: str, handle: Any, problem: str) -> Gpu:
        if handle is None:
            return Gpu(index=index, problem=_words(problem or "the driver does not know it"))
        n = self._nvml
        try:
            name = n.nvmlDeviceGetName(handle)
        except n.NVMLError as error:
            return Gpu(index=index, problem=_words(f"the driver says: {error}"))
        memory = _asked(n, n.nvmlDeviceGetMemoryInfo, handle)
        use = _asked(n, n.nvmlDeviceGetUtilizationRates, handle)
        power = _asked(n, n.nvmlDeviceGetPowerUsage, handle)
        corrected, uncorrected = n.NVML_MEMORY_ERROR_TYPE_CORRECTED, n.NVML_MEMORY_ERROR_TYPE_UNCORRECTED
        return Gpu(
            index=index,
            name=_words(name.decode("ascii", "replace") if isinstance(name, bytes) else name),
            memory_used_mib=None if memory is None else memory.used // _MIB,
            memory_total_mib=None if memory is None else memory.total // _MIB,
            utilization_percent=None if use is None else use.gpu,
            temperature_c=_asked(n, n.nvmlDeviceGetTemperature, handle, n.NVML_TEMPERATURE_GPU),
            power_w=None if power is None else power // 1000,
            ecc_corrected=_asked(n, n.nvmlDeviceGetTotalEccErrors, handle, corrected, n.NVML_VOLATILE_ECC),
            ecc_uncorrected=_asked(n, n.nvmlDeviceGetTotalEccErrors, handle, uncorrected, n.NVML_VOLATILE_ECC),
            rows=_rows(_asked(n, n.nvmlDeviceGetRemappedRows, handle)),
            xids=[] if _address(handle) in self._watched else None,
        )


def _words(text: str) -> str:
    """Return text that is safe for a terminal, and not too long."""
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text)[:WORDS_MAX]


def _rows(remapped: tuple[int, int, int, int] | None) -> Literal["ok", "pending", "failed"] | None:
    if remapped is None:
        return None
    _, _, pending, failed = remapped
    return "failed" if failed else "pending" if pending else "ok"


def _asked(n: Any, question: Callable[..., Any], *of: Any) -> Any:
    """Return the answer; None if the driver does not offer one."""
    try:
        return question(*of)
    except n.NVMLError:
        return None


def _address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
