"""Users' folders hold modules named like ours: theirs stay theirs, ours work beside them, whatever PYTHONPATH says."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

FILES = ("bundler", "cloud", "launcher", "simulator", "worlds")
FOLDERS = ("bastion_testing", "cli", "quota", "runners", "tests")
THEIRS = sorted((*FILES, *FOLDERS))
PROGRAMS = ("bastion", "launch")


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A user's repository: each of its modules prints its name when it is imported."""
    for name in FILES:
        (tmp_path / f"{name}.py").write_text(f"print('the user\\'s {name}')\n")
    for name in FOLDERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"print('the user\\'s {name}')\n")
    return tmp_path


def said(argv: list[str], cwd: Path, pythonpath: str = "") -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if pythonpath:
        environ["PYTHONPATH"] = pythonpath
    return subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, timeout=180, check=False)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("isolated", [["-I"], []])
def test_no_program_loads_a_module_of_theirs(theirs: Path, program: str, isolated: list[str]) -> None:
    for pythonpath in (str(theirs), f".{os.pathsep}{theirs}"):
        found = said([sys.executable, *isolated, "-m", "bastion", program, "--help"], theirs, pythonpath)
        assert (found.returncode, found.stderr) == (0, "")
        assert f"usage: {program}" in found.stdout
        assert "the user's" not in found.stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_console_script_loads_a_module_of_theirs(theirs: Path, program: str) -> None:
    found = said([str(Path(sysconfig.get_path("scripts")) / program), "--help"], theirs, str(theirs))
    assert (found.returncode, found.stderr) == (0, "")
    assert "the user's" not in found.stdout


def test_a_command_that_runs_loads_ours_too(theirs: Path) -> None:
    argv = [sys.executable, "-m", "bastion", "bastion", "status", "--bastion=demo", f"--bucket=file://{theirs}"]
    found = said(argv, theirs, str(theirs))
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("error: there is no bastion demo")


@pytest.mark.parametrize("first", ["import bastion.launcher.submit.build, bastion.cli.launch.tool\n", ""])
def test_in_a_notebook_their_modules_stay_theirs(theirs: Path, first: str) -> None:
    """Ours were imported before, or are after."""
    names = ", ".join(THEIRS)
    ours = ("launcher.submit.build", "quota.quota_file", "runners.runner_context", "cli.bastion.tool")
    then = "".join(f"import bastion.{name}\n" for name in ours)
    places = f"print([m.__file__ for m in ({names})])"
    found = said([sys.executable, "-c", f"import bastion\n{first}import {names}\n{then}{places}"], theirs)
    assert (found.returncode, found.stderr) == (0, "")
    *told, files = found.stdout.splitlines()
    assert told == [f"the user's {name}" for name in THEIRS]
    assert files.count(str(theirs)) == len(THEIRS)


def test_an_unknown_program_is_wrong_usage(tmp_path: Path) -> None:
    found = said([sys.executable, "-I", "-m", "bastion", "what"], tmp_path)
    assert found.returncode == 2
    assert "usage: " in found.stderr


def test_worlds_are_not_installed_and_it_says_where_they_are(tmp_path: Path) -> None:
    found = said([str(Path(sysconfig.get_path("scripts")) / "bastion-simulate"), "--seed=1"], tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert "in a checkout of Bastion: make simulate" in found.stderr


def test_a_working_folder_that_was_removed_is_no_obstacle(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && exec {sys.executable} -I -m bastion bastion --help"
    found = said(["/bin/sh", "-c", script], tmp_path)
    assert found.returncode == 0
