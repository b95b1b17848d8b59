"""One runner's reconciler in a yard of its own: bucket, fleet, clock and state do what a test says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bastion.journal.leadership import LeaderWindow
from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import LeadershipLost
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause
from bastion.model.stored.events import AnyEvent, Claimed, Started, Stopping, Submitted
from bastion.model.stored.records import Claim
from bastion.platform.system import RandomIds
from bastion.schedule.desired import desired
from bastion.service.observations import CapacityRead, Sighting, note
from bastion.service.reconcile import Reconciler
from bastion.service.spec_cache import SpecCache
from tests.support.doors import FaultyBucket, HandRunner, HandTasks, folded
from tests.support.world import NOON, HandClock, spec

KEY = AttemptKey("j", 0, 0)
J0: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}


class Yard:
    """One runner's reconciler, and a state that only a test changes."""

    def __init__(self, *events: AnyEvent, workers: int = 1, count: int = 1) -> None:
        self.bucket, self.runner, self.clock = FaultyBucket(), HandRunner(), HandClock()
        self.looks, self.answers, self.deposed = 0, True, False
        wanted = spec(replicas=workers, count=count, command=["run", "me"], checkpoint_dir="/ckpt/")
        self.state = folded(
            Submitted(request="r", job="j", spec=wanted),
            Started(**J0, runner="local", tier=0, workers=workers),
            *events,
        )
        self.state.epoch = 3
        self.window = LeaderWindow(self.clock)
        specs = SpecCache(self.bucket)
        specs.keep("j", wanted)
        self.turns = Reconciler(
            runner=self.runner, bucket=self.bucket, clock=self.clock, ids=RandomIds(), window=self.window, specs=specs,
            epoch=3, desired=lambda: desired(self.state), now=lambda: NOON + timedelta(seconds=self.clock.now),
            at_once=HandTasks().map, verify=self.verified,
        )  # fmt: skip

    def verified(self) -> bool:
        """What `status.json` says of a larger epoch."""
        self.looks += 1
        if self.deposed:
            raise LeadershipLost("the bastion of epoch 4 on elsewhere took over: this one ends")
        return self.answers

    def turn(self) -> list[Sighting]:
        """One turn; what it saw, but for the capacity."""
        self.window.confirm(self.clock.now)
        self.runner.calls.clear()
        self.bucket.calls.clear()
        first, *seen = self.turns.turn()
        assert first == CapacityRead("local", self.runner.holds)
        return seen

    def folds(self, *events: AnyEvent) -> None:
        folded(*events, state=self.state)

    def takes_in(self, seen: list[Sighting]) -> None:
        """As a tick does."""
        for sighting in seen:
            for event in note(self.state, sighting, NOON):
                self.folds(event)

    def claimed(self, machine: str = "m", worker: int = 0) -> None:
        claim = Claim(machine=machine, address="a", port=1, nonce="n")
        self.bucket.inner.create(layout.claim(KEY, worker), encode(claim))

    def record(self, key: str, kind: type[Any]) -> Any:
        return decode(self.bucket.inner.read(key).data, kind, key)

    def deletes(self) -> list[Any]:
        return [what for verb, what in self.runner.calls if verb == "delete"]


def claim(machine: str = "m", worker: int = 0) -> Claimed:
    return Claimed(**J0, worker=worker, machine=machine, address="a", port=worker)


def stop(cause: Cause = Cause.PREEMPTED) -> Stopping:
    return Stopping(**J0, cause=cause, deadline=NOON + timedelta(seconds=30), reason="why")
