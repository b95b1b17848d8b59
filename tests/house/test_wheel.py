"""What is shipped: one package with all the rooms, whole, and nothing else; the same by way of the sdist."""

from __future__ import annotations

import re
import tomllib
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from bastion.model.version import VERSION
from tests.house.source import LINKED, OURS, ROOT, modules
from tests.packages import built, copy_of_the_tree, unpacked

HEAVY_CLIENTS = re.compile(r"s3fs|gcsfs|boto|aio|google-api-python-client|kubernetes|docker|ray|torch|jax|numpy|pandas")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_tree(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return zipfile.ZipFile(built(source, "wheel", tmp_path_factory.mktemp("wheel")))


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source folder that is in the sdist."""
    package = built(source, "sdist", tmp_path_factory.mktemp("sdist"))
    return unpacked(package, tmp_path_factory.mktemp("unpacked"))


def test_it_installs_one_name_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {Path(name).parts[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {OURS}


def test_it_holds_every_module(wheel: zipfile.ZipFile) -> None:
    shipped = {name for name in wheel.namelist() if name.endswith(".py")}
    assert shipped == {module.shipped for module in modules().values()}


def test_it_names_its_programs_its_version_and_its_license(wheel: zipfile.ZipFile) -> None:
    texts = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if ".dist-info/" in name}
    points = ConfigParser()
    points.read_string(texts["entry_points.txt"])
    assert set(points["console_scripts"]) == {"bastion", "bastion-simulate", "launch"}
    assert {"gce", "kubernetes", "local", "ray", "slurm", "tpu"} <= set(points["bastion.runners"])
    assert f"\nVersion: {VERSION}\n" in texts["METADATA"]
    assert "Apache License" in texts["LICENSE"]


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(sdist: Path, wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    again = zipfile.ZipFile(built(sdist, "wheel", tmp_path))
    assert sorted(again.namelist()) == sorted(wheel.namelist())
    assert [name for name in wheel.namelist() if again.read(name) != wheel.read(name)] == []


def test_the_sdist_holds_what_its_page_shows(sdist: Path) -> None:
    assert {"LICENSE", "README.md", "pyproject.toml"} <= {path.name for path in sdist.iterdir()}


def test_heavy_clients_are_extras() -> None:
    """So that the base stays small; docs/dependencies.md says how small."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [wanted for wanted in project["dependencies"] if HEAVY_CLIENTS.match(wanted)] == []
    locked = re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert len(locked) > 20
    assert [name for name in locked if HEAVY_CLIENTS.match(name)] == []


def test_the_images_have_every_room() -> None:
    dockerfile, ignored = ((ROOT / name).read_text().splitlines() for name in ("Dockerfile", ".dockerignore"))
    rooms = {OURS, *LINKED}
    assert {line.split()[1] for line in dockerfile if line.startswith("COPY ") and len(line.split()) == 3} >= rooms
    assert {line[1:] for line in ignored if line.startswith("!")} >= rooms


def test_the_three_locks_agree() -> None:
    base, image, dev = (
        dict(re.findall(r"^([a-z0-9._-]+)==([^ ;]+)", (ROOT / f"requirements{name}.lock").read_text(), re.MULTILINE))
        for name in ("", "-image", "-dev")
    )
    assert {"docker", "google-api-python-client"} <= image.keys()
    assert base.items() <= image.items() <= dev.items()
