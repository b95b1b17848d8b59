"""Machines of the fake that weigh little: each is a process namespace of this host, whose first program starts the worker.

What a machine is told, it is told by a metadata server; all its processes end with it. What it has not, against a `Room`'s:
a file system and a network of its own, and a start-up script that fetches the worker.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from tests.google.fake.cloud import Guest
from tests.google.support.guest import GPUS
from tests.google.support.metadata import Metadata

_ROOT = Path(__file__).parents[3]
_PROGRAM = "tests.google.support.guest"
_APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--mount-proc", "--fork", "--kill-child")
_FIRST = '"$@" & wait $!; touch "$0/over"; while :; do sleep 3600 & wait; done'
"""Of all its processes: it starts the worker, and buries those who have nobody else to do it."""


@dataclass(slots=True)
class Machine:
    """One that runs."""

    home: Path
    metadata: Metadata
    process: subprocess.Popen[bytes]
    stack: ExitStack

    @property
    def over(self) -> bool:
        """Its worker has ended."""
        return (self.home / "over").exists()

    def workers(self) -> list[psutil.Process]:
        """The worker and its keeper."""
        found = []
        with suppress(psutil.Error):
            for process in psutil.Process(self.process.pid).children(recursive=True):
                with suppress(psutil.Error):
                    if _PROGRAM in process.cmdline()[:3]:
                        found.append(process)
        return found


@dataclass(slots=True)
class Light:
    """All machines of one fake, in `folder`. `gpus` answers the products of a guest's GPUs."""

    folder: Path
    gpus: Callable[[Guest], Sequence[str]] = lambda guest: ()
    _machines: dict[str, dict[int, Machine]] = field(default_factory=dict)

    def close(self) -> None:
        """End all of them."""
        for resource in list(self._machines):
            self.stop(resource, erase=True)

    def one(self, name: str, number: int) -> Machine:
        """A host of the resource of this name."""
        (found,) = [hosts[number] for resource, hosts in self._machines.items() if resource.endswith(f"/{name}")]
        return found

    # What the fake asks for

    def start(self, guest: Guest) -> None:
        home = self.folder / f"{guest.name}-{guest.id}"
        home.mkdir(parents=True)
        metadata, stack, listener = _told(guest), ExitStack(), socket.create_server(("127.0.0.1", 0))
        stack.enter_context(metadata.served(listener))
        environ = {
            "PATH": os.environ["PATH"], "HOME": "/root", "LANG": "C.UTF-8",
            "GCE_METADATA_HOST": f"127.0.0.1:{listener.getsockname()[1]}", GPUS: ",".join(self.gpus(guest)),
        }  # fmt: skip
        worker = [sys.executable, "-m", _PROGRAM, "--on=google", f"--home={home}"]
        with open(home / "worker.log", "wb") as said:
            first = [*_APART, "sh", "-c", _FIRST, str(home), *worker]
            begun = subprocess.Popen(first, env=environ, cwd=_ROOT, stdin=-3, stdout=said, stderr=said)
        self._machines.setdefault(guest.resource, {})[guest.number] = Machine(home, metadata, begun, stack)

    def shut_down(self, resource: str) -> None:
        """Nobody presses its power button."""

    def runs(self, resource: str) -> bool:
        """Nobody waits for its end."""
        return False

    def stop(self, resource: str, *, erase: bool) -> None:
        hosts = self._machines.pop(resource, {}).values()
        for machine in hosts:
            machine.process.kill()
        for machine in hosts:
            machine.process.wait()
            machine.stack.close()

    def notice(self, resource: str, key: str, value: str) -> None:
        for machine in self._machines.get(resource, {}).values():
            machine.metadata.change(**{key: value})

    def attributes(self, resource: str, attributes: Mapping[str, str]) -> None:
        for machine in self._machines.get(resource, {}).values():
            machine.metadata.change(attributes=dict(attributes))

    def output(self, resource: str) -> str:
        return ""


def _told(guest: Guest) -> Metadata:
    more: dict[str, Any] = {"zone": f"projects/1/zones/{guest.zone}"}
    return Metadata(guest.attributes, name=guest.hostname, ip=guest.address, **more)
