"""The interfaces of the worker: what it gets at its start, and the machine below it. Protocols and values only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bastion.model.interfaces import AttemptKey, Bucket, Clock, Ids, Tasks
from bastion.model.job.spec import BundleRef
from bastion.model.stored.gpu_facts import Gpu
from bastion.model.stored.records import BEAT_S

from .linux.bounds import BrokenBound
from .output_folder import Put, WorkingFolder, no_store


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerIdentity:
    """The place of one worker: which worker of which attempt it is, and on which machine.

    key: the attempt.
    worker: the worker's number within the attempt, from 0.
    machine: the machine's id, as the backend gives it.
    address: the address at which the other workers reach this one.
    devices: the GPUs that belong to this worker alone; empty if it has none.
    creation: a part of `machine`, between slashes and dots, that all machines created together share; "" where the
        workers of a gang need not come from one creation.
    """

    key: AttemptKey
    worker: int
    machine: str
    address: str
    devices: tuple[str, ...] = ()
    creation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPace:
    """The intervals and limits of one worker. Times are in seconds, sizes in bytes.

    beat_s: between heartbeats.
    stop_s: between looks for a stop order.
    poll_s: the longest pause between two turns of a supervision.
    order_s: between looks for a record that the bastion or another worker has not written yet.
    report_s: between reports of the facts.
    flush_s: between uploads of output while they are fast.
    steady_flush_s: between uploads of output otherwise.
    young_s: how long uploads are fast after the start of the command.
    watch_s: between looks for a follower of the log.
    watched_s: how long uploads are fast after a sign of a follower.
    retry_s: the pause before a request to the bucket is sent again.
    notice_s: how long after a notice a look for a stop order may take before the machine counts as taken away.
    notice_late_s: how long a notice of the machine may arrive after the command that it ended.
    rest_grace_s: the longest grace of processes that the command left behind.
    kill_s: between two kills of a tree that does not end.
    gpu_s: between looks at the GPUs.
    driver_s: the silence after which the GPU driver counts as unresponsive.
    errors_s: how long to wait for GPU errors after the command failed.
    last_look_s: how long the last look at the GPUs may take.
    give_up_s: how long after the end the worker tries to store its log and its facts.
    spool_bytes: the most output that waits for upload; newer output is dropped.
    """

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
    """A check that a tree of processes keeps within its bounds."""

    def look(self) -> BrokenBound | None:
        """Return the bound that was broken, always the first one; the tree is killed for it. May take long."""

    def watch(self) -> BrokenBound | None:
        """Look until a bound is broken, the tree has ended or some time is over. Return the bound that was broken."""

    def period(self) -> float:
        """Return the seconds from the end of one watch to the next."""


class Process(Protocol):
    """The user's command and all that it starts: a tree of processes."""

    @property
    def guard(self) -> Guard | None:
        """The guard of the tree; None if no bounds apply."""

    def wait(self) -> int:
        """Wait until the command itself has ended. Return its exit code, 128 + n after signal n."""

    def wait_rest(self) -> None:
        """Wait, after `wait`, until nothing of the tree is left."""

    def alive(self) -> bool:
        """Return True while any process of the tree runs."""

    def signal(self, number: int) -> None:
        """Send a signal to every process of the tree."""

    def out_of_memory(self) -> bool:
        """Return True if the system has killed a process here for lack of memory since the start."""


class PreparedCode(Protocol):
    """A virtual environment, with the code in which its setup was run.

    ready: True if the setup was run before.
    code: the path of the folder of the code.
    venv: the path of the virtual environment.
    """

    ready: bool
    code: str
    venv: str

    def begin(self) -> None:
        """Make an empty environment, and a folder for the code. Raises `BundleError`."""

    def finish(self) -> None:
        """Mark the setup as complete: later workers find it ready."""

    def drop(self) -> None:
        """Forget everything, because the setup failed."""

    def lay_out(self, code: str) -> None:
        """Copy the code, as the setup has left it, to the folder `code`. Raises `BundleError`."""


class WorkerMachine(WorkingFolder, Protocol):
    """The machine: the attempt's own folder on it, and its processes. Paths are as the user's process sees them.

    code: the path of the folder of the code.
    tmp: the path of the temporary folder.
    progress: the path of the progress file, which the job writes.
    peers: the path of the file with the addresses of the gang.
    """

    code: str
    tmp: str
    progress: str
    peers: str

    def free_port(self) -> int:
        """Return a TCP port that is free now, like the two ports below it."""

    def base_environment(self) -> Mapping[str, str]:
        """Return the basic variables of the account, such as PATH, HOME, USER and LANG."""

    def shell(self, name: str, path: str) -> str:
        """Return the path of this shell; for "", of bash if the PATH has one, else sh. Raises `BundleError`."""

    def unpack(self, data: bytes, digest: str, code: str) -> None:
        """Unpack a bundle into the folder `code`. `BundleError` if its digest differs, or the disk has no room."""

    def checkout(self, bundle: BundleRef, changes: bytes, code: str) -> None:
        """Check out a commit into the folder `code`, with these changes on top. Raises `BundleError` if that fails."""

    def pull(self, image: str) -> None:
        """Pull a container image by its pinned name. `BundleError` if that is impossible."""

    def keep(self, name: str, path: str) -> PreparedCode:
        """Return the cached result of the setup of this name, or a place to make it, for the `python3` of this PATH.

        Waits while another worker of this machine runs the setup. `BundleError` if there is no such Python.
        """

    def clear(self) -> None:
        """Kill the processes that were started here for a work that was given up."""

    def leave(self) -> str:
        """Make the output stay on the machine, because no bucket has it. Return in words where it lies."""

    def note(self, text: str) -> None:
        """Append a line of the worker's own to the log."""

    def place(self, url: str) -> str:
        """Return the name of a lasting folder, as the process gets it. A local folder is made; its name is its path."""

    def write_peers(self, data: bytes) -> None:
        """Write the file `peers`."""

    def read_progress(self) -> bytes:
        """Return the end of the file `progress`, at most 64 KiB; empty while there is no such file."""

    def start(self, argv: Sequence[str], env: Mapping[str, str], folder: str, memory: int) -> Process:
        """Run a command in `folder`, its output appended to the log. `OSError` if it cannot be started.

        `memory` is the GiB of memory that the job asked for; 0 if it did not ask.
        """

    def start_in(self, image: str, argv: Sequence[str], env: Mapping[str, str], memory: int) -> Process:
        """Run a command in a container of an image that was pulled, in the image's own folder. Else like `start`."""

    def log_size(self) -> int:
        """Return the bytes of output so far."""

    def read_log(self, start: int, size: int) -> bytes:
        """Return at most `size` bytes of output from `start` on."""

    def keep_gaps(self, gaps: Mapping[int, int]) -> None:
        """Store where dropped output begins and ends, for a later worker that continues the log. Best effort."""

    def gaps(self) -> Mapping[int, int]:
        """Return the gaps that were stored last; empty if there are none."""

    def forget_log(self, start: int, end: int) -> None:
        """Free the disk space of the output from `start` to `end`, if the system can. That output is not read again."""


@dataclass(frozen=True, slots=True)
class TerminationNotice:
    """The news that the machine is about to be taken away.

    reason: why, for the user.
    seconds: the most seconds that are left for the job's grace.
    """

    reason: str
    seconds: float


class Secrets(Protocol):
    """The secrets that this machine holds."""

    def reveal(self, name: str, *, user: str, project: str) -> str:
        """Return the value of this name for a job of this user and project. Raises `SecretError`. May take long."""


class Gpus(Protocol):
    """The GPUs of this worker, seen through their driver. A call may take long, or never return."""

    def sample(self) -> list[Gpu]:
        """Return the state of each GPU. `xids` is empty, or None if the driver does not report errors."""

    def errors(self) -> list[tuple[str, int]] | None:
        """Wait some time for critical errors: each a GPU's index and NVIDIA's number.

        Return None if the driver does not report errors.
        """


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerContext:
    """The surroundings of one worker: everything that it uses outside its own process.

    bucket: the bucket of the bastion.
    clock: the time.
    ids: the source of new ids.
    tasks: what runs work beside the loop.
    machine: the machine below the worker.
    notice: returns when the machine asks the worker to look for a stop order.
    outputs: the URL below which default output folders lie.
    farewell: returns a `TerminationNotice` when the machine is about to be taken away, or None after some time. None: the
        machine does not learn of this beforehand.
    say: reports a problem.
    gpus: the GPUs of the post; None if it has none.
    secrets: the secrets of the machine; None if it holds none.
    store: returns, for a URL, the function that stores files below it.
    """

    bucket: Bucket
    clock: Clock
    ids: Ids
    tasks: Tasks
    machine: WorkerMachine
    notice: Callable[[], None]
    outputs: str
    farewell: Callable[[], TerminationNotice | None] | None = None
    say: Callable[[str], None] = field(default=_silent)
    gpus: Gpus | None = None
    secrets: Secrets | None = None
    store: Callable[[str], Put] = field(default=no_store)
