"""Build the contexts of a bastion's runners from its settings.

They are for the bastion's own machine, and for a client that only looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import msgspec

from bastion.model import layout
from bastion.model.settings.config import Config
from bastion.platform.local_paths import mark
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.runners.runner_context import RunnerContext
from bastion.stores.machine_seal import KeyedSeal, key_in
from bastion.stores.routed import url_of

from .place import BastionPlace


def runner_context(place: BastionPlace, config: Config, environ: Mapping[str, str], name: str) -> RunnerContext:
    """Return the context of the runner of this name."""
    ids = RandomIds()
    return RunnerContext(
        bastion=place.name,
        scope=mark(place.name, place.bucket.url),
        bucket=place.bucket,
        given=config.capacity or None,
        options=config.runner_options.get(name, {}),
        config=config,
        flags=of_jobs(place, config),
        environ=environ,
        clock=SystemClock(),
        ids=ids,
        seal=KeyedSeal(partial(key_in, place.bucket, ids), ids),
        tasks=ThreadTasks(),
    )


def of_jobs(place: BastionPlace, config: Config) -> dict[str, object]:
    """Return the settings that workers get as flags, wherever they run."""
    git = {key: path for key, path in msgspec.structs.asdict(config.git).items() if path}
    return {**elsewhere(place), **git, **msgspec.structs.asdict(config.job_limits)}


def elsewhere(place: BastionPlace) -> dict[str, object]:
    """Return the URLs of the buckets besides the bastion's own one, as flags of workers.

    So no worker has to read the settings.
    """
    keys = {layout.PERMANENT: layout.LOGS, layout.TTL: layout.BUNDLES}
    urls = {home: url_of(place.bucket, key) for home, key in keys.items()}
    return {f"{home}_bucket": url for home, url in urls.items() if url != place.bucket.url}
