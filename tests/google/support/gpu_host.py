"""A VM with GPUs: a driver's library where the system looks for libraries. What it answers exists in tests only."""

from __future__ import annotations

import subprocess

from tests.google.support.bare import Bare

_LIBRARY = "usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
# Of NVML, what a worker cannot do without. What is missing in a driver's library is no error to those who ask.
_NVML = """
struct memory { unsigned long long total, free, used; };
int nvmlInitWithFlags(unsigned flags) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = COUNT; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *) (0x1000L + index);
    return index < COUNT ? 0 : 2;
}
int nvmlDeviceGetName(void *device, char *name, unsigned length) {
    const char *from = NAME;
    for (unsigned i = 0; i < length && (name[i] = from[i]); i++) {}
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory) {
    memory->total = 24ULL << 30, memory->used = 1ULL << 30, memory->free = 23ULL << 30;
    return 0;
}
"""


def has_gpus(bare: Bare, name: str, number: int = 1) -> None:
    """Make it such a VM, before its first start. Needs a C compiler, and no headers."""
    library = bare.root / _LIBRARY
    library.parent.mkdir(parents=True, exist_ok=True)
    words = [
        f'-DNAME="{name}"',
        f"-DCOUNT={number}",
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-fno-builtin",
        "-fno-stack-protector",
    ]
    subprocess.run(["gcc", "-x", "c", "-", *words, "-o", str(library)], input=_NVML, text=True, check=True)
