"""A machine without room fails by itself, and not for its job: that costs no try, and the job goes elsewhere."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

import pytest

from bastion.launcher.submit.without_bastion import WithoutBastion
from bastion.model.errors import BundleError
from bastion.model.interfaces import Machine
from bastion.model.state.state import Cause
from bastion.runners.worker.exit_reason import no_room
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel
from tests.support.doors import memory
from tests.support.world import spec
from tests.unit.bastion.stores.test_lost_answers import KEY


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class FullHost(SimHost):
    """Has no room for one of these, which a test names."""

    what = ""

    def write_peers(self, data: bytes) -> None:
        if self.what == "world":
            full()

    def place(self, url: str) -> str:
        if self.what == "outputs":
            full()
        return url

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> SimProcess:
        if self.what == "start":
            full()
        return super().start(argv, env, folder, memory)


@pytest.mark.parametrize("what", ["world", "outputs", "start"])
def test_what_a_full_disk_breaks_is_told_as_the_machines_failure(what: str) -> None:
    kernel, bucket = Kernel(1), memory()
    here = WithoutBastion(bucket, KEY, 1)
    here.order(spec(name="train", command="work"))
    host = FullHost(kernel, {"work": lambda _: 0}, Machine(id="m", key=KEY, worker=0, epoch=1))
    host.what = what
    runner = SimRunner(kernel, lambda _: bucket, {}, {"m": host})
    kernel.spawn(host.worker, lambda: runner.work(host))
    assert kernel.run(lambda: not host.there, 600)
    facts = here.facts(0)
    assert facts is not None
    assert (facts.phase, facts.cause) == ("ended", Cause.LOST)
    assert facts.message.startswith("no disk space is left on the machine: ")


def test_a_bundle_that_does_not_fit_is_no_bad_bundle() -> None:
    bundle = BundleError("cannot unpack")
    bundle.__cause__ = OSError(errno.ENOSPC, "no space")
    assert no_room(bundle)
    assert not no_room(BundleError("it is no archive"))
    assert not no_room(OSError(errno.ENOENT, "none"))
