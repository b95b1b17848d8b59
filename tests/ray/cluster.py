"""A real Ray on this machine: a head and a second node, with GPUs that are only counted."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import site
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from bastion.errors import RunnerError
from bastion_testing.fleets import until
from runners.ray import parse
from runners.ray.api import HttpDashboard

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-ray.lock"
VENV = ROOT / "build" / "ray"
_MARK = "TESTS_RAY"


def python() -> Path:
    """The Python of an environment that has Ray, as it is locked, and the project as it is here. Made once."""
    VENV.parent.mkdir(exist_ok=True)
    with open(VENV.parent / "ray.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = VENV / "ready"
        if not ready.exists() or ready.read_bytes() != LOCK.read_bytes():
            subprocess.run([sys.executable, "-m", "venv", "--clear", VENV], check=True)
            pip = [VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", LOCK]
            subprocess.run(pip, check=True)
            ready.write_bytes(LOCK.read_bytes())
    there = VENV / "bin" / "python"
    packages = subprocess.run(
        [there, "-c", "import site; print(site.getsitepackages()[0])"], check=True, capture_output=True, text=True
    )
    ours = [path for path in sys.path if path.endswith("site-packages")] or site.getsitepackages()
    Path(packages.stdout.strip(), "project.pth").write_text("".join(f"{path}\n" for path in [ROOT, *ours]))
    return there


def free_port() -> int:
    """A TCP port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    """A head with 4 CPUs and no GPU, and a node with 4 CPUs and 2 GPUs that are said to be H100."""

    def __init__(self) -> None:
        self.python = str(python())
        self.mark = uuid.uuid4().hex
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # short: sockets are below it
        self.port, self.dashboard = free_port(), free_port()
        self.address = f"http://127.0.0.1:{self.dashboard}"
        self._begun: list[subprocess.Popen[bytes]] = []
        words = ["--head", f"--port={self.port}", f"--dashboard-port={self.dashboard}", "--num-cpus=4", "--num-gpus=0"]
        self._start([*words, f"--temp-dir={self.folder}/t", f"--ray-client-server-port={free_port()}"])
        until(self.nodes, "Ray's dashboard")
        gpus = ["--num-gpus=2", f"--resources={json.dumps({'accelerator_type:H100': 1})}"]
        self._start([f"--address=127.0.0.1:{self.port}", "--num-cpus=4", *gpus])
        until(lambda: len(self.nodes()) == 2, "the second node")

    def nodes(self) -> list[parse.Node]:
        """What its living nodes have; none while nobody answers."""
        try:
            return parse.nodes(HttpDashboard(self.address).ask("GET", "/api/v0/nodes?detail=true").data)
        except RunnerError:
            return []

    def close(self) -> None:
        """Kill all that was started here, and what that has started."""
        for _ in range(3):
            for process in self.processes():
                with suppress(psutil.Error):
                    process.kill()
        for begun in self._begun:
            begun.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self) -> list[psutil.Process]:
        """All processes of this cluster, and of what runs on it."""
        out = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(_MARK) == self.mark:
                    out.append(process)
        return out

    def _start(self, words: Sequence[str]) -> None:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "BASTION_"))}
        env = {**clean, _MARK: self.mark, "RAY_DISABLE_IMPORT_WARNING": "1"}
        ray = [self.python, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        ports = [f"--dashboard-agent-listen-port={free_port()}", "--min-worker-port=0", "--max-worker-port=0"]
        with open(self.folder / "output", "ab") as output:
            begun = subprocess.Popen(
                [*ray, *ports, "--object-store-memory=100000000", *words],
                env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        self._begun.append(begun)
