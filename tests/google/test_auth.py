"""`bastion auth` where machines are had in Google's cloud: the account, and what it lacks."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal import main
from bastion.runners.google.hosting import rights
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    text = f'runners = ["tpu", "gce"]\n[google]\nproject = "{PROJECT}"\nzones = ["us-east5-b"]\n'
    (tmp_path / "team" / "config.toml").write_text(text)
    return tmp_path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


def auth(bucket: Path, *flags: str) -> tuple[int, str]:
    out = io.StringIO()
    words = ["auth", "--bastion=team", f"--bucket=file://{bucket}", *flags]
    code = main.run(TOOL, words, environ={"HOME": "/nowhere"}, out=out, err=out)
    return code, out.getvalue()


def rows(bucket: Path) -> Any:
    return json.loads(auth(bucket, "--json")[1])["google"]


def test_who_may_everything_lacks_nothing(fake: Fake, bucket: Path) -> None:
    code, said = auth(bucket)
    assert code == 0
    assert f"google    project {PROJECT}" in said
    assert "rights    all that a bastion needs there" in said
    assert "lacks  " not in said


def test_what_is_lacking_is_named(fake: Fake, bucket: Path) -> None:
    fake.faults.deny("tpu.nodes.create")
    fake.faults.deny("compute.instances.*")
    found = rows(bucket)
    assert found["lacks"].split(", ") == sorted(
        ["tpu.nodes.create", *(one for one in rights.FLEET if one.startswith("compute.instances."))]
    )
    assert found["rights"].endswith(f"of {len(rights.FLEET) + len(rights.SLICES)} that a bastion needs")


def test_expired_credentials_say_what_to_run(fake: Fake, bucket: Path) -> None:
    fake.faults.expire_credentials()
    code, said = auth(bucket)
    assert code == 1
    assert "run: gcloud auth application-default login" in said


def test_without_a_project_google_is_not_asked(fake: Fake, bucket: Path) -> None:
    (bucket / "team" / "config.toml").write_text("")
    assert "google    project" not in auth(bucket)[1]
    assert fake.calls() == []
