"""What tests need is installed before the first of them, or named with the command that brings it: on a bare machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import ROOT

NOBODY = 65_534
SERVERS = "slurm-wlm munge slurmdbd mariadb-server-core mariadb-client-core openssh-server"
ENGINES = f"{SERVERS} openssh-client busybox-static util-linux"
INSTALL = f"apt-get install -qq --no-install-recommends ca-certificates {ENGINES}"
NOTE = '#!/bin/sh\necho "${0##*/} $*" >>"$NOTES"\n'

Said = subprocess.CompletedProcess[str]


class BareMachine:
    """A path on which nothing lies but a shell's least, and stand-ins that note how they were called."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.notes = folder / "bin", folder / "notes"
        self.sbin = ""
        self.bin.mkdir()
        self.notes.touch()
        self.notes.chmod(0o666)
        for program in ("bash", "env", "sh", "id"):
            (self.bin / program).symlink_to(str(shutil.which(program)))

    def stand_in(self, name: str, then: str = "") -> None:
        (self.bin / name).write_text(NOTE + then)
        (self.bin / name).chmod(0o755)

    def install(self, *words: str, user: int | None = None) -> Said:
        """Run `.ci/install`, which is read from a pipe: other users may not reach this checkout."""
        with (ROOT / ".ci" / "install").open() as script:
            return self._run(["bash", "-s", "-", *words], ROOT if user is None else Path("/"), stdin=script, user=user)

    def make(self, folder: Path, *words: str) -> Said:
        """Run `make` on a copy of our Makefile, in a folder where nothing was set up yet."""
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        for name in ("Makefile", "requirements-dev.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, folder)
        (self.bin / "make").symlink_to(str(shutil.which("make")))
        return self._run(["make", "SHELL=bash", *words], folder)

    def _run(self, argv: list[str], folder: Path, **how: object) -> Said:
        environ = {"PATH": str(self.bin), "SBIN": self.sbin, "NOTES": str(self.notes)}
        pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, **how}
        return subprocess.run([self.bin / argv[0], *argv[1:]], cwd=folder, env=environ, **pipes)  # type: ignore[call-overload, no-any-return]

    def called(self) -> list[str]:
        return self.notes.read_text().splitlines()


@pytest.fixture
def bare() -> Iterator[BareMachine]:
    """In a folder that other users may enter."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield BareMachine(Path(made))


def test_what_is_missing_is_installed_at_once(bare: BareMachine) -> None:
    bare.stand_in("apt-get")
    if os.geteuid() != 0:
        bare.stand_in("sudo", 'exec "$@"')
    said = bare.install("engines")
    assert (said.returncode, said.stderr) == (0, f"installing what tests need: {ENGINES}\n")
    assert [line for line in bare.called() if line.startswith("apt-get")] == ["apt-get update -qq", INSTALL]


def test_one_line_names_what_is_missing_where_nothing_may_be_installed(bare: BareMachine) -> None:
    """Neither a user without rights, nor one whose sudo wants a password that nobody types, gets to apt-get."""
    bare.stand_in("apt-get")
    command = INSTALL.replace(" -qq", "").replace(" ca-certificates", "")
    line = f"error: tests need programs that are not installed; as root: {command}\n"
    for _ in range(2):
        said = bare.install("engines", user=NOBODY if os.geteuid() == 0 else None)
        assert (said.returncode, said.stdout, said.stderr) == (1, "", line)
        bare.stand_in("sudo", "exit 1")
    assert bare.called() == ["sudo -n true"]


def test_nothing_is_installed_where_all_is_there(bare: BareMachine) -> None:
    for program in ("slurmctld", "slurmdbd", "mariadbd", "sshd", "ssh", "busybox", "unshare"):
        (bare.bin / program).touch(0o755)
    said = bare.install("engines")
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_a_server_is_found_where_users_do_not_look(bare: BareMachine, tmp_path: Path) -> None:
    """The path of few users names /usr/sbin, so what lies there counted as missing."""
    bare.stand_in("apt-get")
    (bare.bin / "sbin").mkdir()
    (bare.bin / "sbin" / "sshd").touch(0o755)
    bare.sbin = f":{bare.bin}/sbin"
    bare.install("engines")
    assert "openssh-client" in bare.called()[-1]
    assert "openssh-server" not in bare.called()[-1]


@pytest.mark.parametrize(("target", "words"), [("test", "chromium"), ("test-engines", "busybox-static")])
def test_make_installs_before_it_does_anything_else(bare: BareMachine, tmp_path: Path, target: str, words: str) -> None:
    for name in ("apt-get", "sudo"):
        bare.stand_in(name, "exit 1")
    bare.stand_in("python3.11")
    said = bare.make(tmp_path, target)
    assert said.returncode == 2
    assert words in said.stderr.splitlines()[0]
    assert not [line for line in bare.called() if "venv --clear" in line or "pytest" in line]


def test_a_python_that_cannot_make_environments_is_told_of(bare: BareMachine, tmp_path: Path) -> None:
    bare.stand_in("python3.11", "exit 1")
    said = bare.make(tmp_path, "demo")
    assert said.stderr.startswith("error: ")
    assert "python3.11-venv" in said.stderr.splitlines()[0]
