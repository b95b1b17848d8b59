"""Every program of ours starts from a folder that holds packages named like ours, whatever PYTHONPATH says."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOMS = ("bastion", "bundler", "cli", "launcher", "quota", "runners")
PROGRAMS = ("bastion", "launch")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's repository: importing any of its packages ends the program."""
    for room in (*ROOMS, "msgspec", "absl"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(f"raise SystemExit('imported the user\\'s {room}')\n")
    return tmp_path


def said(argv: list[str], cwd: Path, pythonpath: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": pythonpath}
    return subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("isolated", [["-I"], []])
def test_modules_are_ours(theirs: Path, program: str, isolated: list[str]) -> None:
    for folder in (str(theirs), "", f".{os.pathsep}{theirs}"):
        found = said([sys.executable, *isolated, "-m", "bastion_entry", program, "--help"], theirs, folder)
        assert (found.returncode, found.stderr) == (0, "")
        assert f"usage: {program}" in found.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_console_scripts_are_ours(theirs: Path, program: str) -> None:
    found = said([str(Path(sysconfig.get_path("scripts")) / program), "--help"], theirs, str(theirs))
    assert (found.returncode, found.stderr) == (0, "")


def test_a_command_that_runs_imports_ours_too(theirs: Path) -> None:
    argv = [sys.executable, "-m", "bastion_entry", "bastion", "status", "--bastion=demo", f"--bucket=file://{theirs}"]
    found = said(argv, theirs, str(theirs))
    assert found.returncode == 1
    assert found.stderr.startswith("error: there is no bastion demo")


def test_an_unknown_program_is_wrong_usage(tmp_path: Path) -> None:
    found = said([sys.executable, "-I", "-m", "bastion_entry", "what"], tmp_path, "")
    assert found.returncode == 2
    assert "usage: " in found.stderr


def test_a_working_folder_that_was_removed_is_no_obstacle(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -I -m bastion_entry bastion --help"
    found = said(["/bin/sh", "-c", script], tmp_path, "")
    assert found.returncode == 0
