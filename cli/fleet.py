"""What the loop of a bastion gets behind its doors: the one place that names concrete runners."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

import msgspec

from bastion import layout
from bastion.buckets.routed import url_of
from bastion.chores import Doors
from bastion.config import Config
from bastion.errors import BastionError
from bastion.system import RandomIds, SystemClock, ThreadTasks
from cli.here import mark, state_folder
from cli.place import Place
from runners.local.gpus import inventory
from runners.local.runner import LocalRunner

SNAPSHOT_S = 600.0


def doors(place: Place, config: Config, environ: Mapping[str, str]) -> Doors:
    """All that the loop of the bastion at this place needs. Raises `RunnerError` if the GPUs cannot be listed."""
    runner = local_runner(place, config, environ)
    return Doors(
        bucket=place.bucket,
        runners={runner.name: runner},
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        snapshot=lambda: write_snapshot(place),
    )


def local_runner(place: Place, config: Config, environ: Mapping[str, str]) -> LocalRunner:
    """The runner whose fleet is this machine. Without a stored capacity it gives away what the machine has."""
    return LocalRunner(
        scope=mark(place.name, place.bucket.url),
        bucket_url=place.bucket.url,
        work_root=state_folder(environ) / "work",
        ids=RandomIds(),
        clock=SystemClock(),
        given=config.capacity or None,
        devices=inventory(),
        inherited=environ,
        flags=elsewhere(place) | {key: path for key, path in msgspec.structs.asdict(config.git).items() if path},
    )


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
