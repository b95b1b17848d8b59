"""A job that takes the whole machine: it ends, and says why; nothing of it is left, and its neighbour never knew."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet, until

PROCESSES = 60
OURS = "nobody" if os.geteuid() == 0 else ""

BOMB = 'bomb() { [ "$1" -gt 8 ] || bomb $(($1 + 1)) | bomb $(($1 + 1)) & sleep 300; }; bomb 0'
"""Two thousand processes and no more, should nobody stop it for so long: others of its account find room then, too."""
HOG = """exec python3 -c '
import time
kept = bytearray(b"x") * (1280 * 2**20)
time.sleep(600)
'"""
"""More than a gibibyte, kept until somebody looks."""
SHARED = """exec python3 -c '
import os
much = bytearray(b"x") * (600 * 2**20)
for _ in range(4): os.fork() or (os.read(0, 1), os.execlp("sleep", "sleep", "1"))
while True:
    try: os.wait()
    except ChildProcessError: break
'"""
FILES = "ulimit -n; ulimit -Hn; ulimit -c"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """Where root runs the tests its jobs are another's, since nothing bounds root; else the kernel bounds our own."""
    folder = Path(tempfile.mkdtemp(prefix="bastion-job-limits-"))
    folder.chmod(0o755)
    here = Fleet(folder)
    settings = f"processes = {PROCESSES}\nmemory = 1\nopen_files = 512\n"
    here.put("config.toml", f"[job_limits]\n{settings}".encode())
    here.create("--capacity=v4=8,memory=8", *([f"--run_as={OURS}"] if OURS else []))
    yield here
    here.close()
    shutil.rmtree(folder)


@pytest.fixture
def neighbour(fleet: Fleet) -> Iterator[str]:
    """A job beside, which starts a process every moment, until it is told to end: it ends well."""
    run = 'echo up; while [ ! -e "$BASTION_OUTPUT_DIR/go" ]; do /bin/sleep 0.05 || exit 1; done'
    job = fleet.submit("neighbour", run=run)
    until(lambda: "up" in fleet.log(job))
    yield job
    (fleet.root / "outputs" / job / "0" / "go").touch()
    assert fleet.wait(job) == 0
    assert len(fleet.job(job)["attempts"]) == 1


def ended(fleet: Fleet, *flags: str, run: str) -> Any:
    """What is told of a job that failed, of which nothing is left."""
    job = fleet.submit("greedy", *flags, run=run)
    assert fleet.wait(job) not in (0, 124)
    until(lambda: fleet.processes(job) == [])
    return fleet.job(job)


def test_a_fork_bomb_ends_as_its_own_failure(fleet: Fleet, neighbour: str) -> None:
    told = ended(fleet, run=BOMB)
    assert told["state"] == "FAILED"
    assert "killed: more than 60 processes and threads, which is the most (job_limits.processes)" in told["reason"]
    (attempt,) = told["attempts"]
    assert (attempt["cause"], attempt["exit_code"]) == ("signal", 137)


def test_a_memory_hog_ends_as_its_own_failure(fleet: Fleet, neighbour: str) -> None:
    told = ended(fleet, run=HOG)
    assert "killed: memory over 1 GiB, which is the most (job_limits.memory)" in told["reason"]
    assert [attempt["cause"] for attempt in told["attempts"]] == ["oom"]


def test_what_a_job_asks_for_is_what_it_gets(fleet: Fleet) -> None:
    told = ended(fleet, "--resources=v4=1,memory=1", run=HOG)
    assert "killed: memory over 1 GiB, which is what the job asks for" in told["reason"]


def test_a_setup_is_bounded_as_well(fleet: Fleet) -> None:
    told = ended(fleet, f"--setup={BOMB}", run="true")
    assert "more than 60 processes and threads" in told["reason"]


def test_memory_that_processes_share_counts_once(fleet: Fleet) -> None:
    job = fleet.submit("shares", run=SHARED)
    assert fleet.wait(job) == 0, fleet.job(job)["reason"]


def test_open_files_are_bounded_and_core_files_are_off(fleet: Fleet) -> None:
    job = fleet.submit("files", run=FILES)
    assert fleet.wait(job) == 0
    assert fleet.log(job).split() == ["512", "512", "0"]
