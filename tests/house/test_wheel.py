"""What is shipped: the six rooms and the entry module, whole, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.house.source import ENTRY, ROOMS, ROOT, modules, tracked

BUILD = "-m pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built of a copy of what git keeps."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in tracked():
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    built = subprocess.run([sys.executable, *BUILD.split(), str(out), str(source)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return zipfile.ZipFile(next(out.iterdir()))


def test_it_holds_the_rooms_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {*ROOMS, f"{ENTRY}.py"}


def test_it_holds_every_module(wheel: zipfile.ZipFile) -> None:
    shipped = {name for name in wheel.namelist() if name.endswith(".py")}
    assert shipped == {module.shown for module in modules().values()}


def test_it_names_two_programs_and_its_license(wheel: zipfile.ZipFile) -> None:
    texts = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    scripts = [line.split(" = ")[0] for line in texts["entry_points.txt"].splitlines() if " = " in line]
    assert scripts == ["bastion", "launch"]
    assert "Apache License" in texts["LICENSE"]
