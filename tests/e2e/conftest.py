"""Fleets: one of its own for a test, or one that the tests of a module share."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet

QUOTA = f"""
[toml-schema]
version = "1"
[total_resources]
v4 = 8
cpu = 64
[project_membership]
nlp = ["alice", "carol", "dave"]
vision = ["bob", "carol"]
mine = ["{getpass.getuser()}"]
[project_resources.nlp]
v4 = 0.5
cpu = 0.4
[project_resources.vision]
v4 = 0.5
cpu = 0.4
[project_resources.mine]
cpu = 0.2
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """Without a bastion yet."""
    here = Fleet(tmp_path)
    yield here
    here.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """With a bastion of 8 v4 and 64 cpu at work, and two projects, nlp and vision, that share them."""
    here = Fleet(tmp_path_factory.mktemp("shared"))
    here.create("--capacity=v4=8,cpu=64")
    here.set_quota(QUOTA)
    yield here
    here.close()
