"""A real bastion whose only runner is slurm."""

from __future__ import annotations

from pathlib import Path

from tests.slurm.cluster import Cluster
from tests.support.fleet import QUICK, Fleet, until


def start(folder: Path, slurm: Cluster, **options: str) -> Fleet:
    """Our tools, with such a bastion at work; its options are set as an admin does."""
    here = Fleet(folder)
    here.environ["SLURM_CONF"] = str(slurm.conf)
    here.ask("bastion", "create", *QUICK)
    own = {"partition": "main", "poll_s": "0.25", "work": str(folder / "work"), **options}
    settings = ["runners=slurm", *(f"runner_options.slurm.{key}={value}" for key, value in own.items())]
    for words in (["stop"], ["config", "set", *settings, "--yes"]):
        said = here.run("bastion", *words)
        assert said.returncode == 0, said
    here.ask("bastion", "create")
    until(lambda: "gpu" in str(here.events("CapacityChanged")[-1:]))
    return here
