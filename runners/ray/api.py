"""The interface to Ray's dashboard: plain HTTP, so that no version of Ray must be installed beside the bastion."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from bastion.model.errors import RunnerError

LIMIT_S = 20.0
ANSWER_MAX = 64 * 1024 * 1024
"""The most bytes of an answer: a listing of some 50,000 jobs."""

_TAG = re.compile(r"<[^<>]*>")


@dataclass(frozen=True, slots=True)
class DashboardAnswer:
    """An answer of the dashboard.

    status: the HTTP status.
    data: the body.
    """

    status: int
    data: bytes

    @property
    def words(self) -> str:
        """The last line of the text, where a traceback ends; of a web page the first line, its title."""
        text = self.data[-4000:].decode(errors="replace")
        page = text.lstrip().startswith("<")
        lines = [line for line in (_TAG.sub(" ", text) if page else text).splitlines() if line.strip(" .")]
        return " ".join((lines or [""])[0 if page else -1].split())[-300:]


class Dashboard(Protocol):
    """An interface that answers requests to Ray's dashboard."""

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> DashboardAnswer:
        """Send one request and return the answer. Raises `RunnerError` if there is no complete answer."""


@dataclass(frozen=True, slots=True)
class HttpDashboard:
    """The dashboard at an address, over HTTP.

    address: its URL.
    token_file: the file with a token if Ray needs one; "" for none.
    """

    address: str
    token_file: str = ""

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> DashboardAnswer:
        """Send one request. Raises `RunnerError` if there is no complete answer within `LIMIT_S`."""
        url = urlsplit(self.address)
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = kind(url.hostname or "", url.port, timeout=LIMIT_S)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(verb, f"{url.path.rstrip('/')}{path}", sent, self._headers())
            answer = connection.getresponse()
            data = answer.read(ANSWER_MAX + 1)
            if answer.length and len(data) <= ANSWER_MAX:
                raise IncompleteRead(data, answer.length)
        except (OSError, HTTPException) as error:
            raise RunnerError(f"Ray does not answer at {self.address}: {error or repr(error)}") from error
        finally:
            connection.close()
        if len(data) > ANSWER_MAX:
            raise RunnerError(f"Ray's answer to {verb} {path} is over {ANSWER_MAX} bytes; delete old jobs in Ray")
        return DashboardAnswer(answer.status, data)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self.token_file:
            try:
                token = Path(self.token_file).expanduser().read_text(encoding="ascii").strip()
            except (OSError, ValueError) as error:
                raise RunnerError(f"cannot read the token for Ray, token_file {self.token_file}: {error}") from error
            headers["Authorization"] = f"Bearer {token}"
        return headers
