"""A runner from a package of somebody else's: found where it is installed, tested with our suite, and unknown to clients."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.support.fleet import TOOLS, Fleet

PACKAGE = ROOT / "tests" / "thirdparty"
PATIENCE_S = 300
OF_THE_SUITE = "command_runs or knows_its_rank or shows_all_machines"
"""Enough of it to see that it runs outside of this repository. `python -m tests.installed` runs all of it, of the wheel."""


def said(*argv: str | Path, cwd: Path) -> str:
    """What a program prints, all of it being well."""
    told = subprocess.run([str(word) for word in argv], cwd=cwd, capture_output=True, text=True, timeout=PATIENCE_S)
    assert told.returncode == 0, told.stdout + told.stderr
    return told.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment with all that is here, and the package."""
    here = tmp_path_factory.mktemp("installed")
    venv.create(here / "venv", with_pip=False)
    python = here / "venv" / "bin" / "python"
    site = Path(said(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=here).strip())
    (site / "ours.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    shutil.copytree(PACKAGE, here / "source")
    pip = [sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--no-index", "--no-deps"]
    said(*pip, "--no-build-isolation", here / "source", cwd=here)
    for tool in ("bastion", "launch"):
        script = python.parent / tool
        script.write_text(f'#!/bin/sh\nexec "{python}" -I -m bastion {tool} "$@"\n')
        script.chmod(0o755)
    return python


def test_the_bastion_runs_jobs_on_it_and_a_client_needs_nothing(fleet: Fleet, python: Path) -> None:
    fleet.put("config.toml", b'runners = ["slots"]\n\n[runner_options.slots]\nslots = 2\n')
    fleet.tools = python.parent
    fleet.ask("bastion", "create", "--poll=0.1")
    fleet.tools = TOOLS
    job = fleet.submit("hello", "--resources=slot=2", run="echo hello from $BASTION_MACHINE")
    assert fleet.wait(job) == 0
    assert fleet.log(job).startswith("hello from ")
    assert [event["runner"] for event in fleet.events("Started")] == ["slots"]
    warned = fleet.run("bastion", "config", "set", "reclaim_delay=5", "--yes")
    assert "warning: runners has 'slots', which is not installed here; " in warned.stderr
    assert warned.returncode == 0


def test_who_has_it_is_told_what_is_wrong_with_its_table(fleet: Fleet, python: Path) -> None:
    fleet.put("config.toml", b'runners = ["slots"]\n')
    fleet.tools = python.parent
    wrong = fleet.run("bastion", "config", "set", "runner_options.slots={slots = 65}", "--yes")
    assert (wrong.returncode, wrong.stderr) == (
        1,
        "error: config.toml: runner_options.slots.slots is 65; use 1 to 64\n",
    )


def test_its_author_tests_it_with_our_suite_outside_of_this_repository(python: Path, tmp_path: Path) -> None:
    for name in ("conftest.py", "slots_contract.py"):
        shutil.copy(PACKAGE / name, tmp_path)
    suite = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "slots_contract.py", "-k", OF_THE_SUITE]
    assert "3 passed" in said(*suite, cwd=tmp_path)


def test_the_page_shows_the_package_as_it_is() -> None:
    page = (ROOT / "docs/extend/write-a-runner.md").read_text()
    shown = re.findall(r"^```(?:python|toml)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert {(PACKAGE / name).read_text() for name in ("bastion_slots.py", "slots_contract.py")} <= set(shown)
    assert all(block in (PACKAGE / "pyproject.toml").read_text() for block in shown if "entry-points" in block)
