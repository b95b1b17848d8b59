"""The way to run a job's process in a container, by the API of the machine's own Docker engine.

No program of Docker is started: a worker waits for all its children, and all of them must be the user's.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

from bastion.model.errors import BundleError

from .bounds import Bounds, BrokenBound

SOCKET = "/var/run/docker.sock"
_CALL_S, _PULL_S = 30.0, 900.0
_LOOK_S = 60.0
_CHUNK = 64 * 1024
_HEAD = 8
_CREATED, _DONE = 201, 204
_FULL = "no space left on device"
_NOT_FOUND = ("executable file not found", "no such file or directory")

Login = Callable[[str], Mapping[str, str] | None]
"""A function that returns, for a registry's host, the login in the form of Docker's API; None if there is none."""


class EngineRefused(OSError):
    """The engine refused a request; the text holds its own words."""


class Engine:
    """The engine behind a socket, for the one container of a worker.

    The address is the socket's path, or `unix://` and the path. `name` is the container's. Safe for threads.
    """

    def __init__(self, address: str, name: str, login: Login) -> None:
        self._path = address.removeprefix("unix://")
        self._name = name
        self._login = login

    def pull(self, image: str) -> None:
        """Pull an image, `host/name@sha256:…`. Raises `BundleError`; `OSError` if the disk has no room for it."""
        what = f"cannot pull image {image}"
        try:
            login = self._login(image.partition("/")[0])
            headers = (
                {"X-Registry-Auth": base64.urlsafe_b64encode(json.dumps(login).encode()).decode()} if login else {}
            )
            with self.asked("POST", f"/images/create?{urlencode({'fromImage': image})}", headers=headers) as answer:
                _check(answer, what)
                for line in answer:
                    _check_line(line, what)
        except EngineRefused as refused:
            raise BundleError(f"{refused}; is it there, and may this machine read it?") from refused
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            advice = "ask an admin to install Docker, or launch the code as a tar bundle"
            raise BundleError(
                f"{what}: no Docker engine answers at {self._path} of the machine: {error}; {advice}"
            ) from error

    def run(self, wanted: Mapping[str, Any], output: int, bounds: Bounds) -> Container:
        """Run the container in place of any other of its name, with its output in a file. Raises `OSError`.

        The engine keeps the container within the `bounds`.
        """
        self.remove()
        self.ask("POST", f"/containers/create?{urlencode({'name': self._name})}", wanted, _CREATED)
        try:
            return Container(self, self._name, output, bounds)
        except OSError as error:
            self.remove()
            if isinstance(error, EngineRefused) and any(words in str(error) for words in _NOT_FOUND):
                raise FileNotFoundError(errno.ENOENT, str(error)) from error
            raise

    def remove(self) -> None:
        """Kill the container and remove it. Best effort."""
        with suppress(OSError):
            self.ask("DELETE", f"/containers/{quote(self._name)}?force=true&v=true", None, _DONE)

    def ask(
        self, verb: str, path: str, body: Mapping[str, Any] | None, expected: int, limit_s: float | None = _CALL_S
    ) -> Any:
        """Return the JSON of an answer.

        Raises `OSError` with the engine's words if the status is not the expected one.
        """
        with self.asked(verb, path, body, limit_s=limit_s) as answer:
            _check(answer, f"Docker cannot {verb.lower()} {path.partition('?')[0]}", expected)
            return json.loads(answer.read() or b"null")

    @contextmanager
    def asked(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        limit_s: float | None = _PULL_S,
    ) -> Iterator[HTTPResponse]:
        """Send a request; the answer is to be read by the caller. Silence of `limit_s` seconds is an `OSError`."""
        connection = _Local(self._path, limit_s)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(verb, path, sent, {"Content-Type": "application/json", **(headers or {})})
            yield connection.getresponse()
        except HTTPException as error:
            raise OSError(f"the Docker engine at {self._path} does not answer: {error!r}") from error
        finally:
            connection.close()


class Container:
    """A started container. The worker uses it as a `Process`."""

    def __init__(self, engine: Engine, name: str, output: int, bounds: Bounds) -> None:
        self.guard = _Told(self, bounds) if bounds.memory else None
        self._engine, self._output = engine, output
        self._path = f"/containers/{quote(name)}"
        self._out_of_memory = False
        self._ended = False
        with ExitStack() as stack:
            attach = f"{self._path}/attach?stream=1&stdout=1&stderr=1"
            self._stream = stack.enter_context(engine.asked("POST", attach, limit_s=None))
            engine.ask("POST", f"{self._path}/start", None, _DONE)
            self._connection = stack.pop_all()

    def pid(self) -> int:
        """Return the number of its first process on the engine's machine; 0 if that is unknown. Best effort."""
        with suppress(OSError, LookupError, TypeError, ValueError):
            return int(self._engine.ask("GET", f"{self._path}/json", None, 200)["State"]["Pid"])
        return 0

    def wait(self) -> int:
        """Copy its output as long as there is any. Return its exit code when it has ended."""
        with self._connection:
            # each piece of the stream has a head; its last four bytes are the size of the piece
            while len(head := self._stream.read(_HEAD)) == _HEAD:
                self._copy(int.from_bytes(head[4:]))
        code: int = self._engine.ask("POST", f"{self._path}/wait", None, 200, limit_s=None)["StatusCode"]
        state = self._engine.ask("GET", f"{self._path}/json", None, 200)["State"]
        self._out_of_memory, self._ended = bool(state.get("OOMKilled")), True
        return code & 0xFF

    def wait_rest(self) -> None:
        """Remove the container: when its first process has ended, nothing of it is left."""
        self._engine.remove()

    def alive(self) -> bool:
        """Return True until it has ended."""
        return not self._ended

    def signal(self, number: int) -> None:
        """Signal its first process, which passes it on. Best effort: the container may have ended."""
        with suppress(OSError):
            self._engine.ask("POST", f"{self._path}/kill?signal={number:d}", None, _DONE)

    def out_of_memory(self) -> bool:
        """Return True if the kernel ended one of its processes for lack of memory."""
        return self._out_of_memory

    def _copy(self, size: int) -> None:
        while size:
            data = self._stream.read1(min(size, _CHUNK))
            if not data:
                return
            size -= len(data)
            while data:
                data = data[os.write(self._output, data) :]


class _Told:
    """A guard that learns of a broken bound from the engine, at the end."""

    def __init__(self, container: Container, bounds: Bounds) -> None:
        self._container, self._bounds = container, bounds

    def look(self) -> BrokenBound | None:
        """Return the bound that was broken; None until that is clear."""
        return self._bounds.too_much() if self._container.out_of_memory() else None

    def watch(self) -> BrokenBound | None:
        """Look once: there is nothing to wait for."""
        return self.look()

    def period(self) -> float:
        """Return a long period, because only the last look counts."""
        return _LOOK_S


class _Local(HTTPConnection):
    """HTTP over a Unix socket of this machine."""

    def __init__(self, path: str, limit_s: float | None) -> None:
        super().__init__("docker", timeout=limit_s)
        self._path, self._limit_s = path, limit_s

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self._limit_s)
        self.sock.connect(self._path)


def _check(answer: HTTPResponse, what: str, expected: int = 200) -> None:
    if answer.status != expected:
        try:
            words = str(json.loads(answer.read(_CHUNK))["message"])
        except (ValueError, LookupError, TypeError):
            words = f"{answer.status} {answer.reason}"
        raise _failed(what, words)


def _check_line(line: bytes, what: str) -> None:
    """Raise the error that a line of progress may report."""
    try:
        said = json.loads(line)
    except ValueError:
        return
    if isinstance(said, dict) and "error" in said:
        raise _failed(what, str(said["error"]))


def _failed(what: str, words: str) -> OSError:
    if _FULL in words:
        return OSError(errno.ENOSPC, f"{what}: {words}")
    return EngineRefused(f"{what}: {' '.join(words.split())[:500]}")
