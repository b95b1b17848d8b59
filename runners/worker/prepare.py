"""From an order to code that a command can be run in: fetched, or as its setup leaves it, which is run or was run before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bastion import layout
from bastion.errors import BundleError
from bastion.records import Order, World
from runners.worker.doors import Doors, Kept, Pace, Post, Process
from runners.worker.environment import Places, environment, within
from runners.worker.pump import Pump, Turn, persist
from runners.worker.setup import SetupFailed, name_of
from runners.worker.supervise import Halt, Halted, TimeLimit
from runners.worker.verdict import short

BUNDLES = ("none", "tar", "git")
_LAST = 8 * 1024

EnvironmentIn = Callable[[World], dict[str, str]]
"""What the command finds in its environment, once the world is known."""

SeeThrough = Callable[[Order, Process], tuple[int, Halt | None]]
"""Waits until nothing of a process is left: its exit code, and why it had to end, if it had to."""


class Preparation:
    """One worker's. `heed` is the turn of stops; `limit` begins with a setup."""

    def __init__(
        self, post: Post, doors: Doors, pump: Pump, pace: Pace, *, heed: Turn, limit: TimeLimit, see: SeeThrough
    ) -> None:
        self._post, self._doors, self._pump, self._pace = post, doors, pump, pace
        self._stops, self._limit, self._see = heed, limit, see

    def prepare(self, order: Order) -> EnvironmentIn:
        """Lay out the code. Raises `Halted`, and whatever else makes it impossible."""
        machine = self._doors.machine
        base, places = machine.base_environment(), self._places(order)

        def plain(world: World | None) -> dict[str, str]:
            return environment(order, self._post, world, base, places)

        if not order.setup:
            self._pump.until("code", lambda: self._fetch(order, machine.code), self._stops)
            return plain
        self._limit.begin()
        env = plain(None)
        kept: Kept = self._pump.until("kept", lambda: machine.keep(name_of(order), env["PATH"]), self._heed)
        if kept.ready:
            machine.note("the setup was run before on this machine, for this code")
        else:
            self._set_up(order, kept, within(env, kept.venv))
        self._pump.until("code", lambda: kept.lay_out(machine.code), self._heed)
        return lambda world: within(plain(world), kept.venv)

    def _set_up(self, order: Order, kept: Kept, env: Mapping[str, str]) -> None:
        """Run the setup; what it makes is whole, or nobody ever uses it."""
        machine, pump = self._doors.machine, self._pump
        try:
            pump.until("venv", kept.begin, self._heed)
            pump.until("code", lambda: self._fetch(order, kept.code), self._heed)
            machine.note(f"setup: {short(order.setup)}")
            start = machine.log_size()
            process = machine.start(["/bin/sh", "-c", order.setup], env, folder_of(order, kept.code))
            code, halt = self._see(order, process)
            if halt is not None:
                raise Halted(halt)
            if code:
                end = machine.log_size()
                raise SetupFailed(code, machine.read_log(max(start, end - _LAST), _LAST))
            pump.until("keep", kept.finish, self._heed)
        except BaseException:
            machine.clear()
            kept.drop()
            raise

    def _heed(self) -> float:
        """The turn of what the time limit is for, but a command."""
        return min(self._stops(), self._limit.heed())

    def _fetch(self, order: Order, code: str) -> None:
        bundle, machine = order.bundle, self._doors.machine
        if bundle.type not in BUNDLES:
            raise BundleError(f"bundle is of type {bundle.type!r}, which this worker cannot unpack; upgrade it")
        data = b""
        if bundle.key:
            data = persist(self._doors.clock, lambda: self._doors.bucket.read(bundle.key).data, self._pace.retry_s)
        if bundle.type == "tar":
            machine.unpack(data, bundle.digest, code)
        elif bundle.type == "git":
            machine.checkout(bundle, data, code)

    def _places(self, order: Order) -> Places:
        machine = self._doors.machine
        output = order.output_dir or f"{self._doors.outputs}/{layout.outputs(order.job, order.task)}"
        return Places(
            tmp=machine.tmp,
            progress=machine.progress,
            world=machine.world,
            output=machine.place(output),
            checkpoint=machine.place(order.checkpoint_dir or f"{output}/checkpoints"),
        )


def folder_of(order: Order, code: str) -> str:
    """The folder of the code that commands are run in."""
    return f"{code}/{order.bundle.folder}".rstrip("/")
