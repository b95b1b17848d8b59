"""What users wait for at their terminal: the client's own start, and a launch of code that did not change."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.bench.rows import Row, lap
from tests.bench.town import Town, town

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
        ours, floor = [], []
        for _ in range(TIMES):
            ours.append(_seconds([*LAUNCH, "--help"], here, here.home))
            floor.append(_seconds([sys.executable, "-I", "-c", "import absl.app"], here, here.home))
    return [
        Row("launch --help, times `python -c 'import absl.app'`", median(ours) / median(floor), "x", 2),
        Row(f"launch of an unchanged tree of {FILES:,} files", unchanged, "s", 1),
    ]


def _tree(folder: Path) -> Path:
    for number in range(FILES):
        file = folder / f"package{number % 20}" / f"module{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'"""Module {number}."""\n\nVALUE = {number}\n' + "x = 1\n" * 200)
    return folder


def _seconds(argv: Sequence[str], here: Town, folder: Path) -> float:
    with lap() as taken:
        subprocess.run(argv, env=here.environ, cwd=folder, check=True, capture_output=True)
    return taken.seconds
