"""The way from an order to code in which a command can run: fetch it, and run its setup unless that is cached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from bastion.bundler.unpack import PACKED_BYTES
from bastion.model import layout
from bastion.model.errors import BundleError, TooLarge
from bastion.model.job import secret_ref
from bastion.model.stored.records import Order, Peers

from .environment import ProcessPaths, environment, within
from .exit_reason import short
from .interfaces import PreparedCode, Process, WorkerContext, WorkerIdentity, WorkerMachine, WorkerPace
from .job_output import JobOutput
from .secret_mask import SHORTEST, is_short
from .secrets import reveal
from .supervision import Halt, Halted, TimeLimit
from .work_loop import Turn, WorkLoop, persist

IMAGE = "image"
BUNDLES = ("none", "tar", "git", IMAGE)
_LAST = 8 * 1024

EnvironmentIn = Callable[[Peers], dict[str, str]]
"""A function that returns the command's environment variables, once the peers are known."""

SeeThrough = Callable[[Order, Process], tuple[int, Halt | None]]
"""A function that waits until no process of the tree is left.

It returns the exit code, and the halt if something made the tree end.
"""


class Preparation:
    """The preparation of one worker. `check_stop` is the turn that looks for stops; `limit` begins with a setup."""

    def __init__(
        self,
        identity: WorkerIdentity,
        context: WorkerContext,
        pump: WorkLoop,
        pace: WorkerPace,
        *,
        output: JobOutput,
        check_stop: Turn,
        limit: TimeLimit,
        see: SeeThrough,
    ) -> None:
        self._identity, self._context, self._pump, self._pace = identity, context, pump, pace
        self._output, self._stops, self._limit, self._see = output, check_stop, limit, see

    def prepare(self, order: Order) -> EnvironmentIn:
        """Fetch the code, run its setup if needed, and return the environment.

        Raises `Halted`, or the error that makes the preparation impossible.
        """
        machine = self._context.machine
        base, places, own = machine.base_environment(), self._places(order), self._own(order)

        def plain(peers: Peers | None) -> dict[str, str]:
            return environment(order, self._identity, peers, base, places, own)

        if order.setup and order.bundle.type == IMAGE:
            raise BundleError("--setup does not run in an image; put the setup into the Dockerfile")
        if not order.setup:
            self._pump.until("code", lambda: self._fetch(order, machine.code), self._stops)
            return plain
        self._limit.begin()
        env = plain(None)
        kept: PreparedCode = self._pump.until(
            "kept", lambda: machine.keep(name_of(order), env["PATH"]), self._check_stop
        )
        if kept.ready:
            machine.note("the setup was run before on this machine, for this code")
        else:
            self._set_up(order, kept, within(env, kept.venv))
        self._pump.until("code", lambda: kept.lay_out(machine.code), self._check_stop)
        return lambda peers: within(plain(peers), kept.venv)

    def _own(self, order: Order) -> dict[str, str]:
        """Return the user's variables, with secrets in place of their references. The output hides them from now on."""
        names = secret_ref.wanted(order.env)
        if not names:
            return order.env
        found: dict[str, str] = self._pump.until("secrets", lambda: reveal(order, self._context.secrets), self._stops)
        self._output.hide(found.values())
        for name in sorted({names[variable] for variable, value in found.items() if is_short(value)}):
            self._context.machine.note(f"secret {name} is shorter than {SHORTEST} bytes: it is not hidden in this log")
        return {**order.env, **found}

    def _set_up(self, order: Order, kept: PreparedCode, env: Mapping[str, str]) -> None:
        """Run the setup. Its result is either complete or never used."""
        machine, pump = self._context.machine, self._pump
        try:
            pump.until("venv", kept.begin, self._check_stop)
            pump.until("code", lambda: self._fetch(order, kept.code), self._check_stop)
            machine.note(f"setup: {short(order.setup)}")
            start = self._output.size
            process = machine.start(
                in_shell(order, machine, order.setup, env), env, folder_of(order, kept.code), memory_of(order)
            )
            code, halt = self._see(order, process)
            if halt is not None:
                raise Halted(halt)
            if code:
                raise SetupFailed(code, self._output.last(_LAST, start))
            pump.until("keep", kept.finish, self._check_stop)
        except BaseException:  # `Halted` too: a half-made environment must never look ready
            machine.clear()
            kept.drop()
            raise

    def _check_stop(self) -> float:
        """The turn of everything that the time limit covers, except a command."""
        return min(self._stops(), self._limit.check_stop())

    def _fetch(self, order: Order, code: str) -> None:
        bundle, machine = order.bundle, self._context.machine
        if bundle.type not in BUNDLES:
            raise BundleError(
                f"bundle is of type {bundle.type!r}, which this worker cannot unpack; upgrade the bastion"
            )
        data = b""
        if bundle.key:
            data = persist(self._context.clock, lambda: self._packed(bundle.key), self._pace.retry_s)
        if bundle.type == "tar":
            machine.unpack(data, bundle.digest, code)
        elif bundle.type == "git":
            machine.checkout(bundle, data, code)
        elif bundle.type == IMAGE:
            machine.pull(bundle.pinned)

    def _packed(self, key: str) -> bytes:
        """Return the bytes of a bundle. Its size is limited because a writer of bundles may write any size."""
        try:
            return self._context.bucket.read(key, PACKED_BYTES).data
        except TooLarge as error:
            raise BundleError(f"{error}; bundles of launch are smaller: launch the job again") from error

    def _places(self, order: Order) -> ProcessPaths:
        machine = self._context.machine
        output = output_url(order, self._context)
        return ProcessPaths(
            tmp=machine.tmp,
            progress=machine.progress,
            peers=machine.peers,
            output=machine.place(output),
            checkpoint=machine.place(order.checkpoint_dir or f"{output}/checkpoints"),
        )


def output_url(order: Order, context: WorkerContext) -> str:
    """Return the job's output folder: the one that its user named, or the default folder of its task in the bucket."""
    return order.output_dir or f"{context.outputs}/{layout.outputs(order.job, order.task)}"


_IN_IMAGE = {
    "": 'command -v bash >/dev/null 2>&1 && exec bash -c "$0"; exec sh -c "$0"',
    "bash": 'command -v bash >/dev/null 2>&1 || { echo "there is no bash in this image" >&2; exit 127; }; exec bash -c "$0"',
    "sh": 'exec sh -c "$0"',
}
"""The script that finds the shell inside an image: the worker beside the container cannot look into the image."""


def in_shell(order: Order, machine: WorkerMachine, text: str, env: Mapping[str, str]) -> list[str]:
    """Return the argv that runs a text in the shell of the order. Raises `BundleError` if there is no such shell."""
    if order.bundle.type == IMAGE:
        return ["/bin/sh", "-c", _IN_IMAGE[order.shell], text]
    return [machine.shell(order.shell, env["PATH"]), "-c", text]


def begin(order: Order, machine: WorkerMachine, argv: Sequence[str], env: Mapping[str, str]) -> Process:
    """Start the command of the order in its code, or in its image if it has one. Raises `OSError`, `ValueError`."""
    if order.bundle.type == IMAGE:
        return machine.start_in(order.bundle.pinned, argv, env, memory_of(order))
    return machine.start(argv, env, folder_of(order, machine.code), memory_of(order))


def folder_of(order: Order, code: str) -> str:
    """Return the folder of the code in which commands run."""
    return f"{code}/{order.bundle.folder}".rstrip("/")


def memory_of(order: Order) -> int:
    """Return the GiB of memory of one worker, from the request for each replica; 0 if the job did not ask."""
    return -(-order.resources.get("memory", 0) * order.replicas // order.workers)


_LINES = 5


class SetupFailed(Exception):
    """The setup ended with an error. The text holds its exit code and its last lines of output."""

    def __init__(self, code: int, output: bytes) -> None:
        lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
        words = " | ".join(lines[-_LINES:]) or "it printed nothing"
        super().__init__(f"the setup ended with exit code {code}: {words}")


def name_of(order: Order) -> str:
    """Return the cache name of a setup, equal for attempts that may share its result.

    They have equal code, setup text, shell and secret names, and belong to one user in one project. A job can change
    what its setup made, so no other user's job may ever run it.
    """
    bundle, secrets = order.bundle, sorted(secret_ref.wanted(order.env).items())
    whose = [order.user, order.project, secrets]
    shell = [order.shell] if order.shell else []
    return msgspec.json.encode(
        [bundle.identity, bundle.submodules, bundle.folder, order.setup, *shell, *whose]
    ).decode()
