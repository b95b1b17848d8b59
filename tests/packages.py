"""Wheel and sdist, built as they are released: from a copy of what git keeps, with what is installed, without a network."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.house.source import LINKED, OURS, ROOT, tracked


def copy_of_the_tree(folder: Path) -> Path:
    """What git keeps, in a folder of its own."""
    for path in tracked():
        copy = folder / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    for room in LINKED:
        (folder / OURS / room).symlink_to(f"../{room}")
    return folder


def built(source: Path, kind: str, out: Path) -> Path:
    """The `sdist` or `wheel` of a source folder."""
    argv = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(source)]
    said = subprocess.run(argv, capture_output=True, text=True)
    assert said.returncode == 0, said.stdout + said.stderr
    (package,) = out.iterdir()
    return package


def unpacked(sdist: Path, folder: Path) -> Path:
    """The source folder in an sdist."""
    shutil.unpack_archive(sdist, folder, filter="data")
    (source,) = folder.iterdir()
    return source
