"""From nothing to a first job: `bastion create --local` alone, and `launch` without a flag."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import QUICK, Fleet

ALONE = ("BASTION_NAME", "BASTION_BUCKET")


@pytest.fixture
def newcomer(tmp_path: Path) -> Iterator[Fleet]:
    """Somebody whose account has no variable, no profile and no bucket."""
    here = Fleet(tmp_path)
    for name in ALONE:
        here.environ.pop(name)
    here.environ |= {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    yield here
    here.run("bastion", "delete", "--force", "--purge", "--yes")


def test_two_commands_lead_to_a_first_job(newcomer: Fleet, tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('trained')\n")
    said = newcomer.run("bastion", "create", "--local", *QUICK)
    assert said.returncode == 0, said
    name = os.uname().nodename.partition(".")[0].lower()
    assert f"bastion {name} runs: " in said.stdout
    folder = tmp_path / "data" / "bastion"
    assert f"chose the name {name}, after this machine, and the folder {folder} as the bucket" in said.stderr
    assert f"jobs may use cpu={os.cpu_count()}," in said.stderr
    assert f"profile {name} is active, so launch needs no flags" in said.stderr
    said = newcomer.run("launch", "--follow", "--", "python3", "train.py", cwd=code)
    assert (said.returncode, said.stdout.splitlines()[0]) == (0, "trained"), said
    profiles = tomllib.loads((tmp_path / "config" / "bastion" / "config.toml").read_text())
    assert profiles == {"active": name, "profiles": {name: {"bucket": f"file://{folder}", "bastion": name}}}
    again = newcomer.run("bastion", "create", "--local")
    assert f"bastion {name} already runs: " in again.stdout
    assert "chose" not in again.stderr


def test_a_job_finds_its_programs_as_the_shell_does_that_it_is_submitted_from(newcomer: Fleet, tmp_path: Path) -> None:
    program = tmp_path / "mine" / "hello"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho from $VIRTUAL_ENV and ${CONDA_PREFIX-nothing} and ${ELSE-nothing}\n")
    program.chmod(0o755)
    assert newcomer.run("bastion", "create", "--local", *QUICK).returncode == 0
    path = newcomer.environ["PATH"]
    newcomer.environ |= {"PATH": f"{program.parent}:{path}", "VIRTUAL_ENV": "/an/environment", "ELSE": "what"}
    words = ("--bundler_type=none", "--follow", "--", "hello")
    said = newcomer.run("launch", *words)
    assert said.stdout.splitlines()[0] == "from /an/environment and nothing and nothing", said
    said = newcomer.run("launch", f"--env=PATH={path}", *words)
    assert "hello" in said.stdout
    assert said.returncode == 100, "what the job says itself stays, and there is no such program"
