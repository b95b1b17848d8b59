"""The worker's command line and wiring. Written by runners, never by people: it starts fast, so it parses plainly."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bastion.ports import AttemptKey
from bastion.shell import SystemShell
from bastion.system import RandomIds, SystemClock, ThreadTasks
from bundler.checkout import Checkout
from bundler.gitcall import Access
from bundler.gitcall import Doors as GitDoors
from cli.wiring import open_part
from runners.worker.cache import Cache
from runners.worker.doors import Doors, Pace, Post
from runners.worker.machine import LocalMachine
from runners.worker.run import run

NEEDED = frozenset({"job", "task", "attempt", "worker", "machine", "address", "bucket", "folder", "cache"})


def main(argv: Sequence[str]) -> int:
    """`--name=value` for each of the flags that `runners.local.render` writes."""
    flags = dict(word.removeprefix("--").split("=", 1) for word in argv if "=" in word)
    if missing := NEEDED - flags.keys():
        print(f"error: a worker is started by a runner, with --{', --'.join(sorted(missing))} too", file=sys.stderr)
        return 2
    notice = notices()
    os.chdir(flags["folder"])  # not the bastion's: nobody is to find his folder busy because of us
    key = AttemptKey(flags["job"], int(flags["task"]), int(flags["attempt"]))
    post = Post(
        key=key,
        worker=int(flags["worker"]),
        machine=flags["machine"],
        address=flags["address"],
        devices=tuple(filter(None, flags.get("devices", "").split(","))),
    )
    doors = Doors(
        bucket=open_part(flags["bucket"]),
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        machine=_machine(flags),
        notice=notice,
        say=_say,
    )
    return run(post, doors, _pace(flags))


def _machine(flags: dict[str, str]) -> LocalMachine:
    shell, clock = SystemShell(), SystemClock()
    access = Access(deploy_key=flags.get("deploy_key", ""), known_hosts=flags.get("known_hosts", ""))
    return LocalMachine(
        Path(flags["folder"]),
        os.environ,
        fetcher=Checkout(doors=GitDoors(shell=shell, clock=clock, access=access)),
        cache=Cache(root=Path(flags["cache"]), shell=shell, clock=clock, ids=RandomIds()),
    )


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
        steady_flush_s=float(flags.get("steady_flush_s", plain.steady_flush_s)),
        spool_bytes=int(flags.get("spool_bytes", plain.spool_bytes)),
    )


def _say(problem: str) -> None:
    print(problem, file=sys.stderr, flush=True)
