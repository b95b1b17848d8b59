"""The worker's command line and wiring. Runners write it, never people: it must start fast, so the parsing is plain."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitAccess, GitContext
from bastion.model import layout
from bastion.model.interfaces import Bucket
from bastion.platform import host
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.stores.job_files import JobFiles
from bastion.stores.opening import housed, open_part
from bastion.stores.routed import url_of

from ..google.machines import machine_context
from ..google.machines import metadata as fate
from ..google.machines.google_secrets import GoogleSecrets
from ..google.machines.image_credentials import login
from ..google.machines.metadata import HOST, MetadataServer
from ..kubernetes import names as pod
from ..local.gpus import inventory, portion
from ..local.registry import KEEPER, WORKER, register, register_command
from ..worker.interfaces import TerminationNotice, WorkerContext, WorkerIdentity
from ..worker.linux import machine_cgroup
from ..worker.linux.cache import Cache
from ..worker.linux.container_engine import SOCKET, Engine
from ..worker.linux.keeper import keep
from ..worker.linux.machine import LocalMachine, OwnContainer
from ..worker.linux.nvml import NvmlGpus
from ..worker.linux.process_limits import set_limits
from ..worker.linux.secret_files import FolderSecrets
from ..worker.linux.unix_account import account
from ..worker.output_folder import Put
from ..worker.run import run, stand_in
from ..worker.secrets import MachineSecrets
from .worker_options import NEEDED, WorkerOptions

_SHARE = re.compile(r"share:([0-9]+)/([0-9]+)")
_PR_SET_PDEATHSIG = 1
_FATE_S = 60
GOOGLE = "google"


def main(argv: Sequence[str]) -> int:
    """Run the worker with these flags (`runners.local.render` writes them; `--on=` asks the machine). Return its exit code."""
    flags = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    if flags.get("on") == GOOGLE:
        flags |= machine_context.flags(Path(flags["home"]), _metadata_server().look, SystemClock(), SystemShell())
    inside = None
    if flags.get("on") == pod.KUBERNETES:
        inside = OwnContainer(image=flags.get("image", ""), folder=os.getcwd(), variables=pod.variables(os.environ))
        flags |= pod.flags(flags, os.environ)
        os.makedirs(flags["folder"], exist_ok=True)
    if missing := NEEDED - flags.keys():
        print(f"error: a worker is started by a runner, with --{', --'.join(sorted(missing))} too", file=sys.stderr)
        return 2
    options = WorkerOptions.parse(flags)
    return _work(options, inside, farewell=_farewell if flags.get("on") == GOOGLE else None)


def _work(
    options: WorkerOptions,
    inside: OwnContainer | None,
    farewell: Callable[[bool], Callable[[], TerminationNotice | None]] | None,
) -> int:
    """Run the worker below its keeper. Return its exit code."""
    if not entered(options, KEEPER):
        print(f"{options.machine} was given up before it began, so the command does not run", file=sys.stderr)
        return 1
    set_limits(options.bounds.open_files)
    notice = notices()
    if options.parent is not None and not follow(options.parent):
        return 1
    os.chdir(options.folder)  # leave the folder that we were started in: it must not stay busy because of us
    identity = _identity(options)
    machine, keeper = _machine(options, inside), os.getpid()

    def worker() -> int:
        if (options.parent is not None and not follow(keeper)) or not entered(options, WORKER):
            return 1
        gpus = NvmlGpus(identity.devices) if identity.devices else None
        last = farewell(gpus is not None) if farewell else None
        return run(identity, _context(options, machine, notice, gpus, last), options.pace)

    try:
        code = keep(worker, lambda why: stand_in(identity, _context(options, machine, notice), options.pace, why))
        # The bucket has the end. If a pod fails, even by a late notice, the cluster ends the pods that came with it.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return 0 if inside else code
    finally:
        machine.close()


def entered(options: WorkerOptions, kind: str) -> bool:
    """Register this process on its machine, and put it into the machine's group, if there are any.

    False: it must do nothing.
    """
    if options.entry is None:
        return True
    if options.group and kind == KEEPER:
        with suppress(OSError):  # the registry identifies us without it
            machine_cgroup.enter(options.group)
    return register(options.entry, kind, os.getpid())


def _identity(options: WorkerOptions) -> WorkerIdentity:
    return WorkerIdentity(
        key=options.key,
        worker=options.worker,
        machine=options.machine,
        address=options.address,
        devices=_devices(options.devices),
        creation=options.creation,
    )


def _context(
    options: WorkerOptions,
    machine: LocalMachine,
    notice: Callable[[], None],
    gpus: NvmlGpus | None = None,
    farewell: Callable[[], TerminationNotice | None] | None = None,
) -> WorkerContext:
    """Make the context of one process. Connections and threads cannot be shared with a child, so each has its own."""
    logs_of = account(options.run_as).uid if options.private and options.run_as is not None else None
    bucket = housed(open_part(options.bucket, logs_of=logs_of), options.buckets)
    return WorkerContext(
        bucket=bucket,
        outputs=url_of(bucket, layout.OUTPUTS),
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        machine=machine,
        notice=notice,
        farewell=farewell,
        say=_say,
        gpus=gpus,
        store=lambda url: _put(bucket, url),
        secrets=MachineSecrets(FolderSecrets(options.secrets), GoogleSecrets()) if options.secrets else None,
    )


def _put(bucket: Bucket, url: str) -> Put:
    """Return the way to store files below a URL: the bastion's own bucket if they belong there, else fsspec."""
    home = f"{url_of(bucket, layout.OUTPUTS)}/"
    if url.startswith(home + layout.OUTPUTS):
        below = url.removeprefix(home).rstrip("/")

        def put(name: str, data: bytes) -> None:
            bucket.write(f"{below}/{name}", data)

        return put
    return JobFiles(url).put


def _machine(options: WorkerOptions, inside: OwnContainer | None) -> LocalMachine:
    shell, clock, key = SystemShell(), SystemClock(), options.key
    whose = account(options.run_as) if options.run_as is not None else None
    access = GitAccess(deploy_key=options.deploy_key, known_hosts=options.known_hosts, local=whose is None)
    container = f"bastion.{key.job}.{key.task}.{key.attempt}.{options.worker}"
    root = options.cache / whose.name if whose else options.cache
    home = options.buckets.get(layout.home(layout.OUTPUTS), options.bucket)
    return LocalMachine(
        options.folder,
        os.environ,
        fetcher=Checkout(context=GitContext(shell=shell, clock=clock, access=access)),
        cache=Cache(root=root, boot=host.boot(), shell=shell, clock=clock, ids=RandomIds(), account=whose),
        engine=Engine(os.environ.get("DOCKER_HOST", SOCKET), container, lambda registry: login(registry, os.environ)),
        account=whose,
        bounds=options.bounds,
        output=f"{home.rstrip('/')}/{layout.outputs(key.job, key.task)}",
        private=options.private,
        inside=inside,
        begun=partial(register_command, options.entry, options.machine) if options.entry else lambda pid: None,
    )


def _metadata_server() -> MetadataServer:
    return MetadataServer(os.environ.get("GCE_METADATA_HOST", HOST))


def _farewell(gpus: bool) -> Callable[[], TerminationNotice | None]:
    server = _metadata_server()
    return lambda: fate.farewell(server.wait(_FATE_S), gpus=gpus)


def _devices(said: str) -> tuple[str, ...]:
    """Return the devices as a runner named them, or this worker's share of all: `share:0/2` is the first half."""
    share = _SHARE.fullmatch(said)
    if share is None:
        return tuple(filter(None, said.split(",")))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    indices = [gpu.index for gpu in inventory()] if visible is None else visible.split(",")
    return portion(list(filter(None, indices)), int(share[1]), int(share[2]))


def follow(parent: int) -> bool:
    """Have SIGTERM sent to this process when its parent ends, in any way.

    Return False if the parent has ended already.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot request a signal at the end of the parent")
    return os.getppid() == parent


def notices() -> Callable[[], None]:
    """Make SIGTERM harmless from now on, and return the function that waits for it.

    The same holds for SIGURG, with which Slurm notifies the worker alone: the job's processes ignore it.
    """
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for notice in (signal.SIGTERM, signal.SIGURG):
        # the handler does nothing: the wakeup descriptor puts each signal into the pipe
        signal.signal(notice, lambda *_: None)

    def wait() -> None:
        os.read(read, 4096)

    return wait


def _say(problem: str) -> None:
    print(problem, file=sys.stderr, flush=True)
