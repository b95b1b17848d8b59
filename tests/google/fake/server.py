"""The HTTP server: one port of the loopback for all services."""

from __future__ import annotations

import json
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from tests.google.fake.desk import CutError, Desk, Request

_LARGEST = 8 << 20


class Server:
    """Serves a desk on a free port."""

    def __init__(self, desk: Desk) -> None:
        handler = type("Handler", (_Handler,), {"desk": desk})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.port: int = self._http.server_address[1]
        self._thread = Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    desk: Desk
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    def _serve(self) -> None:
        split = urlsplit(self.path)
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), _LARGEST))
        verb = self.command
        query = split.query
        if override := self.headers.get("X-HTTP-Method-Override"):
            verb, query, body = override, body.decode(), b""  # how Google's client sends a URL that is too long
        token = self.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        request = Request(verb, split.path, parse_qs(query, keep_blank_values=True), body, token)
        try:
            code, answer = self.desk.answer(request)
        except CutError:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        said = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests ask `Fake.calls`."""
