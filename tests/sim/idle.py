"""A bastion that has nothing to do while thousands wait: its requests to the bucket, counted in virtual time."""

from __future__ import annotations

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import Ids
from bastion.model.job.spec import JobSpec, new_jobspec
from bastion.model.stored.requests import Submit
from bastion.quota.resources import Resources
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from bastion.stores.counting import CountingBucket
from bastion.stores.memory import MemoryBucket
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life, SimClock, SimIds, SimTasks

SETTLED_S = 200.0
"""Longer than any delay after which time alone changes a decision."""


class OneMachine(SimRunner):
    """A fleet of which one job takes all."""

    name = "local"

    def capacity(self) -> Resources | None:
        return {"v4": 1}


def requests_per_poll(pending: int, poll_s: float) -> float:
    """Bucket requests for each look into the inbox, the mean over a minute: one job runs, `pending` wait for its machine.

    The ticks between two looks, which only collect what runners said, are not divided by: that would flatter us.
    """
    kernel = Kernel(1)
    store = MemoryBucket(f"memory://{SimIds(kernel).new()}-{pending}-{poll_s}")
    bucket = CountingBucket(store)
    hosts: dict[str, SimHost] = {}
    doors = ServiceContext(
        bucket=bucket,
        runners={"local": OneMachine(kernel, lambda _machine: store, {"forever": _forever}, hosts)},
        clock=SimClock(kernel),
        ids=SimIds(kernel),
        tasks=SimTasks(kernel, Life()),
        snapshot=lambda: None,
    )
    for number in range(pending + 1):
        _submit(store, doors.ids, number)
    seen: list[Bastion] = []
    kernel.spawn(Life(), lambda: _live(doors, poll_s, seen))
    kernel.sleep(SETTLED_S)
    state = seen[0].journal.state
    assert (len(state.pending), len(state.live)) == (pending, 1), "it is not as idle as it was to be"
    requests, seq = bucket.counts.total(), state.seq
    kernel.sleep(60.0)
    assert state.seq == seq, "something happened"
    return (bucket.counts.total() - requests) / (60.0 / poll_s)


def _live(doors: ServiceContext, poll_s: float, seen: list[Bastion]) -> None:
    me = loop.ThisBastion(name="b", host="h", boot="b", pid=1, alive=lambda _pid: False)
    bastion = loop.begin(doors, me, poll_s)
    seen.append(bastion)
    while True:
        bastion.tick()
        doors.tasks.wait(bastion.idle_s())


def _submit(store: MemoryBucket, ids: Ids, number: int) -> None:
    spec: JobSpec = new_jobspec(name=f"j{number}", user="ann", project="red", command="forever", resources={"v4": 1})
    store.write(layout.request(spec.user, ids.new()), encode(Submit(spec=spec)))


def _forever(process: SimProcess) -> int:
    process.sleep(1e9)
    return 0
