"""A real bastion in this process: the real loop, clock, threads and bucket, and a fleet on which nothing ever comes up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from bastion.model import layout
from bastion.model.interfaces import AttemptKey, Bucket, Machine, MachineExistence, Placement
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.quota.resources import Resources
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.bench.bastion.folder import fresh_folder

CONFIG = b"poll = 0.5\n"


class StillFleet:
    """A runner whose machines never come up: what is measured is the bastion alone."""

    name = "local"
    pace_s = 0.25
    offers: Collection[str] | None = None

    def __init__(self, holds: Resources) -> None:
        self._holds = holds

    def capacity(self) -> Resources:
        return self._holds

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        pass

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        return True

    def stop(self, machine: str) -> None:
        pass

    def delete(self, machine: str) -> None:
        pass

    def list(self) -> Sequence[Machine]:
        return []

    def waiting(self) -> Mapping[AttemptKey, str]:
        return {}

    def look(self, machine: str) -> MachineExistence:
        return MachineExistence.GONE

    def sweep(self) -> None:
        pass


@contextmanager
def local_bucket() -> Iterator[tuple[Bucket, Path]]:
    """A bastion's part of a fresh bucket on this machine's disk, and its folder."""
    with fresh_folder() as folder:
        bucket = PrefixedBucket(LocalBucket(f"file://{folder}", create=True), "b")
        yield bucket, folder / "b"


def begin(bucket: Bucket, holds: Resources, quota: str = "") -> Bastion:
    """A bastion that has taken over and knows what its fleet holds."""
    bucket.write(layout.CONFIG, CONFIG)
    if quota:
        bucket.write(layout.QUOTA, quota.encode())
    doors = ServiceContext(
        bucket=bucket,
        runners={"local": StillFleet(holds)},
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        snapshot=lambda: None,
    )
    me = loop.ThisBastion(name="b", host="here", boot="boot", pid=1, alive=lambda pid: False)
    bastion = loop.begin(doors, me)
    run_until(bastion, lambda: bool(bastion.journal.state.capacity))
    return bastion


def run_until(bastion: Bastion, condition: Callable[[], bool]) -> None:
    """Tick as the loop does."""
    while True:
        bastion.tick()
        if condition():
            return
        bastion.context.tasks.wait(bastion.idle_s())
