"""From a folder's Dockerfile to a job that ran in its image: our two tools, a real bastion, engine and registry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images.folders import Code
from tests.support.engine import Engine
from tests.support.fleet import Fleet


@pytest.fixture
def fleet(led: Engine, tmp_path: Path) -> Iterator[Fleet]:
    """A bastion on this machine, whose workers find the engine."""
    here = Fleet(tmp_path / "fleet-of-images")
    here.folder.mkdir()
    here.create()
    yield here
    here.close()


def test_a_job_runs_in_the_image_that_was_built_for_it(fleet: Fleet, registry_host: str, code: Code) -> None:
    words = ("--name=boxed", "--resources=v4=1", "--bundler_type=docker", f"--bundler_spec=image={registry_host}/boxed")
    words = (*words, "--bundler_spec=target=late", "--bundler_spec=GREETING=care")
    said = fleet.run("launch", *words, "--wait", "--", "./say.sh", "3", cwd=code.folder)
    assert said.returncode == 0, said
    assert fleet.log("boxed") == "says made with care, stage late, code 3\n"
    bundle = fleet.job("boxed")["spec"]["bundle"]
    again = fleet.run("launch", "rerun", "boxed", "--name=again", "--wait", "--", "./say.sh", "4")
    assert again.returncode == 0, again
    assert fleet.log("again") == "says made with care, stage late, code 4\n"
    assert fleet.job("again")["spec"]["bundle"] == bundle
    differ = fleet.run("launch", "diff", "boxed", "again").stdout
    assert "./say.sh" in differ
