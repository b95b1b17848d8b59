"""The parts of a test: programs, the orders and placements of a bastion, and the results that can be observed.

The programs are shell texts. A fleet without a shell (a simulated one) has a substitute for each.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from bastion.quota.resources import Resources

from ..journal import logs
from ..model import layout
from ..model.codec import decode, encode
from ..model.errors import NotReady, ObjectNotFound
from ..model.interfaces import AttemptKey, Bucket, Machine, MachineExistence, Placement, Runner
from ..model.job.spec import BundleRef
from ..model.state.state import Cause
from ..model.stored.records import Claim, Facts, Order, Peer, Peers, StopOrder
from ..stores.create_once import create_once

HELLO = "echo hello"
FAIL = "echo 'Error: no luck'; exit 3"
CRASH = "kill -SEGV $$"
WAIT = "echo started; exec sleep 600"
SAVES = "trap 'echo saved; exit 9' TERM; echo started; while :; do sleep 0.05; done"
SAVES_AND_IS_DONE = "trap 'exit 0' TERM; echo started; while :; do sleep 0.05; done"
STUBBORN = "trap '' TERM; echo started; while :; do sleep 0.05; done"
COUNTS = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
ENVIRONMENT = "env"
REPORTS = """printf '{"step": 7, "checkpoint": true}\\n' >> "$BASTION_PROGRESS_FILE"; echo reported; exec sleep 600"""
PROGRAMS = (HELLO, FAIL, CRASH, WAIT, SAVES, SAVES_AND_IS_DONE, STUBBORN, COUNTS, ENVIRONMENT, REPORTS)

KEY = AttemptKey("train-12345678", 0, 0)
OTHER = AttemptKey("other-87654321", 4, 1)
LOST_FOR_GOOD = AttemptKey("nobody-00000000", 0, 3)


class Fleet(Protocol):
    """A runner with its machines."""

    @property
    def bucket(self) -> Bucket:
        """The bucket that the workers use."""

    @property
    def runner(self) -> Runner:
        """The runner under test."""

    def again(self) -> Runner:
        """Return a new runner over the same machines, as after a restart of the bastion."""

    def stranger(self) -> Runner:
        """Return the runner of another bastion on the same backend."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds. Fail, naming `what`, if it does not hold in good time."""

    def crash_worker(self, machine: str) -> None:
        """Kill the worker and its keeper with signal 9, and nothing else."""

    def take_away(self, machine: str) -> None:
        """Make the backend give notice, as it does before it takes a machine away. The machine stays for minutes."""

    def is_idle(self, machine: str) -> bool:
        """Return True if the worker of this listed machine has come and ended.

        It is always False where machines end with their workers.
        """

    def away(self) -> AbstractContextManager[None]:
        """Return a context in which the backend answers no request."""

    def answers_lost(self) -> AbstractContextManager[None]:
        """Return a context in which the next creation is done, but its answer is lost.

        It does nothing where no answer can be lost.
        """

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """Make something with a name as this runner gives it, as users of the backend can. Return its id in a listing.

        Return "" where no user can do that.
        """

    def questions(self) -> int:
        """Return the number of requests that the backend has received so far, of any kind."""


def order(key: AttemptKey, command: list[str] | str, workers: int = 1, **changes: object) -> Order:
    """Build an order of this attempt."""
    fields: dict[str, object] = {
        "job": key.job,
        "name": key.job[:-9],
        "user": "ada",
        "project": "ml",
        "task": key.task,
        "count": 1,
        "attempt": key.attempt,
        "tier": 0,
        "command": command,
        "env": {"GREETING": "hello world"},
        "resources": {},
        "replicas": workers,
        "workers": workers,
        "bundle": BundleRef(),
        "output_dir": "",
        "checkpoint_dir": "",
        "grace_s": 20.0,
        "time_limit_s": None,
        "max_tries": 1,
        "restart_reason": "first",
    }
    return Order(**(fields | changes))  # type: ignore[arg-type]


def placement(
    key: AttemptKey, workers: int = 1, epoch: int = 1, resources: Resources | None = None, replicas: int | None = None
) -> Placement:
    """Build the placement of an attempt. `resources` are each replica's, and a replica is one host by default."""
    return Placement(
        key=key, resources=resources or {}, replicas=replicas or workers, workers=workers, tier=0, epoch=epoch
    )


class Stage:
    """A fleet, and what a bastion does with it.

    `asks` are the resources of a replica, unless a call gives others.
    """

    def __init__(self, fleet: Fleet, asks: Resources | None = None) -> None:
        self.fleet = fleet
        self.asks = asks or {}
        self.bucket = fleet.bucket
        self.runner = fleet.runner

    def start(
        self,
        command: list[str] | str,
        key: AttemptKey = KEY,
        workers: int = 1,
        *,
        replicas: int | None = None,
        resources: Resources | None = None,
        **changes: object,
    ) -> None:
        """Write the order, then create the machines."""
        held = dict(self.asks if resources is None else resources)
        said = order(key, command, workers, replicas=replicas or workers, resources=held, **changes)
        self.bucket.write(layout.order(key), encode(said))
        self.create(key, workers, replicas=replicas, resources=held)

    def create(self, key: AttemptKey = KEY, workers: int = 1, epoch: int = 1, **more: Any) -> None:
        """Create the machines of an attempt. Repeat this as often as the runner puts it off."""
        wish = placement(key, workers, epoch, **{"resources": self.asks, **more})
        self.fleet.until(lambda: self._takes(wish), "a creation that is not put off")

    def _takes(self, wish: Placement) -> bool:
        try:
            self.runner.create(wish)
        except NotReady:
            self.runner.list()  # each turn begins with a listing, from which the runner learns what there is
            return False
        return True

    def running(self, command: list[str] | str, key: AttemptKey = KEY) -> Machine:
        """Start a program that prints something, and wait for its first output."""
        self.start(command, key)
        self.fleet.until(lambda: bool(self.log(key)), "the program's first word")
        return self.machine(key)

    def stop(self, cause: Cause, grace_s: float, key: AttemptKey = KEY, nonce: str = "n") -> None:
        """Write the order to stop, then tell the attempt's machines to stop."""
        stop = StopOrder(cause=cause, grace_s=grace_s, reason="made way for bob", nonce=nonce)
        create_once(self.bucket, layout.stop(key), encode(stop))
        for machine in self.machines(key):
            self.runner.stop(machine.id)

    def machines(self, key: AttemptKey = KEY) -> list[Machine]:
        """List the machines of an attempt, without those that only claim to be one."""
        return [machine for machine in self.runner.list() if machine.key == key and machine.ours]

    def machine(self, key: AttemptKey = KEY) -> Machine:
        """Return its only machine."""
        (machine,) = self.machines(key)
        return machine

    def facts(self, key: AttemptKey = KEY, worker: int = 0) -> Facts | None:
        """Return its worker's latest facts; None if there are none."""
        try:
            return decode(self.bucket.read(layout.facts(key, worker)).data, Facts, "facts")
        except ObjectNotFound:
            return None

    def log(self, key: AttemptKey = KEY, worker: int = 0) -> str:
        """Return its output so far, without the worker's line about files that were left in the working folder."""
        prefix = layout.log(key, worker)
        said = b"".join(logs.read(self.bucket, logs.survey(self.bucket, prefix).segments)).decode()
        return "".join(line for line in said.splitlines(keepends=True) if " not kept: " not in line)

    def phase(self, worker: int) -> str:
        """Return the phase of a worker of the first attempt; empty if it has no facts yet."""
        facts = self.facts(worker=worker)
        return facts.phase if facts else ""

    def environment(self, key: AttemptKey = KEY, worker: int = 0) -> dict[str, str]:
        """Return the variables that `ENVIRONMENT` printed."""
        return dict(line.split("=", 1) for line in self.log(key, worker).splitlines() if "=" in line)

    def meet(self, workers: int) -> Peer:
        """Write the addresses of a gang's members, once all have claimed. Return the first member."""
        self.fleet.until(lambda: all(self.claim(worker=n) for n in range(workers)), "all claims")
        claims = [claim for n in range(workers) if (claim := self.claim(worker=n)) is not None]
        members = [Peer(address=claim.address, port=claim.port) for claim in claims]
        create_once(self.bucket, layout.peers(KEY), encode(Peers(members=members)))
        return members[0]

    def claim(self, key: AttemptKey = KEY, worker: int = 0) -> Claim | None:
        """Return the claim of a worker; None if there is none."""
        try:
            return decode(self.bucket.read(layout.claim(key, worker)).data, Claim, "claim")
        except ObjectNotFound:
            return None

    def ended(self, key: AttemptKey = KEY, worker: int = 0) -> Facts:
        """Wait until a worker reports its end, and delete its machine, as a bastion does. Return the last facts."""
        self.fleet.until(lambda: (facts := self.facts(key, worker)) is not None and facts.phase == "ended", "an end")
        for machine in self.machines(key):
            if machine.worker == worker:
                self.runner.delete(machine.id)
        facts = self.facts(key, worker)
        assert facts is not None
        return facts

    def idle(self, key: AttemptKey = KEY) -> None:
        """Wait until every worker of an attempt has come and ended, whether it ran or not."""

        def over() -> bool:
            machines = self.machines(key)
            return key not in self.runner.waiting() and all(self.fleet.is_idle(machine.id) for machine in machines)

        self.fleet.until(over, "the workers' end")

    def cleared(self, key: AttemptKey = KEY) -> None:
        """Delete all listed machines of an attempt, and wait until none is listed."""

        def none() -> bool:
            machines = self.machines(key)
            for machine in machines:
                self.runner.delete(machine.id)
            return not machines

        self.fleet.until(none, "the machines to be gone")

    def gone(self, machine: str) -> None:
        """Wait until a machine is gone: by the direct question, then by the listing, which may show remains of it."""
        self.fleet.until(lambda: self.runner.look(machine) is MachineExistence.GONE, "the machine to be gone")
        assert machine not in {one.id for one in self.runner.list() if one.seen}
        self.fleet.until(
            lambda: machine not in {one.id for one in self.runner.list()}, "the machine to leave the listing"
        )
