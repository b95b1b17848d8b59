"""What the suite plays: programs, the orders and placements of a bastion, and what is seen of them.

The programs are shell texts. A fleet without a shell (a simulated one) has a stand-in for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bastion import layout, logs
from bastion.codec import decode, encode
from bastion.errors import Missing
from bastion.once import create_once
from bastion.ports import AttemptKey, Bucket, Machine, Placement, Runner
from bastion.records import Claim, Facts, Member, Order, StopOrder, World
from bastion.spec import BundleRef
from bastion.state import Cause
from quota.resources import Resources

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
        """What the workers use."""

    @property
    def runner(self) -> Runner:
        """The runner under test."""

    def again(self) -> Runner:
        """A new runner over the same machines, as after a restart of the bastion."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Return when the condition holds; fail, naming `what`, if it does not in good time."""

    def crash_worker(self, machine: str) -> None:
        """Kill -9 of the worker alone."""

    def questions(self) -> int:
        """How many bulk questions the backend was asked so far."""


def order(key: AttemptKey, command: list[str] | str, workers: int = 1, **changes: object) -> Order:
    """An order of this attempt."""
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


def placement(key: AttemptKey, workers: int = 1, epoch: int = 1, resources: Resources | None = None) -> Placement:
    """The wish for the machines of an attempt; `resources` are each worker's."""
    return Placement(key=key, resources=resources or {}, replicas=workers, workers=workers, tier=0, epoch=epoch)


class Stage:
    """A fleet, and what a bastion does with it."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.bucket = fleet.bucket
        self.runner = fleet.runner

    def start(self, command: list[str] | str, key: AttemptKey = KEY, workers: int = 1, **changes: object) -> None:
        """Write the order, then have the machines created."""
        self.bucket.write(layout.order(key), encode(order(key, command, workers, **changes)))
        self.runner.create(placement(key, workers))

    def running(self, command: list[str] | str, key: AttemptKey = KEY) -> Machine:
        """Start a program that says something, and wait for its word."""
        self.start(command, key)
        self.fleet.until(lambda: bool(self.log(key)), "the program's first word")
        return self.machine(key)

    def stop(self, cause: Cause, grace_s: float, key: AttemptKey = KEY, nonce: str = "n") -> None:
        """Order the attempt to stop, then tell its machines."""
        stop = StopOrder(cause=cause, grace_s=grace_s, reason="made way for bob", nonce=nonce)
        create_once(self.bucket, layout.stop(key), encode(stop))
        for machine in self.machines(key):
            self.runner.stop(machine.id)

    def machines(self, key: AttemptKey = KEY) -> list[Machine]:
        """The machines of an attempt, as listed."""
        return [machine for machine in self.runner.list() if machine.key == key]

    def machine(self, key: AttemptKey = KEY) -> Machine:
        """Its only machine."""
        (machine,) = self.machines(key)
        return machine

    def facts(self, key: AttemptKey = KEY, worker: int = 0) -> Facts | None:
        """What its worker said last."""
        try:
            return decode(self.bucket.read(layout.facts(key, worker)).data, Facts, "facts")
        except Missing:
            return None

    def log(self, key: AttemptKey = KEY, worker: int = 0) -> str:
        """Its output so far."""
        prefix = layout.log(key, worker)
        return b"".join(logs.read(self.bucket, logs.survey(self.bucket, prefix).segments)).decode()

    def phase(self, worker: int) -> str:
        """How far a worker of the first attempt is; empty if it has not said."""
        facts = self.facts(worker=worker)
        return facts.phase if facts else ""

    def environment(self, key: AttemptKey = KEY, worker: int = 0) -> dict[str, str]:
        """The variables that `ENVIRONMENT` printed."""
        return dict(line.split("=", 1) for line in self.log(key, worker).splitlines() if "=" in line)

    def meet(self, workers: int) -> Member:
        """Tell a gang where its members are, once all have claimed; the first of them."""
        self.fleet.until(lambda: all(self.claim(worker=n) for n in range(workers)), "all claims")
        claims = [claim for n in range(workers) if (claim := self.claim(worker=n)) is not None]
        members = [Member(address=claim.address, port=claim.port) for claim in claims]
        create_once(self.bucket, layout.world(KEY), encode(World(members=members)))
        return members[0]

    def claim(self, key: AttemptKey = KEY, worker: int = 0) -> Claim | None:
        """Who claimed."""
        try:
            return decode(self.bucket.read(layout.claim(key, worker)).data, Claim, "claim")
        except Missing:
            return None

    def ended(self, key: AttemptKey = KEY, worker: int = 0) -> Facts:
        """Wait for the end, told and listed; the last facts."""
        self.fleet.until(lambda: (facts := self.facts(key, worker)) is not None and facts.phase == "ended", "an end")
        self.fleet.until(lambda: not [m for m in self.machines(key) if m.worker == worker], "the machine to be gone")
        facts = self.facts(key, worker)
        assert facts is not None
        return facts
