"""What the loop of a bastion gets behind its doors: the one place that names concrete runners."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import msgspec

from bastion import layout
from bastion.buckets.routed import url_of
from bastion.chores import Doors
from bastion.config import Config
from bastion.errors import BastionError
from bastion.google.api import GoogleApi
from bastion.google.cloud_builds import CloudBuilds
from bastion.google.door import Google
from bastion.ports import Runner
from bastion.system import RandomIds, SystemClock, ThreadTasks
from cli.google_fleet import birth, google_runner
from cli.here import mark, secrets_folder, work_folder
from cli.place import Place
from runners.gce.runner import GceRunner
from runners.google.birth import Birth
from runners.local.gpus import inventory
from runners.local.runner import LocalRunner
from runners.tpu.runner import TpuRunner
from runners.worker.account import chosen, is_known, name_of

SNAPSHOT_S = 600.0
GOOGLE = {"tpu", "gce"}
"""Runners whose machines come without a worker."""


def doors(place: Place, config: Config, environ: Mapping[str, str]) -> Doors:
    """All that the loop of the bastion at this place needs.

    Raises `RunnerError` if the GPUs cannot be listed, or jobs cannot run as the settings say.
    """
    born = birth(place, config, environ, of_jobs(place, config))
    made = runners(place, config, environ, born)
    if made.keys() & GOOGLE:
        ThreadTasks(1).start("build", born.build)  # before it is asked for; what fails is told to who asks
    return Doors(
        bucket=place.bucket,
        runners=made,
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        snapshot=lambda: write_snapshot(place),
        builds=CloudBuilds(lambda project: GoogleApi(project, SystemClock(), RandomIds(), patience_s=0.0)),
    )


def runners(
    place: Place,
    config: Config,
    environ: Mapping[str, str],
    born: Birth | None = None,
    google: Google | None = None,
) -> dict[str, Runner]:
    """The configured runners by their names; `born` is what Google's machines are told, `google` the door to its APIs.

    Raises `UsageError` for one that cannot be had, or not by these settings; `RunnerError`.
    """
    told = born or birth(place, config, environ, of_jobs(place, config))
    makers: dict[str, Callable[[], Runner]] = {
        "local": lambda: local_runner(place, config, environ),
        "tpu": lambda: google_runner(TpuRunner, place, config, told, google),
        "gce": lambda: google_runner(GceRunner, place, config, told, google),
    }
    return {name: makers[name]() for name in config.runners}


def local_runner(place: Place, config: Config, environ: Mapping[str, str]) -> LocalRunner:
    """The runner whose fleet is this machine. Without a stored capacity it gives away what the machine has."""
    run_as = chosen(config.run_as, os.geteuid(), is_known)
    return LocalRunner(
        scope=mark(place.name, place.bucket.url),
        bucket_url=place.bucket.url,
        work_root=work_folder(environ, others=bool(run_as)),
        ids=RandomIds(),
        clock=SystemClock(),
        given=config.capacity or None,
        devices=inventory(),
        inherited=environ,
        flags={**of_jobs(place, config), "secrets": secrets_folder(environ)},
        run_as=run_as,
    )


def whose(config: Config) -> dict[str, str]:
    """The bastion's account, and that of its jobs. Raises `RunnerError` if jobs cannot run as the settings say."""
    mine = name_of(os.geteuid())
    return {"account": mine, "jobs_as": chosen(config.run_as, os.geteuid(), is_known) or mine}


def of_jobs(place: Place, config: Config) -> dict[str, object]:
    """What workers are told of the settings, wherever they are."""
    git = {key: path for key, path in msgspec.structs.asdict(config.git).items() if path}
    return {**elsewhere(place), **git, **msgspec.structs.asdict(config.job_limits)}


def elsewhere(place: Place) -> dict[str, object]:
    """What workers are told of buckets besides the private one, so that none has to read the settings."""
    keys = {layout.PERMANENT: layout.LOGS, layout.TTL: layout.BUNDLES}
    urls = {home: url_of(place.bucket, key) for home, key in keys.items()}
    return {f"{home}_bucket": url for home, url in urls.items() if url != place.bucket.url}


def write_snapshot(place: Place) -> None:
    """Write a snapshot in a child process, and wait for it. Raises `BastionError` with its last words if it fails."""
    argv = [sys.executable, "-I", "-m", "bastion_entry", "snapshot", *place.flags()]
    try:
        said = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SNAPSHOT_S)
    except subprocess.TimeoutExpired as error:
        raise BastionError(f"the snapshot took more than {SNAPSHOT_S:.0f} s") from error
    if said.returncode:
        raise BastionError(f"the snapshot failed: {said.stderr.strip()[-500:]}")
