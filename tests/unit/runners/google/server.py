"""A real HTTP server that answers what a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, Any] | None
"""A status and a body (JSON, or bytes); None: the connection is cut without an answer."""


@dataclass
class Asked:
    verb: str
    path: str
    body: Any
    headers: dict[str, str]


@dataclass
class Scripted:
    """Answers come from `replies`, one after the other; when they are used up, from `always`."""

    replies: list[Reply] = field(default_factory=list)
    always: Callable[[Asked], Reply] = lambda asked: (200, {})
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        return self.replies.pop(0) if self.replies else self.always(asked)


@contextmanager
def serving() -> Iterator[Scripted]:
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer leaves as one piece

        def _any(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            body = json.loads(data) if data and "json" in self.headers.get("content-type", "") else data
            reply = script.answer(Asked(self.command, self.path, body, dict(self.headers)))
            if reply is None:
                self.close_connection = True
                return
            out = reply[1] if isinstance(reply[1], bytes) else json.dumps(reply[1]).encode()
            self.send_response(reply[0])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(out)))
            self.end_headers()
            self.wfile.write(out)

        do_GET = do_POST = do_DELETE = _any  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        script.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()
