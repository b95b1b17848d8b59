"""NVIDIA's management library with devices that exist in tests only: in place of the module `pynvml`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pynvml

GIB = 2**30


class FakeNvml:
    """What is asked of it is answered from `values`, by the function's name, unless it was told to refuse."""

    def __init__(self, *names: str | bytes) -> None:
        self.names = names
        self.calls: list[str] = []
        self.pending: list[tuple[int, int]] = []
        self.waits: Callable[[int], None] = lambda milliseconds: None
        self.values: dict[str, Any] = {
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=3 * GIB, total=80 * GIB),
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=97, memory=40),
            "nvmlDeviceGetTemperature": 61,
            "nvmlDeviceGetPowerUsage": 642_900,
            "nvmlDeviceGetRemappedRows": (1, 0, 0, 0),
            "nvmlDeviceGetSupportedEventTypes": pynvml.nvmlEventTypeXidCriticalError,
        }
        self.ecc = {pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED: 2, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED: 0}
        self._refused: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        """A function of the library, or one of its constants."""
        if name in self.values:
            return lambda *_: self._answer(name, lambda: self.values[name])
        return getattr(pynvml, name)

    def refuse(self, name: str, code: int = pynvml.NVML_ERROR_NOT_SUPPORTED) -> None:
        """From now on this function fails."""
        self._refused[name] = code

    def allow(self, name: str) -> None:
        """From now on this function answers again."""
        del self._refused[name]

    def breaks(self, index: int, xid: int) -> None:
        """The driver reports a critical error."""
        self.pending.append((index, xid))

    def nvmlInit(self) -> None:  # noqa: N802
        self._answer("nvmlInit", lambda: self.calls.append("init"))

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.calls.append("shutdown")

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self.names)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        if index >= len(self.names):
            raise pynvml.NVMLError(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return self._answer("nvmlDeviceGetHandleByIndex", lambda: ctypes.c_void_p(0x1000 + index))

    def nvmlDeviceGetName(self, handle: Any) -> str | bytes:  # noqa: N802
        name: str | bytes = self._answer("nvmlDeviceGetName", lambda: self.names[handle.value - 0x1000])
        return name

    def nvmlDeviceGetTotalEccErrors(self, handle: Any, kind: int, counter: int) -> int:  # noqa: N802
        assert counter == pynvml.NVML_VOLATILE_ECC
        count: int = self._answer("nvmlDeviceGetTotalEccErrors", lambda: self.ecc[kind])
        return count

    def nvmlEventSetCreate(self) -> object:  # noqa: N802
        return self._answer("nvmlEventSetCreate", object)

    def nvmlDeviceRegisterEvents(self, handle: Any, kinds: int, events: object) -> None:  # noqa: N802
        self._answer("nvmlDeviceRegisterEvents", lambda: None)

    def nvmlEventSetWait_v2(self, events: object, milliseconds: int) -> Any:  # noqa: N802
        """The next error; what passes while none comes is for the test to say."""
        if not self.pending and milliseconds:
            self.waits(milliseconds)
        if not self.pending:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_TIMEOUT)
        index, xid = self.pending.pop(0)
        return SimpleNamespace(device=ctypes.c_void_p(0x1000 + index), eventData=xid)

    def _answer(self, name: str, answer: Callable[[], Any]) -> Any:
        if name in self._refused:
            raise pynvml.NVMLError(self._refused[name])
        return answer()
