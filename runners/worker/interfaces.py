"""The doors of the worker: what it is told at its start, and the machine below it. Protocols and values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bastion.model.interfaces import AttemptKey, Bucket, Clock, Ids, Tasks
from bastion.model.job.spec import BundleRef
from bastion.model.stored.gpu_facts import Gpu
from bastion.model.stored.records import BEAT_S

from .linux.bounds import Excess
from .output_folder import Put, WorkingFolder, no_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Which worker this is. `machine` is the backend's own id; `devices` are the GPUs that are its alone.

    `creation` is a part, between slashes and dots, of the ids of all machines that came together, where only such may form a
    gang.
    """

    key: AttemptKey
    worker: int
    machine: str
    address: str
    devices: tuple[str, ...] = ()
    creation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPace:
    """How often the worker does what it does, and how much it keeps. Seconds; bytes."""

    beat_s: float = BEAT_S
    stop_s: float = 5.0
    poll_s: float = 1.0
    order_s: float = 2.0
    report_s: float = 1.0
    flush_s: float = 1.0
    steady_flush_s: float = 30.0
    young_s: float = 60.0
    watch_s: float = 5.0
    watched_s: float = 60.0
    retry_s: float = 2.0
    notice_s: float = 3.0
    notice_late_s: float = 0.25
    rest_grace_s: float = 5.0
    kill_s: float = 0.2
    gpu_s: float = 60.0
    driver_s: float = 150.0
    errors_s: float = 0.25
    last_look_s: float = 3.0
    give_up_s: float = 86_400.0
    spool_bytes: int = 4 * 1024**3


class Guard(Protocol):
    """Sees whether a tree of processes keeps within what it may use."""

    def look(self) -> Excess | None:
        """The bound that it broke, the first one for ever; it is killed for it. May take long."""

    def watch(self) -> Excess | None:
        """Look until a bound is broken, the tree has ended or a while is over: the first bound that it broke."""

    def period(self) -> float:
        """Seconds from the end of one watch to the next."""


class Process(Protocol):
    """The user's command and all that it starts: a tree of processes."""

    @property
    def guard(self) -> Guard | None:
        """None: there are no bounds."""

    def wait(self) -> int:
        """Return when the command itself has ended: its exit code, 128 + n after signal n."""

    def wait_rest(self) -> None:
        """After `wait`: return when nothing of the tree is left."""

    def alive(self) -> bool:
        """True while anything of the tree runs."""

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree."""

    def out_of_memory(self) -> bool:
        """True if the system killed a process here for want of memory since the start."""


class PreparedCode(Protocol):
    """A virtual environment, and the code that its setup was run in. `ready`: it was run before."""

    ready: bool
    code: str
    venv: str

    def begin(self) -> None:
        """Make an empty environment, and a folder for the code. Raises `BundleError`."""

    def finish(self) -> None:
        """The setup was run: whoever comes later finds it ready."""

    def drop(self) -> None:
        """The setup failed: forget all of it."""

    def lay_out(self, code: str) -> None:
        """Copy the code, as the setup has left it, to the folder `code`. Raises `BundleError`."""


class WorkerMachine(WorkingFolder, Protocol):
    """The machine: the attempt's own folder on it, and its processes. Paths are as the user's process sees them."""

    code: str
    tmp: str
    progress: str
    world: str

    def free_port(self) -> int:
        """A TCP port that nobody listens on now, nor on the two below it."""

    def base_environment(self) -> Mapping[str, str]:
        """PATH, HOME, USER and LANG of the account."""

    def shell(self, name: str, path: str) -> str:
        """The path of the shell of this name; "": bash where the PATH has one, else sh. `BundleError` if there is none."""

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        """Lay out a bundle in the folder `code`. `BundleError` if it is not what it says, or there is no room."""

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        """Lay out a commit in the folder `code`, with these changes on top. `BundleError` if it cannot be fetched."""

    def pull(self, image: str) -> None:
        """Have a container image, by its pinned name. `BundleError` if it cannot be had."""

    def keep(self, name: str, path: str) -> PreparedCode:
        """What the setup of this name has made or is to make, for the `python3` of this PATH.

        Waits while another worker of this machine runs it. `BundleError` if there is no such Python.
        """

    def clear(self) -> None:
        """Kill what was begun here and given up."""

    def leave(self) -> str:
        """Have the output stay on the machine, since no bucket has it; where it lies, in words."""

    def note(self, text: str) -> None:
        """Append a line of ours to the log."""

    def place(self, url: str) -> str:
        """What the process is told of a folder that outlives it: a local one is made, and named by its path."""

    def write_world(self, data: bytes) -> None:
        """Write the file `world`."""

    def read_progress(self) -> bytes:
        """The end of the file `progress`, at most 64 KiB; empty while there is none."""

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> Process:
        """Run a command in `folder`, its output appended to the log. `OSError` if it cannot be started.

        `memory` is how many GiB the job asked for; 0: it did not.
        """

    def start_in(self, image: str, argv: Sequence[str], env: Mapping[str, str], memory: int) -> Process:
        """The same in a container of an image that was pulled, in the image's own folder."""

    def log_size(self) -> int:
        """Bytes of output so far."""

    def read_log(self, start: int, size: int) -> bytes:
        """At most `size` bytes of output from `start` on."""

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        """Keep, for whoever goes on with the log, where dropped output begins and ends. Best effort."""

    def gaps(self) -> Mapping[int, int]:
        """What was kept last; empty if nothing was."""

    def forget_log(self, start: int, end: int) -> None:
        """Give back the disk that the output from `start` to `end` holds, if the system can. It is read no more."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The machine is about to be taken away: why, and how many seconds there are at most for the job's grace."""

    reason: str
    seconds: float


class Secrets(Protocol):
    """The secrets that this machine holds."""

    def reveal(self, name: str, *, user: str, project: str) -> str:
        """The value of this name for a job of this user and project. Raises `SecretError`. May take long."""


class Gpus(Protocol):
    """The GPUs that are this worker's, through their driver. A call may take long, or never return."""

    def sample(self) -> list[Gpu]:
        """A look at each; `xids` are empty, or None where errors are not told."""

    def errors(self) -> list[tuple[str, int]] | None:
        """Wait a while for critical errors: the GPU's index and NVIDIA's number of each. None: none are told."""


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """All doors of one worker. `outputs` is the URL that default output folders lie below.

    `notice` returns when the machine asks to look for a stop order; `farewell`, where machines know beforehand that they are
    taken away, when that is so, or with None after a while. `say` notes a problem.
    `gpus` are those of the post, if it has any; `secrets` those of the machine. `store` gives the way to put files below a URL.
    """

    bucket: Bucket
    clock: Clock
    ids: Ids
    tasks: Tasks
    machine: WorkerMachine
    notice: Callable[[], None]
    outputs: str
    farewell: Callable[[], Farewell | None] | None = None
    say: Callable[[str], None] = field(default=_silent)
    gpus: Gpus | None = None
    secrets: Secrets | None = None
    store: Callable[[str], Put] = field(default=no_store)
