"""Which credentials are in force, and that no secret is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bastion.cli.hosting.store_credentials import credentials
from bastion.model.errors import AccessDenied

SECRET = "wJalrXUtnFEMIsecretsecretsecret"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No credentials but those that a test gives."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "AWS_DEFAULT_REGION",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)


def test_keys_of_aws_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SECRET)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    rows = credentials("s3://b", {"AWS_ENDPOINT_URL": "http://store"})
    assert rows == {
        "source": "the environment (AWS_ACCESS_KEY_ID)",
        "profile": "default",
        "key": "ends in MPLE, with a session token",
        "region": "eu-west-1",
        "endpoint": "http://store",
    }
    assert SECRET not in str(rows)
    assert "AKIA" not in str(rows)


def test_a_profile_of_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = f"[work]\naws_access_key_id = AKIAIOSFODNN7WORKING\naws_secret_access_key = {SECRET}\n"
    (tmp_path / "credentials").write_text(text)
    monkeypatch.setenv("AWS_PROFILE", "work")
    rows = credentials("s3://b", {})
    assert (rows["source"], rows["profile"], rows["key"]) == ("the credentials file of AWS", "work", "ends in KING")
    assert SECRET not in str(rows)


def test_no_credentials_of_aws_are_told_with_the_way_to_some() -> None:
    with pytest.raises(AccessDenied, match="run: aws configure, or aws sso login"):
        credentials("s3://b", {})


def test_a_users_login_at_google(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "adc.json"
    login = {
        "type": "authorized_user",
        "client_id": "id",
        "client_secret": SECRET,
        "refresh_token": SECRET,
        "account": "ann@example.com",
        "quota_project_id": "our-project",
    }
    file.write_text(json.dumps(login))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))
    rows = credentials("gs://b", {"GOOGLE_APPLICATION_CREDENTIALS": str(file)})
    assert rows == {
        "source": f"{file} (GOOGLE_APPLICATION_CREDENTIALS)",
        "kind": "oauth2.credentials.Credentials",
        "account": "ann@example.com",
        "project": "our-project",
    }
    assert SECRET not in str(rows)


def test_no_credentials_of_google_are_told_with_the_way_to_some() -> None:
    with pytest.raises(AccessDenied, match="run: gcloud auth application-default login"):
        credentials("gs://b", {})


def test_an_emulator_needs_none() -> None:
    rows = credentials("gs://b", {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"})
    assert rows["source"] == "none: an emulator needs none"


def test_a_folder_and_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    rows = credentials(f"file://{tmp_path}", {})
    assert rows["rights"].startswith("read, write, enter; the folder is drwxr-x---")
    with pytest.raises(AccessDenied, match="no such file or directory"):
        credentials(f"file://{tmp_path}/nowhere", {})


def test_memory_and_others() -> None:
    assert "memory" in credentials("memory://x", {})["source"]
    assert "az://" in credentials("az://c/x", {})["source"]
