"""The worker's command line and wiring. Runners write it, never people: it must start fast, so the parsing is plain."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitAccess
from bastion.bundler.git_commands import GitContext as GitDoors
from bastion.model import layout
from bastion.model.interfaces import AttemptKey, Bucket
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
from ..worker.interfaces import Farewell, Post, WorkerContext, WorkerPace
from ..worker.linux import machine_cgroup
from ..worker.linux.bounds import Bounds
from ..worker.linux.cache import Cache
from ..worker.linux.container_engine import SOCKET, Engine
from ..worker.linux.keeper import keep
from ..worker.linux.machine import PRIVATE, Inside, LocalMachine
from ..worker.linux.nvml import NvmlGpus
from ..worker.linux.process_limits import set_limits
from ..worker.linux.secret_files import FolderSecrets
from ..worker.linux.unix_account import account
from ..worker.output_folder import Put
from ..worker.run import run, stand_in
from ..worker.secrets import MachineSecrets

NEEDED = frozenset({"job", "task", "attempt", "worker", "machine", "address", "bucket", "folder", "cache"})
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
        inside = Inside(image=flags.get("image", ""), folder=os.getcwd(), variables=pod.variables(os.environ))
        flags |= pod.flags(flags, os.environ)
        os.makedirs(flags["folder"], exist_ok=True)
    if missing := NEEDED - flags.keys():
        print(f"error: a worker is started by a runner, with --{', --'.join(sorted(missing))} too", file=sys.stderr)
        return 2
    if not entered(flags, KEEPER):
        print(f"{flags['machine']} was given up before it began: nothing is run", file=sys.stderr)
        return 1
    bounds = _bounds(flags)
    set_limits(bounds.open_files)
    notice = notices()
    if "parent" in flags and not follow(int(flags["parent"])):
        return 1
    os.chdir(flags["folder"])  # leave the folder that we were started in: it must not stay busy because of us
    post = _post(flags)
    machine, keeper = _machine(flags, bounds, inside), os.getpid()

    def worker() -> int:
        if ("parent" in flags and not follow(keeper)) or not entered(flags, WORKER):
            return 1
        gpus = NvmlGpus(post.devices) if post.devices else None
        farewell = _farewell(gpus is not None) if flags.get("on") == GOOGLE else None
        return run(post, _doors(flags, machine, notice, gpus, farewell), _pace(flags))

    try:
        code = keep(worker, lambda why: stand_in(post, _doors(flags, machine, notice), _pace(flags), why))
        # The bucket has the end. If a pod fails, even by a late notice, the cluster ends the pods that came with it.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        return 0 if inside else code
    finally:
        machine.close()


def entered(flags: Mapping[str, str], role: str) -> bool:
    """Register this process on its machine, and put it into the machine's group, if there are any.

    False: it must do nothing.
    """
    if "entry" not in flags:
        return True
    if "group" in flags and role == KEEPER:
        with suppress(OSError):  # the registry identifies us without it
            machine_cgroup.enter(flags["group"])
    return register(Path(flags["entry"]), role, os.getpid())


def _begun(flags: Mapping[str, str]) -> Callable[[int], None]:
    if "entry" not in flags:
        return lambda pid: None
    return partial(register_command, Path(flags["entry"]), flags["machine"])


def _post(flags: dict[str, str]) -> Post:
    return Post(
        key=AttemptKey(flags["job"], int(flags["task"]), int(flags["attempt"])),
        worker=int(flags["worker"]),
        machine=flags["machine"],
        address=flags["address"],
        devices=_devices(flags.get("devices", "")),
        creation=flags.get("creation", ""),
    )


def _doors(
    flags: dict[str, str],
    machine: LocalMachine,
    notice: Callable[[], None],
    gpus: NvmlGpus | None = None,
    farewell: Callable[[], Farewell | None] | None = None,
) -> WorkerContext:
    """Make the context of one process. Connections and threads cannot be shared with a child, so each has its own."""
    elsewhere = {home: flags[f"{home}_bucket"] for home in (layout.PERMANENT, layout.TTL) if f"{home}_bucket" in flags}
    logs_of = account(flags["run_as"]).uid if PRIVATE in flags and "run_as" in flags else None
    bucket = housed(open_part(flags["bucket"], logs_of=logs_of), elsewhere)
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
        secrets=MachineSecrets(FolderSecrets(Path(flags["secrets"])), GoogleSecrets()) if "secrets" in flags else None,
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


def _machine(flags: dict[str, str], bounds: Bounds, inside: Inside | None) -> LocalMachine:
    shell, clock = SystemShell(), SystemClock()
    whose = account(flags["run_as"]) if "run_as" in flags else None
    access = GitAccess(
        deploy_key=flags.get("deploy_key", ""), known_hosts=flags.get("known_hosts", ""), local=whose is None
    )
    container = ".".join(("bastion", *(flags[name] for name in ("job", "task", "attempt", "worker"))))
    root = Path(flags["cache"], whose.name) if whose else Path(flags["cache"])
    home = flags.get(f"{layout.home(layout.OUTPUTS)}_bucket", flags["bucket"])
    return LocalMachine(
        Path(flags["folder"]),
        os.environ,
        fetcher=Checkout(doors=GitDoors(shell=shell, clock=clock, access=access)),
        cache=Cache(root=root, boot=host.boot(), shell=shell, clock=clock, ids=RandomIds(), account=whose),
        engine=Engine(os.environ.get("DOCKER_HOST", SOCKET), container, lambda registry: login(registry, os.environ)),
        account=whose,
        bounds=bounds,
        output=f"{home.rstrip('/')}/{layout.outputs(flags['job'], int(flags['task']))}",
        private=PRIVATE in flags,
        inside=inside,
        begun=_begun(flags),
    )


def _metadata_server() -> MetadataServer:
    return MetadataServer(os.environ.get("GCE_METADATA_HOST", HOST))


def _farewell(gpus: bool) -> Callable[[], Farewell | None]:
    server = _metadata_server()
    return lambda: fate.farewell(server.wait(_FATE_S), gpus=gpus)


def _bounds(flags: dict[str, str]) -> Bounds:
    plain = Bounds()
    return Bounds(
        memory=int(flags.get("memory", plain.memory)),
        processes=int(flags.get("processes", plain.processes)),
        open_files=int(flags.get("open_files", plain.open_files)),
    )


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
        raise OSError(ctypes.get_errno(), "cannot have a signal at the end of the parent")
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


def _pace(flags: dict[str, str]) -> WorkerPace:
    plain = WorkerPace()
    return WorkerPace(
        stop_s=float(flags.get("stop_s", plain.stop_s)),
        flush_s=float(flags.get("flush_s", plain.flush_s)),
        steady_flush_s=float(flags.get("steady_flush_s", plain.steady_flush_s)),
        spool_bytes=int(flags.get("spool_bytes", plain.spool_bytes)),
        give_up_s=float(flags.get("give_up_s", plain.give_up_s)),
    )


def _say(problem: str) -> None:
    print(problem, file=sys.stderr, flush=True)
