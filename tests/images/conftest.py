"""An engine, a registry and an image to begin with, for all tests of a worker; and folders to build."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.images.folders import BASE, Code
from tests.support.engine import Engine, base_image, engine, registry


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A running engine with the image `BASE`."""
    with engine(tmp_path_factory.mktemp("engine")) as running:
        base_image(running.client, BASE)
        yield running


@pytest.fixture(scope="session")
def registry_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`host:port` of a running registry."""
    with registry(tmp_path_factory.mktemp("registry")) as host:
        yield host


@pytest.fixture
def code(tmp_path: Path) -> Code:
    """A folder in a git repository of its own, committed."""
    folder = Code(tmp_path / "code")
    folder.commit()
    return folder


@pytest.fixture
def led(docker_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """The engine, and the variables that lead to it."""
    monkeypatch.setenv("DOCKER_HOST", docker_engine.address)
    return docker_engine
