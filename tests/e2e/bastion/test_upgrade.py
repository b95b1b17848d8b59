"""Another version of Bastion on the same bucket, while jobs run: forth, and not back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from bastion.launcher.read.exit_codes import REJECTED
from bastion.model.version import VERSION as OURS
from bastion.platform import host
from tests.e2e.bastion import later
from tests.support.fleet import Fleet, Said, files, until

LINES = """exec python3 -uc '
import itertools, pathlib, time
for i in itertools.count(1):
    if pathlib.Path("{go}").exists():
        break
    print("line", i)
    time.sleep(0.02)
print("last", i - 1)
'"""
"""Numbered lines until it may go, by one process from its first line to its last."""
TRAP = """exec python3 -uc '
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("up")
signal.sigwait([signal.SIGTERM])
print("notice")
sys.exit(9)
'"""


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the later version's scripts lie."""
    return later.install(tmp_path_factory.mktemp("later"))


@pytest.fixture
def fleet(tmp_path: Path, tools: Path) -> Iterator[Fleet]:
    """Of this version; at the end the later one clears up."""
    here = Fleet(tmp_path)
    yield here
    here.tools = tools
    here.close()


@contextmanager
def version(fleet: Fleet, tools: Path) -> Iterator[None]:
    """What is run here is run by these tools."""
    before, fleet.tools = fleet.tools, tools
    yield
    fleet.tools = before


def pids(fleet: Fleet, job: str) -> set[tuple[int, float]]:
    """The processes of a job, each told from a later one of its number."""
    return {(process.pid, process.create_time()) for process in fleet.processes(job)}


def everything(fleet: Fleet) -> dict[str, bytes]:
    """Every object but what the workers of running jobs write, and what a bastion asks the store's time by."""
    theirs = ("beats/", "workers/", "logs/", "clock.json")
    found = ((str(file.relative_to(fleet.root)), file) for file in files(fleet.root))
    return {key: file.read_bytes() for key, file in found if not key.startswith(theirs)}


def is_told_to_upgrade(said: Said) -> bool:
    return said.returncode == 1 and f"of Bastion {later.VERSION}" in said.stderr and "upgrade" in said.stderr


def test_jobs_live_through_an_upgrade_and_there_is_no_way_back(fleet: Fleet, tools: Path) -> None:
    fleet.create()
    go = fleet.folder / "go"
    long = fleet.submit("long", run=LINES.format(go=go))
    gang = fleet.submit("gang", "--num_replicas=2", run=LINES.format(go=go))
    stubborn = fleet.submit("stubborn", run=TRAP)
    for name in (long, gang, stubborn):
        fleet.await_state(name, "RUNNING")
    waiting = fleet.submit("waiting", "--resources=v4=8", run="echo at last")
    until(lambda: "up" in fleet.log(stubborn))
    until(lambda: all("line 1" in fleet.log(*words) for words in ([long], [gang, "--worker=0"], [gang, "--worker=1"])))
    alive = pids(fleet, long) | pids(fleet, gang)
    assert fleet.run("bastion", "stop").returncode == 0

    with version(fleet, tools):
        fleet.create()
        status = fleet.ask("bastion", "status")
        assert (status["version"], status["epoch"], status["problems"]) == (later.VERSION, 2, [])
        assert {fleet.job(job)["state"] for job in (long, gang, stubborn)} == {"RUNNING"}
        assert pids(fleet, long) | pids(fleet, gang) == alive
        assert fleet.run("launch", "stop", stubborn, "--yes").returncode == 0
        fleet.await_state(stubborn, "CANCELLED")
        assert fleet.log(stubborn).splitlines() == ["up", "notice"], "a worker of before heard the later bastion's stop"
        assert fleet.run("bastion", "stop").returncode == 0
    before = everything(fleet)

    assert is_told_to_upgrade(fleet.run("bastion", "create"))
    assert is_told_to_upgrade(fleet.run("bastion", "start"))
    assert is_told_to_upgrade(fleet.run("bastion", "start", "--takeover"))
    assert is_told_to_upgrade(fleet.run("launch", "ls"))
    (fleet.root / "status.json").rename(fleet.folder / "status.json")
    refused = fleet.run("bastion", "start")
    assert is_told_to_upgrade(refused)
    assert "journal object" in refused.stderr
    (fleet.folder / "status.json").rename(fleet.root / "status.json")
    assert everything(fleet) == before
    assert pids(fleet, long) | pids(fleet, gang) == alive

    with version(fleet, tools):
        fleet.create()
        go.touch()
        assert {fleet.wait(job) for job in (long, gang, waiting)} == {0}
        assert {len(fleet.job(job)["attempts"]) for job in (long, gang, waiting)} == {1}
        *lines, last = fleet.log(long).splitlines()
        assert lines == [f"line {number + 1}" for number in range(len(lines))]
        assert last == f"last {len(lines)}"


def test_a_bastion_at_work_gives_way_to_a_later_one_and_its_jobs_go_on(fleet: Fleet, tools: Path) -> None:
    old = psutil.Process(fleet.create()["pid"])
    go = fleet.folder / "go"
    job = fleet.submit("long", run=LINES.format(go=go))
    until(lambda: "line 1" in fleet.log(job))
    alive = pids(fleet, job)
    with version(fleet, tools), fleet.running("bastion", "start", "--takeover") as new:
        until(lambda: fleet.ask("bastion", "status")["pid"] == new.pid)
        until(lambda: not host.is_alive(old.pid))
        assert pids(fleet, job) == alive
        go.touch()
        assert fleet.wait(job) == 0
        assert len(fleet.job(job)["attempts"]) == 1


def test_a_later_client_is_answered_by_an_older_bastion(fleet: Fleet, tools: Path) -> None:
    """What asks for nothing new is run. What does is refused, with the advice, and nobody waits for ever."""
    fleet.create()
    with version(fleet, tools):
        plain = fleet.submit("plain", run="echo done")
        assert fleet.wait(plain) == 0
        new = ("--name=eager", f"--max_tries={later.TRIES}", "--resources=v4=1", "--bundler_type=none", "--wait")
        said = fleet.run("launch", *new, "--", "true")
        assert said.returncode == REJECTED, said
    refused = fleet.job("eager")
    assert refused["state"] == "REJECTED"
    assert refused["reason"].startswith(
        f"the request is of Bastion {later.VERSION}, and this is Bastion {OURS}: upgrade"
    )
    assert not list((fleet.root / "inbox").rglob("*.json"))
