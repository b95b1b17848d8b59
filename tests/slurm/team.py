"""A real bastion whose only runner is slurm."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.fleet import QUICK, Fleet, until
from tests.slurm.cluster import Cluster


def start(folder: Path, slurm: Cluster) -> Fleet:
    """Our tools, with such a bastion at work; its options are written as an admin does."""
    here = Fleet(folder)
    options = f'\n[runner_options.slurm]\npartition = "main"\npoll_s = 0.25\nwork = "{folder}/work"\n'
    (folder / "options").write_text(options)
    editor = folder / "editor"
    editor.write_text(f'#!/bin/sh\ncat {folder}/options >> "$1"\n')
    editor.chmod(0o700)
    here.environ |= {"SLURM_CONF": str(slurm.conf), "EDITOR": str(editor), "VISUAL": ""}
    here.ask("bastion", "create", *QUICK)
    for words in (["stop"], ["config", "set", "runners=slurm", "--yes"], ["config", "edit", "--yes"]):
        said = here.run("bastion", *words)
        assert said.returncode == 0, said
    here.ask("bastion", "create")
    until(lambda: "gpu" in str(here.events("CapacityChanged")[-1:]))
    return here
