"""What the tests against the fake Google Cloud, and those of its machines, share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive import Archive, make
from tests.google.fake import Fake
from tests.google.support.client import client
from tests.support.servers import new_bucket


@pytest.fixture
def google() -> Iterator[Fake]:
    """A fake Google Cloud whose clock stands still."""
    with Fake() as fake:
        yield fake


@pytest.fixture
def talk(google: Fake) -> Iterator[Callable[..., Any]]:
    """Google's own client of a service of the fake: `talk("tpu")`."""
    made = []

    def made_for(service: str, **more: str) -> Any:
        made.append(client(google, service, **more))
        return made[-1]

    yield made_for
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def archive() -> Archive:
    """The worker of this very installation."""
    return make(SystemShell())


@pytest.fixture
def store(tmp_path: Path, gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a bastion's part of a new bucket in the storage server."""
    bucket = tmp_path.name.replace("_", "-")[:60].strip("-")
    new_bucket(gcs_address, bucket)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    return f"gs://{bucket}/some team/demo"
