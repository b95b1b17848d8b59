"""Starting is cheap, told by the modules that are loaded and not by a clock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.measures import Job, listing_loads, queue
from tests.house.test_walls import HEAVY

LS_LOADS_MAX = 67
"""Modules of ours that `launch ls` may load where no job waits: less than half of the 136 of November 2026."""

SLOW = HEAVY | {
    "msgspec",
    "psutil",
    "asyncio",
    "concurrent",
    "email",
    "http",
    "sqlite3",
    "ssl",
    "subprocess",
    "tomllib",
}


def loaded(*argv: str) -> set[str]:
    """The modules that a Python program imports from its start to its end."""
    command = [sys.executable, "-I", "-X", "importtime", *argv]
    said = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True).stderr
    rows = (line.rsplit("|", 1) for line in said.splitlines() if line.startswith("import time:"))
    return {row[-1].strip() for row in rows}


@pytest.mark.parametrize("tool", ["bastion", "launch"])
def test_help_loads_no_more_than_flags_take(tool: str) -> None:
    bare, flags, ours = loaded("-c", ""), loaded("-c", "import absl.app"), loaded("-m", "bastion", tool, "--help")
    assert {name.split(".")[0] for name in ours} & SLOW == set()
    assert len(ours - bare) <= 2 * len(flags - bare)
    assert "absl.flags" in ours


def test_launch_loads_no_cloud_for_a_folder(tmp_path: object) -> None:
    argv = ["-m", "bastion", "launch", "ls", "--bastion=b", f"--bucket=file://{tmp_path}", "--json"]
    code = f"import sys; from bastion.__main__ import launch; sys.argv[1:] = {argv[3:]!r}; launch()"
    assert {name.split(".")[0] for name in loaded("-c", code)} & {"google", "requests", "rich", "pynvml"} == set()


@pytest.mark.parametrize("command", ["create", "quota", "status", "stop"])
def test_bastion_loads_no_cloud_for_one_that_lives_here(command: str) -> None:
    found = loaded("-c", f"import bastion.cli.bastion.{command}")
    assert f"bastion.cli.bastion.{command}" in found
    assert {"bastion.cli.hosting.google_host", "bastion.cli.hosting.kubernetes_host"} & found == set()


@pytest.mark.parametrize("job", [Job.NONE, Job.RUNS])
def test_launch_ls_loads_less_than_half_of_what_it_did(job: Job, tmp_path: Path) -> None:
    found = listing_loads(queue(tmp_path, job))
    assert "bastion.journal.fold" in found
    assert len(found) <= LS_LOADS_MAX


def test_launch_ls_loads_the_policy_only_where_a_job_waits(tmp_path: Path) -> None:
    policy = "bastion.quota.policy.scheduler"
    waits, runs = listing_loads(queue(tmp_path / "waits", Job.WAITS)), listing_loads(queue(tmp_path / "runs", Job.RUNS))
    assert policy in waits
    assert policy not in runs
    assert runs < waits
