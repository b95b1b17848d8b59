"""A journal that lost its end, or was changed by other hands: the real tools on a folder, and a job that runs through it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import psutil
import pytest

from bastion.platform import host
from tests.support.fleet import Fleet, until


def running(fleet: Fleet) -> tuple[str, Path]:
    """A job that runs until the file is there, in a journal whose end `status.json` knows; its bastion was killed."""
    pid = fleet.create()["pid"]
    go = fleet.folder / "go"
    fleet.submit("first", run="true")
    assert fleet.wait("first") == 0
    job = fleet.submit("long", "--resources=v4=4", run=f"while [ ! -e {go} ]; do sleep 0.05; done")
    fleet.await_state(job, "RUNNING")
    until(lambda: json.loads((fleet.root / "status.json").read_bytes())["seq"] == len(objects(fleet)))
    psutil.Process(pid).kill()
    until(lambda: not host.is_alive(pid))
    return job, go


def objects(fleet: Fleet) -> list[Path]:
    return sorted((fleet.root / "journal").glob("*.json"))


def refuses(fleet: Fleet) -> str:
    """Nobody begins, and the job runs on. What is said."""
    said = fleet.run("bastion", "start")
    assert (said.returncode, said.stderr.count("error:")) == (1, 1)
    assert fleet.processes("long"), "it runs on"
    return said.stderr


@pytest.mark.parametrize("emptied", [False, True], ids=["the newest objects", "journal and snapshots"])
def test_a_lost_end_starts_nobody_and_kills_nothing_and_its_loss_can_be_accepted(fleet: Fleet, emptied: bool) -> None:
    job, go = running(fleet)
    kept = fleet.folder / "kept"
    shutil.copytree(fleet.root / "journal", kept)
    if emptied:
        shutil.rmtree(fleet.root / "journal")
        shutil.rmtree(fleet.root / "snapshots", ignore_errors=True)
    else:
        for path in objects(fleet)[-2:]:
            path.unlink()
    assert "status.json records it up to object" in refuses(fleet)
    shown = fleet.run("launch", "ls", "--all")
    assert "is missing, but status.json records it" in shown.stdout + shown.stderr
    told = fleet.run("bastion", "recover", "--json")
    assert told.returncode == 1
    lost = json.loads(told.stdout)
    assert lost["problems"]
    assert job in [each["id"] for each in lost["jobs"]], "its submission is among what is lost"
    walked = fleet.run("bastion", "doctor", "--verify")
    assert (walked.returncode, "failed   journal: " in walked.stdout) == (1, True)
    if emptied:
        assert fleet.run("bastion", "recover", "--accept-loss").returncode == 2, "it asks"
        accepted = fleet.run("bastion", "recover", "--accept-loss", "--yes")
        assert accepted.returncode == 0, accepted
        fleet.create()
        assert fleet.job(job)["state"] == "REJECTED"
        until(lambda: not fleet.processes("long"))
    else:
        shutil.copytree(kept, fleet.root / "journal", dirs_exist_ok=True)
        fleet.create()
        go.touch()
        assert fleet.wait(job) == 0
        assert len(fleet.job(job)["attempts"]) == 1
    assert fleet.run("bastion", "doctor", "--verify").returncode == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"v4":4', b'"v4":7'), (b"sleep 0.05", b"sleep 0.06"), (b'"user":"', b'"user":"x')],
    ids=["units", "command", "user"],
)
def test_a_valid_edit_of_a_journal_object_is_named(fleet: Fleet, old: bytes, new: bytes) -> None:
    _, go = running(fleet)
    [path] = [
        path for path in objects(fleet) if b'"Submitted"' in path.read_bytes() and b"sleep 0.05" in path.read_bytes()
    ]
    before = path.read_bytes()
    assert old in before
    path.write_bytes(before.replace(old, new))
    number = int(path.stem)
    named = f"journal object {number} was changed"
    assert named in refuses(fleet)
    walked = fleet.run("bastion", "doctor", "--verify")
    assert (walked.returncode, named in walked.stdout) == (1, True)
    shown = fleet.run("launch", "ls", "--all")
    assert (shown.returncode, named in shown.stdout + shown.stderr) == (0, True)
    path.write_bytes(before)
    fleet.create()
    go.touch()
    assert fleet.wait("long") == 0
