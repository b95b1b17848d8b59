"""The same over ssh to a login node: a real sshd on this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import CommandResult
from bastion.model.state.state import Cause
from bastion.platform.shell import SystemShell
from bastion.runners.slurm.commands import SlurmCommands, SshShell
from bastion.testing.stage import HELLO, Stage
from tests.slurm.cluster import Cluster
from tests.slurm.fleet import SlurmFleet

_SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PidFile none
"""
_CLIENT = """
Host login
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {folder}/user
  UserKnownHostsFile {folder}/known
  StrictHostKeyChecking accept-new
"""


@dataclass(frozen=True)
class There:
    """Slurm's commands on the login node, where an administrator has set SLURM_CONF."""

    ssh: SshShell
    conf: Path

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        return self.ssh.run(["env", f"SLURM_CONF={self.conf}", *argv], limit_s=limit_s, stdin=stdin)


@pytest.fixture
def login(tmp_path: Path) -> Iterator[SshShell]:
    """A login node that this account reaches with a key of its own."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        names = {"port": door.getsockname()[1], "folder": tmp_path, "user": getpass.getuser()}
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key], check=True)
    (tmp_path / "server").write_text(_SERVER.format(**names))
    (tmp_path / "client").write_text(_CLIENT.format(**names))
    Path("/run/sshd").mkdir(exist_ok=True)
    shell = SshShell(SystemShell(), "login", ("ssh", "-F", str(tmp_path / "client"), "-S", str(tmp_path / "shared")))
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")  # it starts by an absolute path only
    assert sshd, "sshd is not installed; .ci/install engines brings it"
    with subprocess.Popen([sshd, "-D", "-e", "-f", tmp_path / "server"], stderr=subprocess.DEVNULL) as server:
        try:
            yield shell
        finally:
            shell.shell.run([*shell.program, "-O", "exit", "login"], limit_s=60)
            server.terminate()


def test_a_job_runs_and_its_end_is_told(tmp_path: Path, login: SshShell, slurm: Cluster) -> None:
    fleet = SlurmFleet(tmp_path, slurm)
    fleet.until(lambda: login.run(["true"], limit_s=60).code == 0, "the login node")
    fleet.runner.shell = There(login, slurm.conf)
    stage = Stage(fleet)
    stage.start(HELLO)
    assert stage.ended().cause is Cause.OK
    assert stage.log() == "hello\n"
    fleet.close()


def test_words_arrive_as_they_are(login: SshShell, slurm: Cluster) -> None:
    slurm.until(lambda: login.run(["true"], limit_s=60).code == 0, "the login node")
    said = login.run(["sh", "-c", 'cat; echo "$1" >&2; exit 3', "-", "a $HOME; 'b'"], limit_s=60, stdin="text\n")
    assert said == CommandResult(3, "text\n", "a $HOME; 'b'\n")


def test_a_login_node_that_is_not_there_is_told_and_refuses_nothing(tmp_path: Path) -> None:
    (tmp_path / "client").write_text(_CLIENT.format(port=9, folder=tmp_path, user="nobody"))
    away = SshShell(SystemShell(), "login", ("ssh", "-F", str(tmp_path / "client")))
    with pytest.raises(RunnerError, match="Slurm does not answer squeue: ssh: connect to host"):
        SlurmCommands(away).ask(["squeue"])
