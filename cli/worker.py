"""The worker's command line and wiring. Written by runners, never by people: it starts fast, so it parses plainly."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bastion import host, layout
from bastion.buckets.routed import url_of
from bastion.ports import AttemptKey
from bastion.shell import SystemShell
from bastion.system import RandomIds, SystemClock, ThreadTasks
from bundler.checkout import Checkout
from bundler.gitcall import Access
from bundler.gitcall import Doors as GitDoors
from cli.wiring import housed, open_part
from runners.local.gpus import inventory, portion
from runners.worker.cache import Cache
from runners.worker.doors import Doors, Pace, Post
from runners.worker.machine import LocalMachine
from runners.worker.nvml import NvmlGpus
from runners.worker.run import run

NEEDED = frozenset({"job", "task", "attempt", "worker", "machine", "address", "bucket", "folder", "cache"})
_SHARE = re.compile(r"share:([0-9]+)/([0-9]+)")
_PR_SET_PDEATHSIG = 1


def main(argv: Sequence[str]) -> int:
    """`--name=value` for each of the flags that `runners.local.render` writes."""
    flags = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    if missing := NEEDED - flags.keys():
        print(f"error: a worker is started by a runner, with --{', --'.join(sorted(missing))} too", file=sys.stderr)
        return 2
    notice = notices()
    if "parent" in flags and not follow(int(flags["parent"])):
        return 1
    os.chdir(flags["folder"])  # not the bastion's: nobody is to find his folder busy because of us
    key = AttemptKey(flags["job"], int(flags["task"]), int(flags["attempt"]))
    post = Post(
        key=key,
        worker=int(flags["worker"]),
        machine=flags["machine"],
        address=flags["address"],
        devices=_devices(flags.get("devices", "")),
    )
    elsewhere = {home: flags[f"{home}_bucket"] for home in (layout.PERMANENT, layout.TTL) if f"{home}_bucket" in flags}
    bucket = housed(open_part(flags["bucket"]), elsewhere)
    doors = Doors(
        bucket=bucket,
        outputs=url_of(bucket, layout.OUTPUTS),
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        machine=_machine(flags),
        notice=notice,
        say=_say,
        gpus=NvmlGpus(post.devices) if post.devices else None,
    )
    return run(post, doors, _pace(flags))


def _machine(flags: dict[str, str]) -> LocalMachine:
    shell, clock = SystemShell(), SystemClock()
    access = Access(deploy_key=flags.get("deploy_key", ""), known_hosts=flags.get("known_hosts", ""))
    return LocalMachine(
        Path(flags["folder"]),
        os.environ,
        fetcher=Checkout(doors=GitDoors(shell=shell, clock=clock, access=access)),
        cache=Cache(root=Path(flags["cache"]), boot=host.boot(), shell=shell, clock=clock, ids=RandomIds()),
    )


def _devices(said: str) -> tuple[str, ...]:
    """As named by a runner; or, where none divides them, this worker's share: `share:0/2` is the first half."""
    share = _SHARE.fullmatch(said)
    if share is None:
        return tuple(filter(None, said.split(",")))
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    indices = [gpu.index for gpu in inventory()] if visible is None else visible.split(",")
    return portion(list(filter(None, indices)), int(share[1]), int(share[2]))


def follow(parent: int) -> bool:
    """Have SIGTERM when this process ends, however it does. False if it has ended already."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot have a signal at the end of the parent")
    return os.getppid() == parent


def notices() -> Callable[[], None]:
    """From now on SIGTERM ends nothing: the function that is returned waits for it."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGTERM, lambda *_: None)

    def wait() -> None:
        os.read(read, 4096)

    return wait


def _pace(flags: dict[str, str]) -> Pace:
    plain = Pace()
    return Pace(
        flush_s=float(flags.get("flush_s", plain.flush_s)),
        steady_flush_s=float(flags.get("steady_flush_s", plain.steady_flush_s)),
        spool_bytes=int(flags.get("spool_bytes", plain.spool_bytes)),
    )


def _say(problem: str) -> None:
    print(problem, file=sys.stderr, flush=True)
