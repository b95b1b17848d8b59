"""The runner of a login node's user, who is not root, on a Slurm that runs as it should."""

from __future__ import annotations

import io
import os
import pwd
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.model.interfaces import AttemptKey, CommandResult
from bastion.model.state.state import Cause
from bastion.platform.shell import SystemShell
from bastion.runners.delivery import archive
from bastion.testing.stage import OTHER, SAVES, Stage
from tests.slurm.cluster import Cluster
from tests.slurm.fleet import SlurmFleet
from tests.slurm.test_runner import said, wanted

THIRD = AttemptKey("third-00000000", 0, 0)
USER = pwd.getpwnam("nobody")


@dataclass(frozen=True)
class Login:
    """A shell of this account's."""

    cluster: Cluster

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        become = ["setpriv", f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}", "--clear-groups"]
        return self.cluster.run([*become, *argv], limit_s=limit_s, stdin=stdin)


@pytest.fixture
def theirs(slurm: Cluster) -> Iterator[SlurmFleet]:
    """The runner with such a shell. It has an interpreter and a bucket that this account reaches."""
    folder = Path(tempfile.mkdtemp(prefix="bastion-login-"))
    mask = os.umask(0)
    try:
        folder.chmod(0o777)
        with tarfile.open(fileobj=io.BytesIO(archive.make(SystemShell()).read())) as packed:
            packed.extractall(folder / "installed", filter="data")
        fleet = SlurmFleet(folder, slurm)
        fleet.runner.shell, fleet.runner.python = Login(slurm), str(folder / "installed" / "bin" / "python3")
        yield fleet
        fleet.close()
    finally:
        os.umask(mask)
        shutil.rmtree(folder)


def test_its_jobs_run_as_it_are_told_and_end_when_they_are_deleted(theirs: SlurmFleet, slurm: Cluster) -> None:
    slurm.say("sbatch", "--output=/dev/null", "--wrap=sleep 600")  # root's
    stage = Stage(theirs)
    stage.start("id -u")
    assert stage.ended().cause is Cause.OK
    assert stage.log() == f"{USER.pw_uid}\n"
    machine = stage.running(SAVES, OTHER)
    assert theirs.runner.list() == [machine]
    theirs.runner.delete(machine.id)
    theirs.until(lambda: theirs.runner.list() == [], "its end")
    assert (theirs.runner.capacity() or {})["gpu"] == 8
    theirs.runner.python = "/nix/python"
    theirs.runner.create(wanted(THIRD))
    theirs.until(lambda: "/nix/python: not found" in said(theirs, THIRD), "why no worker starts")
