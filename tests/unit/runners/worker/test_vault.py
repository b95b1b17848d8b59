"""Secrets in a folder: the nearest one counts, and none that somebody else could read or have put there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bastion.model.errors import SecretError
from bastion.runners.worker.linux.secret_files import VALUE_MAX, FolderSecrets

Put = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "secrets"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture
def put(folder: Path) -> Put:
    def write(name: str, value: bytes = b"s3cret-value\n", mode: int = 0o600) -> Path:
        path = folder / name
        for above in reversed(path.relative_to(folder).parents):
            (folder / above).mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(value)
        path.chmod(mode)
        return path

    return write


def reveal(folder: Path, name: str = "TOKEN") -> str:
    return FolderSecrets(folder).reveal(name, user="ada", project="nlp")


def refusal(folder: Path) -> str:
    with pytest.raises(SecretError) as caught:
        reveal(folder)
    message = str(caught.value)
    assert message.startswith("secret TOKEN ")
    assert "s3cret" not in message
    return message


def test_the_users_own_comes_first_then_the_projects(folder: Path, put: Put) -> None:
    put("TOKEN", b"of all")
    assert reveal(folder) == "of all"
    put("projects/nlp/TOKEN", b"of nlp")
    assert reveal(folder) == "of nlp"
    put("users/ada/TOKEN", b"of ada")
    assert reveal(folder) == "of ada"


def test_others_secrets_are_not_found(folder: Path, put: Put) -> None:
    put("users/bob/TOKEN")
    put("projects/vision/TOKEN")
    assert "no file users/ada/TOKEN, projects/nlp/TOKEN or TOKEN" in refusal(folder)


@pytest.mark.parametrize(
    ("data", "value"),
    [(b"one\n", "one"), (b"one\r\n", "one"), (b"a\nb\n\n", "a\nb\n"), (b" x ", " x "), ("ü\n".encode(), "ü")],
)
def test_one_newline_at_the_end_is_left_out(folder: Path, put: Put, data: bytes, value: str) -> None:
    put("TOKEN", data)
    assert reveal(folder) == value


def test_bytes_that_are_no_text_go_through(folder: Path, put: Put) -> None:
    put("TOKEN", b"\xff\xfe raw")
    assert os.fsencode(reveal(folder)) == b"\xff\xfe raw"


def test_there_may_be_no_folder(tmp_path: Path) -> None:
    assert "is not on this machine" in refusal(tmp_path / "absent")


@pytest.mark.parametrize("mode", [0o604, 0o644, 0o620, 0o602, 0o601])
def test_what_others_may_read_or_write_is_refused(folder: Path, put: Put, mode: int) -> None:
    put("TOKEN", mode=mode)
    assert "chmod 600" in refusal(folder)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440])
def test_the_modes_that_are_safe(folder: Path, put: Put, mode: int) -> None:
    put("TOKEN", mode=mode)
    assert reveal(folder) == "s3cret-value"


@pytest.mark.parametrize("place", ["", "users", "users/ada"])
def test_a_folder_that_others_may_write_to_is_refused(folder: Path, put: Put, place: str) -> None:
    put("users/ada/TOKEN")
    (folder / place).chmod(0o777)
    assert f"in '{folder / place}'; chmod 700 that folder" in refusal(folder)


def test_a_mounted_kubernetes_secret(folder: Path, put: Put) -> None:
    """Names are links to links, within the mount."""
    put("..2026_01_01/TOKEN", mode=0o400)
    (folder / "..data").symlink_to("..2026_01_01")
    (folder / "TOKEN").symlink_to("..data/TOKEN")
    assert reveal(folder) == "s3cret-value"


@pytest.mark.parametrize("data", [b"", b"\n", b"a\0b", b"x" * (VALUE_MAX + 1)])
def test_what_no_variable_can_hold_is_refused(folder: Path, put: Put, data: bytes) -> None:
    put("TOKEN", data)
    assert "empty, longer than" in refusal(folder)


def test_what_is_no_file_is_refused_at_once(folder: Path) -> None:
    os.mkfifo(folder / "TOKEN", mode=0o600)
    assert "is no regular file" in refusal(folder)
    (folder / "TOKEN").unlink()
    (folder / "TOKEN").mkdir()
    assert refusal(folder)
