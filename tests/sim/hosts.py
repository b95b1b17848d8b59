"""One simulated machine by itself, for tests of the worker's parts."""

from __future__ import annotations

from collections.abc import Mapping

from bastion.model.interfaces import AttemptKey, Machine
from tests.simulation.parts.host import Script, SimHost
from tests.simulation.parts.kernel import Kernel

KEY = AttemptKey("train-12345678", 0, 0)


def host(kernel: Kernel | None = None, scripts: Mapping[str, Script] | None = None) -> SimHost:
    """A machine of worker 0 of `KEY`."""
    return SimHost(kernel or Kernel(), scripts or {}, Machine(id="m-0", key=KEY, worker=0, epoch=1))
