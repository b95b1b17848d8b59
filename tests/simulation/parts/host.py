"""A simulated machine with its processes: in memory only, below the real worker's code."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence

from bastion.model.errors import BundleError
from bastion.model.interfaces import Machine
from bastion.model.job.spec import BundleRef
from bastion.quota.resources import Resources
from bastion.runners.worker.interfaces import PreparedCode
from tests.simulation.parts.kernel import Event, Kernel, Life


class SimProcess:
    """A user's program on a simulated machine: what `Script`s see, and the worker's `Process`."""

    guard = None

    def __init__(self, kernel: Kernel, host: SimHost, script: Script, env: Mapping[str, str]) -> None:
        self.env = env
        self.traps = False
        self.life = Life()
        self._child: Life | None = None
        self._child_traps = False
        self._kernel = kernel
        self._host = host
        self._told = Event(kernel)
        self._ended, self._rest = Event(kernel), Event(kernel)
        self._code = 0
        kernel.spawn(self.life, lambda: self._end(script(self)))

    @property
    def holds(self) -> Resources:
        """What a replica of its attempt holds."""
        return self._host.holds

    def print(self, text: str) -> None:
        """Write to the log, if there is room."""
        if not self._host.full:
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

    def fork(self, seconds: float, *, traps: bool) -> None:
        """Leave a child that lives for so long, after the command itself too; `traps`: SIGTERM does not end it."""
        self._child, self._child_traps = Life(), traps
        self._kernel.spawn(self._child, self._end_child, seconds)

    def wait(self) -> int:
        self._ended.wait()
        return self._code

    def wait_rest(self) -> None:
        self._rest.wait()

    def alive(self) -> bool:
        return self.life.alive or self._has_child()

    def signal(self, number: int) -> None:
        kills = number != signal.SIGTERM
        if self._has_child() and (kills or not self._child_traps):
            self._end_child()
        if self.life.alive and not kills and self.traps:
            self._told.set()
        elif self.life.alive:
            self._end(128 + number)

    def kill(self) -> None:
        """All of it is gone, with nobody left to tell."""
        self.life.end()
        if self._child is not None:
            self._child.end()

    def pause(self, until: float) -> None:
        """All of it stands still till then."""
        self.life.paused_until = until
        if self._child is not None:
            self._child.paused_until = until

    def out_of_memory(self) -> bool:
        return False

    def _end(self, code: int) -> None:
        self._code = code
        self.life.end()
        self._ended.set()
        if not self._has_child():
            self._rest.set()

    def _has_child(self) -> bool:
        return self._child is not None and self._child.alive

    def _end_child(self) -> None:
        assert self._child is not None
        self._child.end()
        if not self.life.alive:
            self._rest.set()


Script = Callable[[SimProcess], int]
"""A user's program: its exit code. The command's text chooses it."""


class SimHost:
    """One machine: its worker, its process, its files. The worker's `Machine`. `holds`: what a replica of its attempt does;
    `account`: whose its process is.

    `full`: its disk has no room. `kept`: its keeper lives, and will end in the worker's place. `deaf_until`: it heeds no
    delete till then. `lives` counts the starts of workers and keepers.
    """

    def __init__(self, kernel: Kernel, scripts: Mapping[str, Script], machine: Machine) -> None:
        self.machine = machine
        self.holds: Resources = {}
        self.account = ""
        self.code, self.tmp, self.progress, self.peers = "/code", "/tmp", "/progress", "/world"
        self.log = bytearray()
        self.progress_data = b""
        self.kept_gaps: dict[int, int] = {}
        self.worker = Life()
        self.process: SimProcess | None = None
        self.noticed = Event(kernel)
        self.full, self.kept = False, True
        self.deaf_until = 0.0
        self.reboots = self.lives = 0
        self.off_s = 0.0
        self._kernel = kernel
        self._scripts = scripts

    @property
    def there(self) -> bool:
        """A machine is gone when neither worker nor process runs on it."""
        return self.worker.alive or self.runs

    @property
    def runs(self) -> bool:
        """Something of the user's runs on it."""
        return self.process is not None and self.process.alive()

    def kill(self) -> None:
        """Take it down."""
        self.worker.end()
        if self.process is not None:
            self.process.kill()

    def pause(self, until: float) -> None:
        """It stands still till then."""
        self.worker.paused_until = until
        if self.process is not None:
            self.process.pause(until)

    def notice(self) -> None:
        """The worker's door: wait for a notice."""
        self.noticed.wait()
        self.noticed.clear()

    def free_port(self) -> int:
        return self._kernel.random.randrange(1024, 65536)

    def shell(self, name: str, path: str) -> str:
        return f"/bin/{name or 'bash'}"

    def base_environment(self) -> Mapping[str, str]:
        return {"PATH": "/bin", "HOME": "/home/sim", "USER": "sim", "LANG": "C.UTF-8"}

    def _write(self) -> None:
        """Something is written to the disk."""
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        self._write()
        if hashlib.sha256(data).hexdigest() != digest:
            raise BundleError(f"bundle {digest} has other bytes")

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        raise BundleError("a simulated machine has no git")

    def pull(self, image: str) -> None:
        raise BundleError("a simulated machine has no Docker")

    def keep(self, name: str, path: str) -> PreparedCode:
        raise BundleError("a simulated machine has no Python")

    def leave(self) -> str:
        return "its output stays on the machine"

    def note(self, text: str) -> None:
        self._write()
        self.log += f"[bastion] {text}\n".encode()

    def clear(self) -> None:
        if self.process is not None:
            self.process.signal(signal.SIGKILL)

    def place(self, url: str) -> str:
        self._write()
        return url

    def changed(self, most: int) -> Sequence[str]:
        return ()

    def copy(self, names: Sequence[str], folder: str) -> None:
        raise OSError("a simulated machine has no files")

    def read_changed(self, name: str, most: int) -> bytes:
        raise OSError("a simulated machine has no files")

    def write_peers(self, data: bytes) -> None:
        self._write()

    def read_progress(self) -> bytes:
        return self.progress_data

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> SimProcess:
        script = self._scripts.get(argv[-1])
        if script is None:
            raise FileNotFoundError(argv[0])
        self.process = SimProcess(self._kernel, self, script, env)
        return self.process

    def start_in(self, image: str, argv: Sequence[str], env: Mapping[str, str], memory: int) -> SimProcess:
        raise FileNotFoundError(argv[0])

    def log_size(self) -> int:
        return len(self.log)

    def read_log(self, start: int, size: int) -> bytes:
        return bytes(self.log[start : start + size])

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        self.kept_gaps = dict(gaps)

    def gaps(self) -> Mapping[int, int]:
        return self.kept_gaps

    def forget_log(self, start: int, end: int) -> None:
        self.log[start:end] = bytes(end - start)
