"""HTTP over a fake cluster."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler
from typing import Protocol

from tests.kubernetes.fake.store import Problem, Row


class Cluster(Protocol):
    """Whoever answers."""

    logins: set[str]

    def answer(self, method: str, target: str, body: Row | None, login: str = "") -> Row | str: ...


def handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size)) if size else None
            cluster.logins.add(self.headers.get("Authorization", ""))
            try:
                said = cluster.answer(self.command, self.path, body, self.headers.get("Authorization", ""))
                self._say(200 if self.command != "POST" else 201, said, {})
            except Problem as problem:
                told = {"kind": "Status", "status": "Failure", "reason": problem.reason, "message": problem.message}
                self._say(problem.code, told | {"code": problem.code}, problem.headers)
            except ConnectionAbortedError:
                self.close_connection = True

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815

        def _say(self, code: int, body: Row | str, headers: dict[str, str]) -> None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler
