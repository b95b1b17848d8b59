"""A small HTTP proxy in front of a server that does to requests what networks and stores do."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class Harm(Enum):
    """What happens to one request."""

    LOSE_REQUEST = "the connection is cut, the server has seen nothing"
    LOSE_ANSWER = "the server has done it, the connection is cut before the answer"
    CUT_ANSWER = "half of the answer's body arrives"
    HANG = "no answer, for longer than anybody waits"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The proxy answers with this status itself; the server has seen nothing."""

    status: int
    message: str = "injected"


_OUR_OWN = ("connection", "expect")
"""Headers that speak of one connection."""


def google(refusal: Refuse) -> bytes:
    """How Google's API says it."""
    return json.dumps({"error": {"code": refusal.status, "message": refusal.message}}).encode()


def s3(refusal: Refuse) -> bytes:
    """How S3 says it."""
    code = {403: "AccessDenied", 409: "ConditionalRequestConflict", 503: "SlowDown"}.get(refusal.status, "Injected")
    return f"<Error><Code>{code}</Code><Message>{refusal.message}</Message></Error>".encode()


class Gate:
    """The way to the server. While it is shut nobody enters, and whoever was inside has left."""

    def __init__(self) -> None:
        self.is_shut = False
        self._turn = threading.Condition()
        self._inside = 0

    @contextmanager
    def through(self) -> Iterator[None]:
        """Be inside, once it is open."""
        with self._turn:
            self._turn.wait_for(lambda: not self.is_shut)
            self._inside += 1
        try:
            yield
        finally:
            with self._turn:
                self._inside -= 1
                self._turn.notify_all()

    @contextmanager
    def shut(self) -> Iterator[None]:
        """Keep it shut."""
        with self._turn:
            self.is_shut = True
            self._turn.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._turn:
                self.is_shut = False
                self._turn.notify_all()


class FaultProxy:
    """Forwards to `target`. Each request takes the next of `faults`, if any is left, or else `always`, if set, or else
    what the `weather` has for it.

    While the `gate` is shut no request reaches the server; of those that were there the answers are lost. A refusal is
    put into words by `saying`. `only` says which requests, by method and path, may be harmed at all.
    """

    def __init__(
        self,
        target: str,
        saying: Callable[[Refuse], bytes] = google,
        only: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self.target = urlsplit(target).netloc
        self.saying = saying
        self.only = only
        self.faults: deque[Harm | Refuse] = deque()
        self.always: Harm | Refuse | None = None
        self.weather: Callable[[str], Harm | Refuse | None] = lambda _: None
        self.gate = Gate()
        self.requests: list[str] = []
        self.over = threading.Event()
        self.open: set[socket.socket] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        for connection in tuple(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def fault(self, request: str) -> Harm | Refuse | None:
        """Note a request; what is to happen to it."""
        self.requests.append(request)
        if not self.only(request):
            return None
        return self.faults.popleft() if self.faults else self.always or self.weather(request)


def _handler(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            proxy.open.add(self.connection)

        def finish(self) -> None:
            proxy.open.discard(self.connection)
            with suppress(ConnectionError):
                super().finish()

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        def handle_expect_100(self) -> bool:
            super().handle_expect_100()
            self.wfile.flush()
            return True

        def _forward(self) -> None:
            size = int(self.headers.get("Content-Length", 0))
            body = self.rfile.read(size)
            if len(body) < size:  # its sender fell: the server would wait for the rest
                self._cut()
                return
            fault = proxy.fault(f"{self.command} {self.path}")
            if isinstance(fault, Refuse):
                text = proxy.saying(fault)
                kind = "application/json" if text.startswith(b"{") else "application/xml"
                self._answer(fault.status, [("Content-Type", kind)], text, len(text))
            elif fault is Harm.LOSE_REQUEST:
                self._cut()
            elif fault is Harm.HANG:
                proxy.over.wait(120)
                self._cut()
            else:
                with proxy.gate.through():
                    answer, said = self._ask(body)
                    lost = fault is Harm.LOSE_ANSWER or proxy.gate.is_shut
                self._pass_on(answer, said, cut=fault is Harm.CUT_ANSWER) if not lost else self._cut()

        def _ask(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _OUR_OWN}
            server = http.client.HTTPConnection(proxy.target, timeout=120)
            try:
                server.request(self.command, self.path, body, {**headers, "Host": proxy.target})
                answer = server.getresponse()
                return answer, answer.read()
            except http.client.HTTPException as error:
                raise ConnectionError("the server broke off") from error
            finally:
                server.close()

        def _pass_on(self, answer: http.client.HTTPResponse, said: bytes, *, cut: bool) -> None:
            kept = [(n, v) for n, v in answer.getheaders() if n.lower() not in ("content-length", "transfer-encoding")]
            self._answer(answer.status, kept, said[: len(said) // 2] if cut else said, len(said))
            if cut:
                self._cut()

        def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes, size: int) -> None:
            self.send_response_only(status)
            for name, value in [*headers, ("Content-Length", str(size))]:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _cut(self) -> None:
            self.close_connection = True
            with suppress(OSError):  # it was the other side that hung up
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

        do_GET = do_POST = do_PUT = do_DELETE = _forward  # noqa: N815

    return Handler
