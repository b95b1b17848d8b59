"""Real bastions, clients and jobs on one store, as the chaos finds and tends them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil

from bastion.model import layout
from bastion.platform.local_paths import mark
from bastion.runners.local import process_marks, render
from bastion.stores.opening import open_part
from tests.chaos.store import BASTION, Store

TOOLS = Path(sys.executable).parent
WRITER = Path(__file__).with_name("writer.py")
PATIENCE_S, LOOK_S = 240.0, 0.05
BASTIONS, FLEET, SHORT_JOBS, PATIENT_JOBS = 2, 8, 4, 2


class Failed(Exception):
    """Something did not come about."""


@dataclass(frozen=True, slots=True)
class Crew:
    """One machine's processes: the worker, its keeper, and the user's."""

    name: render.LocalMachineName
    keeper: int | None
    worker: int | None
    users: tuple[int, ...]


@dataclass
class Town:
    """All that runs. `known` are the ids of jobs whose submission was confirmed."""

    home: Path
    store: Store
    random: Random
    known: list[str] = field(default_factory=list)
    bastions: list[subprocess.Popen[bytes]] = field(default_factory=list)
    client: subprocess.Popen[bytes] | None = None
    submitted: int = 0
    open_for_work: bool = True

    def __post_init__(self) -> None:
        for folder in ("locks", "printed", "state"):
            (self.home / folder).mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BASTION_", "XDG_"))}
        self.environ = kept | self.store.environ | {
            "BASTION_NAME": BASTION,
            "BASTION_BUCKET": self.store.url,
            **{f"XDG_{kind}_HOME": str(self.home / kind.lower()) for kind in ("STATE", "CONFIG", "CACHE")},
        }  # fmt: skip
        os.environ |= self.store.environ
        self.bucket = open_part(f"{self.store.url}/{BASTION}")
        text = f'poll = 0.2\nrunners = ["local"]\nreclaim_delay = 0\n[capacity]\nv4 = {FLEET}\n'
        self.bucket.write(layout.CONFIG, text.encode())

    # What there is

    def status(self) -> dict[str, Any]:
        """The bastion's sign of life, by the back door."""
        try:
            return dict(json.loads(self.store.read(layout.STATUS) or b"{}"))
        except ValueError:
            return {}

    def epoch(self) -> int:
        """Of who is at work."""
        return int(self.status().get("epoch", 0))

    def active(self) -> subprocess.Popen[bytes] | None:
        """The bastion at work, if it is alive."""
        pid = self.status().get("pid")
        return next((each for each in self.bastions if each.pid == pid and each.poll() is None), None)

    def standbys(self) -> list[subprocess.Popen[bytes]]:
        """Those that are alive and not at work."""
        active = self.active()
        return [each for each in self.bastions if each is not active and each.poll() is None]

    def printed(self) -> int:
        """How many lines all jobs have written so far."""
        return sum(file.stat().st_size for file in (self.home / "printed").iterdir())

    def done(self) -> set[str]:
        """The jobs whose process came to its end."""
        return {line.split()[0] for line in _lines(self.home / "done")}

    def crews(self) -> list[Crew]:
        """All machines with live processes."""
        found: dict[str, list[process_marks.MarkedProcess]] = {}
        for process in process_marks.scan():
            name = render.parse(process.machine)
            if name is not None and name.scope == mark(BASTION, self.bucket.url):
                found.setdefault(process.machine, []).append(process)
        return [_crew(render.parse(machine), processes) for machine, processes in found.items()]

    # What is done

    def tend(self) -> None:
        """Keep the number of bastions that can work, and the number of jobs."""
        while sum(each.poll() is None for each in self.bastions) < BASTIONS:
            self.start_bastion()
        if self.client is not None and self.client.poll() is not None:
            self._hear(self.client)
            self.client = None
        lost_or_done = len(self.done()) + (self.submitted - len(self.known))
        if self.open_for_work and self.client is None and self.submitted - lost_or_done < SHORT_JOBS + PATIENT_JOBS:
            self.client = self.submit(patient=self.submitted < PATIENT_JOBS)

    def start_bastion(self) -> None:
        """One more."""
        with (self.home / f"bastion-{len(self.bastions)}.log").open("ab") as log:
            self.bastions.append(self._popen("bastion", "start", stdout=log, stderr=log))

    def submit(self, *, patient: bool) -> subprocess.Popen[bytes]:
        """A client with a job."""
        self.submitted += 1
        lines, kind = self.random.randrange(20, 200), "patient" if patient else "short"
        flags = f"--name={kind}{self.submitted} --resources=v4=1 --bundler_type=none --grace=1s --json".split()
        command = [sys.executable, "-I", str(WRITER), str(self.home), str(lines), kind]
        return self._popen("launch", *flags, "--", *command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ask(self, tool: str, *words: str) -> tuple[int, str]:
        """Exit code and output of one of our tools."""
        with self._popen(tool, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            out, _ = process.communicate(timeout=PATIENCE_S)
        return process.returncode, out.decode()

    def await_until(self, condition: Callable[[], bool], what: str, every_s: float = LOOK_S) -> None:
        """Return once it is true, which is asked every so many seconds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(f"after {PATIENCE_S:.0f} s there is still no {what}")
            time.sleep(every_s)

    def descendants(self) -> list[psutil.Process]:
        """All processes below the guard, but this one: whatever loses its parent becomes the guard's."""
        return [
            process for process in psutil.Process(os.getppid()).children(recursive=True) if process.pid != os.getpid()
        ]

    def _popen(self, tool: str, *words: str, **how: Any) -> subprocess.Popen[bytes]:
        argv = [str(TOOLS / tool), *words]
        return subprocess.Popen(argv, env=self.environ, cwd=self.home, stdin=subprocess.DEVNULL, **how)

    def _hear(self, client: subprocess.Popen[bytes]) -> None:
        out, _ = client.communicate()
        if client.returncode == 0:
            self.known.append(json.loads(out)["id"])


def _crew(name: render.LocalMachineName | None, processes: list[process_marks.MarkedProcess]) -> Crew:
    assert name is not None
    ours = {process.pid for process in processes if not process.users}
    worker = next((pid for pid in ours if _parent(pid) in ours), None)
    keeper = _parent(worker) if worker is not None else None
    return Crew(name, keeper, worker, tuple(process.pid for process in processes if process.users))


def _parent(pid: int) -> int:
    try:
        return int(psutil.Process(pid).ppid())
    except psutil.Error:
        return 0


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []
