"""Secrets of Google's Secret Manager, against a small server that answers as the documentation says."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import google_crc32c
import pytest
from google.auth.transport.requests import AuthorizedSession
from google.oauth2.credentials import Credentials

from bastion.model.errors import SecretError
from bastion.runners.google.machines.google_secrets import GoogleSecrets, default_session
from bastion.runners.worker.linux.secret_files import VALUE_MAX
from bastion.runners.worker.secrets import MachineSecrets

NAME = "projects/acme-ml/secrets/HF_TOKEN"
VALUE = "hf-0Kz9Qw7LmN3xYv5T"


def answer(value: bytes, **changes: str) -> bytes:
    """As `projects.secrets.versions.access` answers."""
    payload = {"data": base64.b64encode(value).decode(), "dataCrc32c": str(google_crc32c.value(value))} | changes
    return json.dumps({"name": "projects/77/secrets/HF_TOKEN/versions/3", "payload": payload}).encode()


class Manager(ThreadingHTTPServer):
    """Gives out tokens, and what `says` holds for a path: answers in turn, the last one for ever."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.says: dict[str, list[tuple[int, bytes]]] = {}
        self.asked: list[tuple[str, str]] = []
        self.tokens = (200, json.dumps({"access_token": "t0ken", "expires_in": 3600, "token_type": "Bearer"}).encode())
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.slept: list[float] = []

    def secrets(self) -> GoogleSecrets:
        who: Any = Credentials
        mine = who(None, refresh_token="r", token_uri=f"{self.url}/token", client_id="c", client_secret="s")
        session: Any = AuthorizedSession
        return GoogleSecrets(lambda: session(mine), self.url, self.slept.append)

    def reveal(self, name: str = NAME) -> str:
        return self.secrets().reveal(name, user="ada", project="nlp")


class _Handler(BaseHTTPRequestHandler):
    server: Manager

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(*self.server.tokens)

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers["Authorization"]))
        said = self.server.says.get(self.path, [(404, b'{"error": {"code": 404}}')])
        self._answer(*(said.pop(0) if len(said) > 1 else said[0]))

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Location", "/elsewhere")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def manager() -> Iterator[Manager]:
    with Manager() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


LATEST = f"/v1/{NAME}/versions/latest:access"


def test_the_latest_version_is_asked_for_with_the_accounts_token(manager: Manager) -> None:
    manager.says[LATEST] = [(200, answer(f"{VALUE}\n".encode()))]
    assert manager.reveal() == VALUE
    assert manager.asked == [(LATEST, "Bearer t0ken")]


def test_a_version_that_is_named_is_that_one(manager: Manager) -> None:
    manager.says[f"/v1/{NAME}/versions/3:access"] = [(200, answer(b"of old, and long"))]
    assert manager.reveal(f"{NAME}/versions/3") == "of old, and long"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (401, "check them with bastion auth"),
        (403, "roles/secretmanager.secretAccessor on this secret"),
        (404, "there is no such secret or version"),
        (302, "try again later"),
        (503, "try again later"),
    ],
)
def test_what_it_refuses_is_said_with_what_to_do_and_without_its_words(
    manager: Manager, code: int, advice: str
) -> None:
    manager.says[LATEST] = [(code, answer(VALUE.encode()))]
    with pytest.raises(SecretError) as caught:
        manager.reveal()
    said = str(caught.value)
    assert said.startswith(f"secret {NAME} cannot be read from Google's Secret Manager (HTTP {code}): ")
    assert advice in said
    assert VALUE not in said
    assert "\n" not in said
    assert "/elsewhere" not in [path for path, _ in manager.asked]


def test_what_passes_by_itself_is_waited_for(manager: Manager) -> None:
    manager.says[LATEST] = [(503, b""), (429, b""), (200, answer(VALUE.encode()))]
    assert manager.reveal() == VALUE
    assert manager.slept == [1.0, 2.0]


def test_where_nobody_answers_it_is_said_after_some_tries(manager: Manager) -> None:
    who: Any = Credentials
    session: Any = AuthorizedSession
    nobody = GoogleSecrets(lambda: session(who("t")), "http://127.0.0.1:9", manager.slept.append)
    with pytest.raises(SecretError, match="HTTP 503"):
        nobody.reveal(NAME, user="ada", project="nlp")
    assert manager.slept == [1.0, 2.0, 4.0]


def test_credentials_that_are_not_taken_are_named_and_not_shown(manager: Manager) -> None:
    manager.tokens = 400, b'{"error": "invalid_grant", "error_description": "s3cret"}'
    with pytest.raises(SecretError, match="Google rejects the credentials of this machine") as caught:
        manager.reveal()
    assert "s3cret" not in str(caught.value)


def test_a_machine_without_credentials_says_so(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/none/of/ours.json")
    with pytest.raises(SecretError, match="no credentials of Google"):
        default_session()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (answer(VALUE.encode(), dataCrc32c="1"), "arrived damaged"),
        (answer(VALUE.encode(), data=base64.b64encode(b"another value").decode()), "arrived damaged"),
        (answer(VALUE.encode(), dataCrc32c="x"), "is not valid"),
        (answer(VALUE.encode(), data="!!"), "is not valid"),
        (b'{"payload": {"data": "aGVsbG8="}}', "is not valid"),
        (b'{"payload": []}', "is not valid"),
        (b"[" * 90_000, "is not valid"),
        (b"\xff", "is not valid"),
        (answer(b"x" * 300_000), "is not valid"),
        (answer(b"x" * (VALUE_MAX + 2)), "longer than"),
        (answer(b""), "is empty"),
        (answer(b"a\0b"), "holds a NUL"),
    ],
)
def test_an_answer_that_is_not_the_secret_is_refused_and_not_shown(
    manager: Manager, body: bytes, complaint: str
) -> None:
    manager.says[LATEST] = [(200, body)]
    with pytest.raises(SecretError, match=complaint) as caught:
        manager.reveal()
    assert NAME in str(caught.value)
    assert VALUE not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_each_kind_of_name_goes_to_who_keeps_it() -> None:
    def source(of: str) -> Any:
        class Source:
            reveal: Callable[..., str] = staticmethod(lambda name, *, user, project: f"{of}:{name}:{user}:{project}")

        return Source()

    kept = MachineSecrets(source("own"), source("google"))
    assert kept.reveal("TOKEN", user="ada", project="nlp") == "own:TOKEN:ada:nlp"
    assert kept.reveal(NAME, user="ada", project="nlp") == f"google:{NAME}:ada:nlp"
