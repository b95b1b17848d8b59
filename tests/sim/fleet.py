"""A simulated fleet: the real worker's code on machines, processes and folders that exist in memory only."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Mapping, Sequence

from bastion.errors import BundleError, RunnerError
from bastion.ports import AttemptKey, Bucket, Machine, Placement, Sight
from bastion.spec import BundleRef
from quota.resources import Resources
from runners.worker.doors import Doors, Kept, Pace, Post
from runners.worker.run import run
from tests.sim.kernel import Event, Kernel, Life, SimClock, SimIds, SimTasks


class SimProcess:
    """A user's program on a simulated machine: what `Script`s see, and the worker's `Process`."""

    def __init__(self, kernel: Kernel, host: SimHost, script: Script, env: Mapping[str, str]) -> None:
        self.env = env
        self.traps = False
        self.life = Life()
        self._kernel = kernel
        self._host = host
        self._told = Event(kernel)
        self._ended = Event(kernel)
        self._code = 0
        kernel.spawn(self.life, lambda: self._end(script(self)))

    def print(self, text: str) -> None:
        """Write to the log."""
        self._host.log += text.encode()

    def say_progress(self, text: str) -> None:
        """Write to the progress file."""
        self._host.progress_data += text.encode()

    def sleep(self, seconds: float) -> bool:
        """True if SIGTERM came meanwhile, to a program that traps it."""
        return self._told.wait(seconds)

    def forget_signal(self) -> None:
        """Go on as if SIGTERM had not come."""
        self._told.clear()

    def wait(self) -> int:
        self._ended.wait()
        return self._code

    def wait_rest(self) -> None:
        self._ended.wait()

    def alive(self) -> bool:
        return self.life.alive

    def signal(self, number: int) -> None:
        if self.life.alive and number == signal.SIGTERM and self.traps:
            self._told.set()
        elif self.life.alive:
            self._end(128 + number)

    def out_of_memory(self) -> bool:
        return False

    def _end(self, code: int) -> None:
        self._code = code
        self.life.end()
        self._ended.set()


Script = Callable[[SimProcess], int]
"""A user's program: its exit code. The command's text chooses it."""


class SimHost:
    """One machine: its worker, its process, its files. The worker's `Machine`."""

    def __init__(self, kernel: Kernel, scripts: Mapping[str, Script], machine: Machine) -> None:
        self.machine = machine
        self.code, self.tmp, self.progress, self.world = "/code", "/tmp", "/progress", "/world"
        self.log = bytearray()
        self.progress_data = b""
        self.worker = Life()
        self.process: SimProcess | None = None
        self.noticed = Event(kernel)
        self._kernel = kernel
        self._scripts = scripts

    @property
    def there(self) -> bool:
        """A machine is gone when neither worker nor process runs on it."""
        return self.worker.alive or (self.process is not None and self.process.life.alive)

    def kill(self) -> None:
        """Take it down."""
        self.worker.end()
        if self.process is not None:
            self.process.life.end()

    def notice(self) -> None:
        """The worker's door: wait for a notice."""
        self.noticed.wait()
        self.noticed.clear()

    def free_port(self) -> int:
        return self._kernel.random.randrange(1024, 65536)

    def base_environment(self) -> Mapping[str, str]:
        return {"PATH": "/bin", "HOME": "/home/sim", "USER": "sim", "LANG": "C.UTF-8"}

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        if hashlib.sha256(data).hexdigest() != digest:
            raise BundleError(f"bundle {digest} has other bytes")

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        raise BundleError("a simulated machine has no git")

    def keep(self, name: str, path: str) -> Kept:
        raise BundleError("a simulated machine has no Python")

    def note(self, text: str) -> None:
        self.log += f"[bastion] {text}\n".encode()

    def clear(self) -> None:
        pass

    def place(self, url: str) -> str:
        return url

    def write_world(self, data: bytes) -> None:
        pass

    def read_progress(self) -> bytes:
        return self.progress_data

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str) -> SimProcess:
        script = self._scripts.get(argv[-1])
        if script is None:
            raise FileNotFoundError(argv[0])
        self.process = SimProcess(self._kernel, self, script, env)
        return self.process

    def log_size(self) -> int:
        return len(self.log)

    def read_log(self, start: int, size: int) -> bytes:
        return bytes(self.log[start : start + size])

    def forget_log(self, start: int, end: int) -> None:
        self.log[start:end] = bytes(end - start)


class SimRunner:
    """A `Runner` of simulated machines. `hosts` outlives it: a new runner over the same hosts sees the same fleet.

    `delay` gives the seconds that a creation takes; until then the machine is not listed. `bucket_of` gives each
    worker its way to the bucket. While `blind` is set every question fails.
    """

    name = "sim"
    pace_s = 1.0

    def __init__(
        self,
        kernel: Kernel,
        bucket_of: Callable[[Machine], Bucket],
        scripts: Mapping[str, Script],
        hosts: dict[str, SimHost],
        *,
        delay: Callable[[], float] = lambda: 0.0,
        pace: Pace | None = None,
    ) -> None:
        self.blind = False
        self.listings = 0
        self._kernel = kernel
        self._bucket_of = bucket_of
        self._scripts = scripts
        self._hosts = hosts
        self._delay = delay
        self._pace = pace or Pace()
        self._ids = SimIds(kernel)
        self._coming: set[tuple[AttemptKey, int]] = set()

    def capacity(self) -> Resources | None:
        return None

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        self._see()
        there = {(host.machine.key, host.machine.worker) for host in self._hosts.values() if host.there}
        for worker in range(placement.workers):
            place = placement.key, worker
            if place not in there | self._coming:
                self._coming.add(place)
                self._kernel.spawn(Life(), lambda w=worker: self._boot(placement, w), self._delay())  # type: ignore[misc]

    def stop(self, machine: str) -> None:
        self._see()
        if machine in self._hosts:
            self._hosts[machine].noticed.set()

    def delete(self, machine: str) -> None:
        self._see()
        if machine in self._hosts:
            self._hosts[machine].kill()

    def list(self) -> Sequence[Machine]:
        self._see()
        self.listings += 1
        return [host.machine for host in self._hosts.values() if host.there]

    def sweep(self) -> None:
        pass

    def look(self, machine: str) -> Sight:
        if self.blind:
            return Sight.BLIND
        return Sight.THERE if machine in self._hosts and self._hosts[machine].there else Sight.GONE

    def _see(self) -> None:
        if self.blind:
            raise RunnerError("the fleet does not answer")

    def _boot(self, placement: Placement, worker: int) -> None:
        self._coming.discard((placement.key, worker))
        name = f"{placement.key}/{worker}@{placement.epoch}.{self._ids.new()}"
        machine = Machine(id=name, key=placement.key, worker=worker, epoch=placement.epoch)
        host = self._hosts[name] = SimHost(self._kernel, self._scripts, machine)
        self._kernel.spawn(host.worker, lambda: self.work(host))

    def work(self, host: SimHost) -> None:
        """The worker of a machine, from its start to its end."""
        machine = host.machine
        doors = Doors(
            bucket=self._bucket_of(machine),
            clock=SimClock(self._kernel),
            ids=self._ids,
            tasks=SimTasks(self._kernel, host.worker),
            machine=host,
            notice=host.notice,
            outputs="memory://outputs",
        )
        run(Post(key=machine.key, worker=machine.worker, machine=machine.id, address="10.0.0.1"), doors, self._pace)
        host.worker.end()
