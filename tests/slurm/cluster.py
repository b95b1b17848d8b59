"""A real Slurm on this machine: a controller, and four nodes with two GPUs each. Wants root, slurm-wlm and munge.

All of it lies in one folder, and listens on free ports of the loopback: several of them do not meet.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from bastion.model.interfaces import CommandResult
from bastion.platform.shell import SystemShell
from bastion.testing.fleets import until

NODES = ("n1", "n2", "n3", "n4")
_CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
ReturnToService=2
MinJobAge=5
SlurmdTimeout=120
MessageTimeout=5
JobAcctGatherType=jobacct_gather/none
{accounting}
MpiDefault=none
SwitchType=switch/none
{nodes}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=DEFAULT Nodes=n[1-4] State=UP MaxTime=INFINITE PriorityTier=1
PartitionName=main Default=YES PreemptMode=OFF
PartitionName=brief MaxTime=1 PreemptMode=OFF
PartitionName=cancelled PreemptMode=CANCEL GraceTime=60
PartitionName=requeued PreemptMode=REQUEUE GraceTime=60
PartitionName=first PriorityTier=2 PreemptMode=OFF
"""


class Cluster:
    """A running Slurm. It is the shell that reaches it, too."""

    accounting = "AccountingStorageType=accounting_storage/none"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self.asked: list[Sequence[str]] = []
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._configure()

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        """Run a command of Slurm's here."""
        self.asked.append(argv)
        return SystemShell().run(["env", f"SLURM_CONF={self.conf}", *argv], limit_s=limit_s, stdin=stdin)

    def say(self, *argv: str, stdin: str = "") -> str:
        """What a command prints; it has to succeed."""
        said = SystemShell().run(["env", f"SLURM_CONF={self.conf}", *argv], limit_s=60, stdin=stdin)
        assert said.code == 0, f"{argv}: {said.err}"
        return said.out

    def start(self) -> None:
        """Start all daemons, and wait until every node is idle."""
        self._start("munge", ["munged", "--foreground", "--force", *self._munge()])
        self.until(lambda: (self.folder / "munge.socket").exists(), "munge's socket")
        self.start_accounting()
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        self.until(
            lambda: self.say("sinfo", "-h", "-N", "-p", "main", "-o", "%t").split() == ["idle"] * 4, "idle nodes"
        )

    def start_accounting(self) -> None:
        """Start what the controller tells of its jobs; here nobody."""

    def start_controller(self) -> None:
        """Start slurmctld, and wait until it answers."""
        self._start("controller", ["slurmctld", "-D", "-f", str(self.conf)])
        self.until(lambda: "UP" in self.run(["scontrol", "ping"], limit_s=60).out, "the controller's answer")

    def start_node(self, node: str) -> None:
        """Start the slurmd of a node."""
        self._start(node, ["slurmd", "-D", "-f", str(self.conf), "-N", node])

    def return_node(self, node: str) -> None:
        """Start the slurmd of a node that was lost: what it says puts the node back into service. Wait until it is idle."""
        self.start_node(node)
        self.until(lambda: self.say("sinfo", "-h", "-n", node, "-p", "main", "-o", "%t").strip() == "idle", "the node")

    def kill(self, daemon: str) -> None:
        """Kill -9 of one daemon alone."""
        self._daemons[daemon].kill()
        self._daemons[daemon].wait()

    def forget(self) -> None:
        """What the controller keeps is lost; it must be stopped."""
        shutil.rmtree(self.folder / "state")

    def stop_controller(self) -> None:
        """Stop slurmctld in good order. One that is killed forgets what it did in its last seconds."""
        self._daemons["controller"].terminate()
        self._daemons["controller"].wait()

    def crash_node(self, node: str) -> None:
        """All that runs on a node is gone at one moment, as when its power fails."""
        self.kill(node)
        # A step's daemon has the node's name in its socket, and not in its environment; a program has it nowhere.
        there = [*self._ours(lambda environ: environ.get("SLURMD_NODENAME") == node)]
        there += [one for one in psutil.process_iter() if any(str(self.folder / node) in path for path in _files(one))]
        for process in [*there, *(child for one in there for child in _below(one))]:
            _kill(process)

    def clear(self) -> None:
        """End all jobs, and have every node back."""
        jobs = self.say("squeue", "-h", "-o", "%i").split()
        self.run(["scancel", *[f"{job}.0" for job in jobs], *jobs], limit_s=60)
        self.until(lambda: not self.say("squeue", "-h", "-o", "%i").split(), "the end of all jobs")

    def stop(self) -> None:
        """Kill all that was started."""
        for daemon in self._daemons.values():
            daemon.kill()
            daemon.wait()
        for process in self._ours(lambda _: True):
            _kill(process)

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for it; fail with what Slurm says, if it does not come in good time."""
        until(condition, what, more=self._last_words)

    def _configure(self) -> None:
        ports = free_ports(1 + len(NODES))
        host = socket.gethostname()
        nodes, gres = [], []
        for node, port in zip(NODES, ports[1:], strict=True):
            nodes.append(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=2048 Gres=gpu:2"
            )
            gres.append(f"NodeName={node} Name=gpu File={self.folder}/gpu-{node}-[0-1]")
            for number in range(2):
                os.mknod(self.folder / f"gpu-{node}-{number}", stat.S_IFCHR | 0o600, os.makedev(195, number))
        text = _CONF.format(
            host=host, controller=ports[0], folder=self.folder, nodes="\n".join(nodes), accounting=self.accounting
        )
        self.conf.write_text(text)
        self.conf.with_name("gres.conf").write_text("\n".join(gres) + "\n")
        self.conf.with_name("cgroup.conf").write_text("CgroupAutomount=no\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)

    def _munge(self) -> list[str]:
        names = {"key-file": "key", "socket": "socket", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        return [f"--{flag}={self.folder}/munge.{name}" for flag, name in names.items()]

    def _start(self, name: str, argv: Sequence[str]) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                argv, env={**os.environ, "SLURM_CONF": str(self.conf)}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _ours(self, among: Callable[[dict[str, str]], bool]) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            try:
                environ = process.environ()
                if environ.get("SLURM_CONF") == str(self.conf) and process.pid != os.getpid() and among(environ):
                    yield process
            except psutil.Error:
                continue

    def _last_words(self) -> str:
        queue = self.run(["squeue", "--states=all"], limit_s=60).out
        logs = ((log.name, log.read_text(errors="replace")[-1000:]) for log in sorted(self.folder.glob("*.log")))
        return queue + "\n".join(f"{name}: {text}" for name, text in logs)


@contextmanager
def cluster(kind: type[Cluster] = Cluster) -> Iterator[Cluster]:
    """A new one, as long as it is used."""
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # short: sockets lie in it
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o755)  # other accounts have to reach munge's socket
        made = kind(folder)
        stack.callback(made.stop)
        made.start()
        yield made


def _kill(process: psutil.Process) -> None:
    with suppress(psutil.Error):  # it has ended since it was found
        process.kill()


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _files(process: psutil.Process) -> list[str]:
    try:
        return [file.path for file in process.open_files()]
    except psutil.Error:
        return []


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, and that no connection is given as its own end while daemons come up one by one."""
    with ExitStack() as stack:
        doors: list[socket.socket] = []
        while len(doors) < count:
            with suppress(OSError):
                doors.append(stack.enter_context(socket.create_server(("", random.randrange(15_000, 32_000)))))
        return [door.getsockname()[1] for door in doors]
