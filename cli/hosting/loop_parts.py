"""Build the real interfaces that the loop of a bastion works with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

from bastion.model.errors import BastionError, UsageError
from bastion.model.interfaces import Runner
from bastion.model.settings.config import Config
from bastion.platform import host
from bastion.platform.store_clock import StoreClock
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.cloud_builds import CloudBuilds
from bastion.runners.google.machines.boot import MachineBoot
from bastion.runners.google.machines.runner import GoogleRunner
from bastion.runners.worker.linux.unix_account import chosen, is_known, name_of
from bastion.service.maintenance import ServiceContext

from ..common import installed_runners, shared_host
from ..common.place import BastionPlace
from ..common.runner_contexts import runner_context

SNAPSHOT_S = 600.0


def service_context(place: BastionPlace, config: Config, environ: Mapping[str, str]) -> ServiceContext:
    """Return everything that the loop of this bastion needs. Raises as `runners` does."""
    made = runners(place, config, environ)
    births = [runner.context.birth for runner in made.values() if isinstance(runner, GoogleRunner)]
    if builds := [birth.build for birth in births if isinstance(birth, MachineBoot)]:
        # Build ahead of use, one after the other: later builds reuse the first result. A later caller sees the error.
        ThreadTasks(1).start("build", lambda: [build() for build in builds])
    return ServiceContext(
        bucket=place.bucket,
        runners=made,
        clock=SystemClock(),
        ids=RandomIds(),
        tasks=ThreadTasks(),
        snapshot=lambda: write_snapshot(place),
        builds=CloudBuilds(lambda project: GoogleApi(project, SystemClock(), RandomIds(), patience_s=0.0)),
        vet=installed_runners.faults,
        store_clock=StoreClock(place.bucket, SystemClock(), host.name(), os.getpid()),
        authors=shared_host.authors(config),
    )


def runners(place: BastionPlace, config: Config, environ: Mapping[str, str]) -> dict[str, Runner]:
    """Return the configured runners by their names.

    Raises `UsageError` for a runner that is not installed or has wrong settings; `RunnerError`.
    """
    if wrong := list(installed_runners.faults(config)):
        raise UsageError("; ".join(wrong))
    return {
        name: installed_runners.maker(name).make(runner_context(place, config, environ, name))
        for name in config.runners
    }


def whose(config: Config) -> dict[str, str]:
    """Return the bastion's account, and that of its jobs.

    Raises `RunnerError` if jobs cannot run as the settings say.
    """
    mine = name_of(os.geteuid())
    if config.shared:
        return {"account": mine, "jobs_as": "the users who submit them"}
    return {"account": mine, "jobs_as": chosen(config.run_as, os.geteuid(), is_known) or mine}


def write_snapshot(place: BastionPlace) -> None:
    """Write a snapshot in a child process, and wait for it.

    Raises `BastionError` if it fails, with the end of its error output, or if it takes more than `SNAPSHOT_S` seconds.
    """
    argv = [sys.executable, "-I", "-m", "bastion", "snapshot", *place.flags()]
    try:
        said = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SNAPSHOT_S)
    except subprocess.TimeoutExpired as error:
        raise BastionError(f"the snapshot took more than {SNAPSHOT_S:.0f} s") from error
    if said.returncode:
        raise BastionError(f"the snapshot failed: {said.stderr.strip()[-500:]}")
