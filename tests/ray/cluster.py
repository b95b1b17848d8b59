"""A real Ray on this machine: a head and a second node, with GPUs that are only counted."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from bastion.model.errors import RunnerError
from bastion.runners.local import process_marks
from bastion.runners.ray import parse, render
from bastion.runners.ray.api import HttpDashboard
from bastion.runners.worker.linux.ports import free_port
from bastion.testing.fleets import until

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "requirements-ray.lock"
VENV = ROOT / "build" / "ray"
_MARK = "TESTS_RAY"
_LITTLE = ("--disable-usage-stats", "--include-log-monitor=false", "--no-monitor", "--object-store-memory=100000000")
"""A third less to start, and nothing that jobs see."""

_WITH_US = ("setpriv", "--pdeathsig", "TERM")
"""When the tests are killed, Ray ends, and takes all of its processes along."""

_QUICK = {"RAY_health_check_period_ms": "500", "RAY_prestart_worker_first_driver": "0"}
"""A node that is dead is known to be so in some 3 s, in place of 15; and nobody starts before he is asked for."""


def python() -> Path:
    """The Python of an environment that has Ray, as it is locked, and the project as it is here. Made once."""
    VENV.parent.mkdir(exist_ok=True)
    with open(VENV.parent / "ray.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = VENV / "ready"
        if not ready.exists() or ready.read_bytes() != LOCK.read_bytes():
            subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], check=True)
            pip = [sys.executable, "-m", "pip", "--python", VENV / "bin" / "python", "install", "--quiet"]
            subprocess.run(
                [*pip, "--no-deps", "--require-hashes", "-r", LOCK], check=True
            )  # the lock is the whole of it
            ready.write_bytes(LOCK.read_bytes())
    there = VENV / "bin" / "python"
    packages = subprocess.run(
        [there, "-c", "import site; print(site.getsitepackages()[0])"], check=True, capture_output=True, text=True
    )
    ours = [path for path in sys.path if path.endswith("site-packages")] or site.getsitepackages()
    Path(packages.stdout.strip(), "project.pth").write_text("".join(f"{path}\n" for path in [ROOT, *ours]))
    return there


def clean() -> dict[str, str]:
    """Our environment, without what would speak to Ray or to Bastion."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("RAY_", "BASTION_"))}


class Cluster:
    """A head with 4 CPUs and no GPU, and a node with 4 CPUs and 2 GPUs that are said to be H100. They want a token."""

    def __init__(self) -> None:
        self.python = str(python())
        self.mark = uuid.uuid4().hex
        self.folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # short: sockets are below it
        self.token = self.folder / "token"
        self.token.write_text(uuid.uuid4().hex)
        self.dashboard = free_port()
        self.address = f"http://127.0.0.1:{self.dashboard}"
        self.door = HttpDashboard(self.address, str(self.token))
        self._begun: dict[str, subprocess.Popen[bytes]] = {}
        self._sessions: set[str] = set()

    def start(self) -> None:
        """Start both."""
        self.start_head()
        self.start_node()

    def start_head(self) -> None:
        """Start a head without a memory, and wait for its dashboard. Its address for nodes is another each time."""
        self.port = free_port()
        ports = [f"--port={self.port}", f"--dashboard-port={self.dashboard}", f"--ray-client-server-port={free_port()}"]
        self._start("head", ["--head", *ports, "--num-cpus=4", "--num-gpus=0", f"--temp-dir={self.folder}/t"])
        until(self.nodes, "Ray's dashboard", more=self._last_words)
        self._sessions.add(render.session_mark(parse.session(self.door.ask("GET", "/api/version").data)))

    def start_node(self) -> None:
        """Start the node with GPUs, and wait until the head knows it."""
        gpus = ["--num-gpus=2", f"--resources={json.dumps({'accelerator_type:H100': 1})}"]
        self._start("node", [f"--address=127.0.0.1:{self.port}", "--num-cpus=4", *gpus])
        until(lambda: len(self.nodes()) == 2, "the second node", more=self._last_words)

    def nodes(self) -> list[parse.Node]:
        """What its living nodes have; none while nobody answers."""
        try:
            return parse.nodes(self.door.ask("GET", "/api/v0/nodes?detail=true").data)
        except RunnerError:
            return []

    def kill(self, part: str, program: str = "") -> None:
        """Kill -9 of a program of the `head` or the `node`; or of all that runs there, as when its power fails."""
        for _ in range(3):
            there = self.processes(part)
            for process in there if program else [one for each in there for one in (*_below(each), each)]:
                with suppress(psutil.Error):
                    if any(program in word for word in process.cmdline()[:1]):
                        process.kill()
        self._begun.pop(part).wait()  # it ends when one of its programs has

    def close(self) -> None:
        """Kill all that was started here, and what that has started."""
        for part in list(self._begun):
            self.kill(part)
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self, part: str = "") -> list[psutil.Process]:
        """All processes of this cluster, or of a part of it, and of what runs there."""
        out = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(_MARK, "").startswith(f"{self.mark}-{part}"):
                    out.append(process)
        return out

    def machines(self) -> list[process_marks.MarkedProcess]:
        """All processes of workers and of their jobs that it was asked to start."""
        found = ((one, render.parse(one.machine)) for one in process_marks.scan())
        return [one for one, name in found if name and name.session in self._sessions]

    def _start(self, part: str, words: Sequence[str]) -> None:
        auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token)}
        env = {**clean(), **auth, **_QUICK, _MARK: f"{self.mark}-{part}", "RAY_DISABLE_IMPORT_WARNING": "1"}
        ray = [*_WITH_US, self.python, "-m", "ray.scripts.scripts", "start", "--block", *_LITTLE]
        ports = [f"--dashboard-agent-listen-port={free_port()}", "--min-worker-port=0", "--max-worker-port=0"]
        with open(self.folder / "output", "ab") as output:
            self._begun[part] = subprocess.Popen(
                [*ray, *ports, *words],
                env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def _last_words(self) -> str:
        return (self.folder / "output").read_text(errors="replace")[-1500:]


def _below(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.Error):
        return list(process.children(recursive=True))
    return []
