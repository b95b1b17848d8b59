"""The waits of a user at the terminal: the start of the client, a look at the queue, and a launch of unchanged code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from tests.bench.rows import Row, lap
from tests.bench.town import Town, town
from tests.house.measures import Job, listing_loads, queue
from tests.house.test_start import LS_LOADS_MAX

FILES = 1_000
TIMES = 11
LAUNCH = [sys.executable, "-I", "-m", "bastion", "launch"]


def rows() -> list[Row]:
    """Real processes, both sides of a ratio in turn."""
    with town() as here:
        here.settle("poll = 0.5\n[capacity]\nv4 = 4\n")
        tree = _tree(here.home / "code")
        argv = [*LAUNCH, "--name=t", "--resources=v4=1", "--project_id=default", "--", "true"]
        _seconds(argv, here, tree)  # the first one uploads
        unchanged = median(_seconds(argv, here, tree) for _ in range(5))
        running = queue(here.home / "queue", Job.RUNS)
        loaded = len(listing_loads(running))
        ours, looks, floor = [], [], []
        for _ in range(TIMES):
            ours.append(_seconds([*LAUNCH, "--help"], here, here.home))
            looks.append(_seconds([*LAUNCH, "ls", "--all"], here, here.home, running.environ))
            floor.append(_seconds([sys.executable, "-I", "-c", "import absl.app"], here, here.home))
    return [
        Row("launch --help, times `python -c 'import absl.app'`", median(ours) / median(floor), "x", 2),
        Row("launch ls of a running job, times the same", median(looks) / median(floor), "x", 3),
        Row("  modules of ours that it loads", loaded, "", LS_LOADS_MAX),
        Row(f"launch of an unchanged tree of {FILES:,} files", unchanged, "s", 1),
    ]


def _tree(folder: Path) -> Path:
    for number in range(FILES):
        file = folder / f"package{number % 20}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""Module {number}."""\n\nVALUE = {number}\n' + "x = 1\n" * 200)
    return folder


def _seconds(argv: Sequence[str], here: Town, folder: Path, more: Mapping[str, str] | None = None) -> float:
    with lap() as taken:
        subprocess.run(argv, env={**here.environ, **(more or {})}, cwd=folder, check=True, capture_output=True)
    return taken.seconds
