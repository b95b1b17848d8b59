"""A bare machine boots: its script fetches the worker from the store, and the worker runs a job, on nothing but a kernel."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from bastion.model.state.state import Cause
from bastion.runners.delivery.archive import Archive
from bastion.testing.stage import order
from tests.google.support.bare import Bare
from tests.google.support.booted import KEY, Booted

SEES = 'id -un; echo "job $BASTION_JOB on $BASTION_MACHINE"; command -v python3 || echo "no Python"; exit 3'
NO_SLEEP = 'sleep() { echo "$1" >>/sleeps; }\n'
UNTIL_GO = "sleep() { until [ -e /go ]; do /bin/busybox sleep 0.05; done; }\n"
HOME = "var/lib/bastion"


@pytest.fixture
def machine(tmp_path: Path, store: str, archive: Archive) -> Booted:
    return Booted(tmp_path, store, archive)


def test_a_bare_machine_runs_its_job_and_nothing_more_when_it_boots_again(machine: Booted) -> None:
    machine.order(order(KEY, SEES))
    with machine.booting() as process:
        console = machine.console(process)
        facts = machine.ended()
    digest = machine.metadata.attribute("bastion-build")
    assert console == [
        f"bastion: fetching worker {digest}",
        f"bastion: starting worker {digest}",
        "script ended with 0",
    ]
    assert (facts.cause, facts.exit_code, facts.machine) == (Cause.CODE, 3, "us-central2-b/n/4f2a/0")
    said = ["bastion-job", f"job {KEY.job} on us-central2-b/n/4f2a/0", "no Python"]
    assert machine.log().splitlines() == said
    assert [path.name for path in (machine.bare.root / HOME / "builds").iterdir()] == [digest]

    first = machine.claim()
    machine.bucket.delete([machine.key])
    with machine.booting() as process:
        assert machine.console(process) == [f"bastion: starting worker {digest}", "script ended with 0"]
        machine.until(lambda: machine.workers() == [], "end of the second worker")
    assert machine.claim() == first
    assert machine.log().splitlines() == said


@pytest.mark.parametrize(
    ("attribute", "value", "why"),
    [
        (
            "bastion-build",
            None,
            "the metadata server gives no bastion-build: curl: (22) The requested URL returned error: 404",
        ),
        ("bastion-build", "$(touch /pwned)", "bastion-build is no digest"),
        ("bastion-archive", "storage/v1/b/nobodys/o/x?alt=media", "curl: (22) The requested URL returned error: 404"),
        ("bastion-build", "0" * 64, "its bytes are those of "),
    ],
)
def test_a_machine_that_cannot_have_its_worker_says_why_and_leaves_nothing(
    machine: Booted, attribute: str, value: str | None, why: str
) -> None:
    attributes = {**machine.metadata.attributes(), attribute: value}
    machine.metadata.change(attributes={name: text for name, text in attributes.items() if text is not None})
    with machine.booting(NO_SLEEP) as process:
        console = machine.console(process)
    assert console[-1] == "script ended with 1"
    assert why in console[-2]
    assert console[-2].endswith("this machine is of no use, and waits for its bastion to delete it")
    assert list((machine.bare.root / HOME / "builds").iterdir()) == []
    assert not (machine.bare.root / HOME / "starting").exists()
    assert not (machine.bare.root / "pwned").exists()
    if "digest" not in why:
        assert 280 < sum(map(int, (machine.bare.root / "sleeps").read_text().split())) < 320


def test_a_store_that_answers_late_is_waited_for(machine: Booted) -> None:
    build = machine.bucket.read(machine.key).data
    machine.bucket.delete([machine.key])
    machine.order(order(KEY, "echo here"))
    with machine.booting(UNTIL_GO) as process:
        assert process.stdout is not None
        first = [process.stdout.readline(), process.stdout.readline()]
        machine.bucket.create(machine.key, build)
        (machine.bare.root / "go").touch()
        assert machine.ended().exit_code == 0
    assert "the worker is not fetched yet: curl: (22)" in first[1]


def test_a_machine_that_google_takes_away_gives_its_job_notice_and_says_so(machine: Booted) -> None:
    machine.order(order(KEY, "trap 'echo saved; exit 1' TERM; echo ready; while :; do sleep 0.1; done", grace_s=600.0))
    with machine.booting() as process:
        machine.console(process)
        machine.until(lambda: "ready" in machine.log(), "word")
        machine.metadata.change(maintenanceEvent="MIGRATE_ON_HOST_MAINTENANCE")
        machine.metadata.change(preempted="TRUE")
        facts = machine.ended()
    assert (facts.cause, facts.exit_code, facts.message) == (Cause.LOST, 1, "Google preempts this machine")
    shells_word = "Terminated"  # of the sleep that the notice ended
    assert [line for line in machine.log().splitlines() if line != shells_word] == ["ready", "saved"]


def test_every_module_of_a_worker_is_there_and_needs_nothing_else(tmp_path: Path, archive: Archive) -> None:
    bare = Bare(tmp_path / "machine")
    with tarfile.open(fileobj=io.BytesIO(archive.read())) as packed:
        names = packed.getnames()
        packed.extractall(bare.root / "w", filter="tar")
    rooms = ("bastion", "bundler", "cli", "quota", "runners")
    home = next(name for name in names if name.endswith("/os.py")).removesuffix("os.py")
    modules = [name.removeprefix(home)[:-3].replace("/", ".") for name in names if name.endswith(".py")]
    ours = [name.removesuffix(".__init__") for name in modules if name.split(".")[0] in rooms]
    assert "bastion.runners.worker.run" in ours
    assert not [
        name for name in ours if name.startswith(("launcher", "bastion.service.loop", "bastion.cli.launch.tool"))
    ]
    lazily = [
        "google.auth.transport.requests",
        "google.cloud.storage",
        "pynvml",
        "tenacity",
        "zstandard",
        "fsspec",
        "_hashlib",
    ]
    text = f"""
import importlib, ssl, subprocess, sys
for name in {[*ours, *lazily]}:
    importlib.import_module(name)
import certifi, os
assert os.path.isfile(certifi.where()) and sys.flags.isolated
argv = [sys.executable, '-I', '-c', 'import sys; print(sys.executable, sys.prefix)']
print(subprocess.run(argv, capture_output=True, text=True))
"""
    (bare.root / "all.py").write_text(text)
    said = bare.said("cd /w/bin && ./python3 -I /all.py")
    assert "returncode=0, stdout='/w/bin/python3 /w\\n', stderr=''" in said, said
