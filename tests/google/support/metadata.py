"""A metadata server as Google's machines have one: what is asked for by path, whole or as it changes."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ya29.of-the-machine"
_TOP = "/computeMetadata/v1/"
_LISTED = 3600


class Metadata:
    """What is said of one machine. It may change while it is served. `token` answers the access token of its account."""

    def __init__(
        self,
        attributes: Mapping[str, str],
        *,
        name: str = "n-0",
        ip: str = "127.0.0.1",
        token: Callable[[], str] = lambda: TOKEN,
        **instance: Any,
    ) -> None:
        self._instance: dict[str, Any] = {
            "attributes": dict(attributes),
            "maintenanceEvent": "NONE",
            "name": name,
            "networkInterfaces": [{"ip": ip}],
            "preempted": "FALSE",
            "zone": "projects/1/zones/us-central2-b",
            **instance,
        }
        self._token = token
        self._open = True
        self._changed = threading.Condition()

    def change(self, **fields: Any) -> None:
        """From now on these are so, by their names or as paths have them: `maintenance-event`."""
        with self._changed:
            self._instance |= {_name(field): value for field, value in fields.items()}
            self._changed.notify_all()

    def attributes(self) -> dict[str, str]:
        """All of them."""
        return dict(self._instance["attributes"])

    def attribute(self, name: str) -> str:
        """One of the attributes."""
        return str(self._instance["attributes"][name])

    def answer(self, path: str, query: Mapping[str, str]) -> tuple[int, str, str]:
        """Status, ETag and text of an answer to a path below `/computeMetadata/v1/`; as late as the question wants it."""
        with self._changed:
            text = self._text(path, query)
            if query.get("wait_for_change") == "true" and text is not None:
                seen = query.get("last_etag") or _etag(text)
                limit = float(query.get("timeout_sec", _LISTED))

                def is_new() -> bool:
                    now = self._text(path, query)
                    return not self._open or now is None or _etag(now) != seen

                self._changed.wait_for(is_new, timeout=limit)
                text = self._text(path, query)
        return (404, "0", "") if text is None else (200, _etag(text), text)

    def _text(self, path: str, query: Mapping[str, str]) -> str | None:
        if path == "instance/service-accounts/default/token":
            return json.dumps({"access_token": self._token(), "expires_in": 3599, "token_type": "Bearer"})
        if path == "instance/service-accounts/default/identity":
            return f"identity.for.{query['audience']}" if "audience" in query else None
        found: Any = {"instance": self._instance, "project": {"projectId": self._project(), "numericProjectId": 1}}
        for part in path.strip("/").split("/") if path.strip("/") else []:
            found = _below(found, part)
            if found is None:
                return None
        if isinstance(found, dict | list):
            return json.dumps(found) if query.get("recursive", "").lower() == "true" else _listing(found)
        return str(found)

    def _project(self) -> str:
        return str(self._instance.get("project", "test-project"))

    @contextmanager
    def served(self, listener: socket.socket) -> Iterator[None]:
        """Answer whoever comes to this socket."""
        server = ThreadingHTTPServer(listener.getsockname(), _handler(self), bind_and_activate=False)
        server.socket.close()
        server.socket = listener
        server.daemon_threads = True
        serving = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        serving.start()
        try:
            yield
        finally:
            with self._changed:
                self._open = False
                self._changed.notify_all()
            server.shutdown()
            server.server_close()
            serving.join()
            self._open = True


def _below(found: Any, part: str) -> Any:
    """What is under one part of a path: `maintenance-event` is under the name `maintenanceEvent`."""
    if isinstance(found, list):
        return found[int(part)] if part.isdigit() and int(part) < len(found) else None
    if not isinstance(found, dict):
        return None
    return found.get(part, found.get(_name(part)))


def _name(part: str) -> str:
    return re.sub(r"-(\w)", lambda match: match[1].upper(), part)


def _listing(found: Any) -> str:
    """The names below, one a line; those that have more below end in a slash."""
    pairs = found.items() if isinstance(found, dict) else enumerate(found)
    names = [
        f"{re.sub('([A-Z])', lambda match: '-' + match[1].lower(), str(key))}{'/' if isinstance(value, dict | list) else ''}"
        for key, value in pairs
    ]
    return "".join(f"{name}\n" for name in sorted(names))


def _etag(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _handler(metadata: Metadata) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(url.query).items()}
            status, etag, text = 403, "0", "Missing Metadata-Flavor:Google header.\n"
            if self.headers.get("Metadata-Flavor") == "Google" and "X-Forwarded-For" not in self.headers:
                status, etag, text = 404, "0", ""
                if url.path.startswith(_TOP):
                    status, etag, text = metadata.answer(url.path.removeprefix(_TOP), query)
            elif url.path == "/":
                status, etag, text = 200, "0", "computeMetadata/\n"  # how libraries look whether this is Google's
            with suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Metadata-Flavor", "Google")
                self.send_header("ETag", etag)
                self.send_header("Content-Type", "application/text")
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler
