"""The two stores: a folder, and the real storage server behind a proxy that has weather; both readable from outside."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from tests.chaos.weather import Weather
from tests.support.faultproxy import FaultProxy
from tests.support.servers import gcs_process

BASTION = "chaos"


class Store(Protocol):
    """Where the bucket is. `environ` leads our tools there."""

    url: str
    environ: dict[str, str]
    breaks: bool

    def read(self, key: str) -> bytes:
        """An object of the bastion's, by the back door; empty if there is none."""

    def crash(self, down_s: float) -> None:
        """Kill -9 of the server, and its next start after that time."""

    def stall(self, seconds: float) -> None:
        """The server does nothing for so long."""

    def storm(self) -> None:
        """From now on there is weather."""

    def clear_up(self) -> None:
        """No more faults."""

    def told(self) -> str:
        """What befell requests."""


class Folder:
    """`file://`: no server, no weather."""

    breaks = False

    def __init__(self, home: Path) -> None:
        self._root = home / "bucket"
        self._root.mkdir()
        self.url, self.environ = f"file://{self._root}", dict[str, str]()

    def read(self, key: str) -> bytes:
        return _bytes(self._root / BASTION / key)

    def crash(self, down_s: float) -> None:
        raise NotImplementedError

    stall = crash

    def storm(self) -> None:
        pass

    def clear_up(self) -> None:
        pass

    def told(self) -> str:
        return ""


class Gcs:
    """`gs://`: fake-gcs-server, which keeps its objects in files.

    It writes an object in two steps, which no real store does. So it is killed between two requests, with the answers of
    those that it has just served lost.
    """

    breaks = True

    def __init__(self, home: Path, seed: int, stack: ExitStack) -> None:
        self._home = home
        self._server: ExitStack | None = None
        address = self._start()
        self._weather = Weather(seed)
        self._proxy = stack.enter_context(FaultProxy(address))
        stack.callback(self._end)
        self._name = f"{home.name}-b"  # its own: a bastion's machines are known by its URL
        self.url, self.environ = f"gs://{self._name}", {"STORAGE_EMULATOR_HOST": self._proxy.url}
        body = json.dumps({"name": self._name}).encode()
        make = urllib.request.Request(f"{address}/storage/v1/b?project=p", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(make, timeout=180).close()

    def read(self, key: str) -> bytes:
        return _bytes(self._home / "objects" / self._name / BASTION / key)

    def crash(self, down_s: float) -> None:
        with self._proxy.gate.shut():
            self._end()
        time.sleep(down_s)
        self._proxy.target = self._start().removeprefix("http://")

    def stall(self, seconds: float) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(self._process.pid, signal.SIGCONT)

    def storm(self) -> None:
        self._proxy.weather = self._weather

    def clear_up(self) -> None:
        self._proxy.weather = lambda _: None

    def told(self) -> str:
        fell = ", ".join(f"{number} {name}" for name, number in sorted(self._weather.fell.items()))
        return f"{len(self._proxy.requests):,} requests, of which {fell}"

    def _start(self) -> str:
        self._server = ExitStack()
        address, self._process = self._server.enter_context(gcs_process(self._home, "filesystem"))
        return address

    def _end(self) -> None:
        if self._server is not None:
            self._process.kill()
            self._server.close()
            self._server = None


@contextmanager
def opened(kind: str, home: Path, seed: int) -> Iterator[Store]:
    """A fresh store of this kind, until it is no longer needed."""
    with ExitStack() as stack:
        yield Gcs(home, seed, stack) if kind == "gcs" else Folder(home)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
