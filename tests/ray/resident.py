"""A Ray cluster as a job, on whatever fleet: what its tests share."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bastion.model.errors import RunnerError
from bastion.runners.ray import parse
from bastion.runners.ray.api import HttpDashboard
from tests.ray.cluster import python
from tests.support.fleet import Fleet, Said


@contextmanager
def short_folder() -> Iterator[str]:
    """A folder for Ray, whose sockets want short names."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def up(fleet: Fleet, name: str, folder: str, *flags: str) -> Said:
    """Ask for a cluster whose machines have Ray."""
    env = {
        "PATH": f"{python().parent}:/usr/bin:/bin",
        "RAY_TMPDIR": folder,
        "RAY_prestart_worker_first_driver": "0",
        "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "60",
    }
    told = [f"--env={key}={value}" for key, value in env.items()]
    return fleet.run("launch", "cluster", "up", name, "--grace=20s", *flags, *told)


def nodes(details: Mapping[str, str]) -> list[parse.Node]:
    """What its living nodes have, by its dashboard; none while nobody answers."""
    try:
        return parse.nodes(HttpDashboard(details["dashboard"]).ask("GET", "/api/v0/nodes?detail=true").data)
    except RunnerError:
        return []
