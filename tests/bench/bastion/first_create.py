"""From the decision to start a job to the first request for its machines, right after a start of the bastion."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive_cache import kept_in, lay
from bastion.runners.google.machines.boot import MachineBoot
from tests.bench.rows import Row, lap
from tests.google.support.fleet import Fleet
from tests.google.support.kinds import TPU


def rows() -> list[Row]:
    """On a fake of Google's APIs that answers at once: what is measured is ours."""
    with tempfile.TemporaryDirectory() as made:
        laid = Path(made, "laid")
        lay(laid, SystemShell())
        return [
            Row("decision to first create call, the worker from the image", _first(laid), "s", 2.0),
            Row("  the worker made at the start", _first(Path(made, "cache")), "s"),
        ]


def _first(folder: Path) -> float:
    fleet = Fleet(TPU)
    born = MachineBoot(fleet.bucket, "gs://b/demo", SystemShell(), {}, make=partial(kept_in, [folder]))
    fleet.runner.context = replace(fleet.runner.context, birth=born)
    fleet.submit(["j"], {"v6e": 8})
    with lap() as taken:
        fleet.turn()
    assert len(fleet.fake.calls("tpu.projects.locations.queuedResources.create")) == 1
    return taken.seconds
