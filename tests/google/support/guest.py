"""A program: the worker of a machine that has no disk but its home, and the GPUs that it is said to have."""

from __future__ import annotations

import os
import sys

import psutil

from bastion.runners.programs.worker import main
from tests.support.fake_nvml import FakeNvml

GPUS = "TEST_GPUS"
"""The products of its GPUs, by commas."""

if __name__ == "__main__":
    psutil.disk_partitions = lambda **_: []
    if names := list(filter(None, os.environ.get(GPUS, "").split(","))):
        sys.modules["pynvml"] = FakeNvml(*names)  # type: ignore[assignment]
    sys.exit(main(sys.argv[1:]))
