"""Google's own client, led to the fake: the tests of the fake itself ask with it."""

from __future__ import annotations

import json
from typing import Any

import google.auth.credentials
import google_auth_httplib2
import httplib2
from googleapiclient.discovery import build_from_document
from googleapiclient.http import HttpRequest

from tests.google.fake import Fake
from tests.google.fake.discovery import document


def client(fake: Fake, service: str, *, account: str = "", token: str = "") -> Any:
    """A service's client, made from the document that the library ships. Without a token it is anonymous."""
    credentials: Any = google.auth.credentials.AnonymousCredentials()

    class Told(google.auth.credentials.Credentials):  # type: ignore[misc]
        def refresh(self, request: Any) -> None: ...

        def apply(self, headers: dict[str, str], token: str | None = None) -> None:
            headers["authorization"] = f"Bearer {self.token}"

    if token:
        credentials = Told()
        credentials.token = token
    http = google_auth_httplib2.AuthorizedHttp(credentials, http=httplib2.Http(timeout=180))
    return build_from_document(
        json.dumps(document(service)),  # as a text: the library writes into what it is given
        http=http,
        client_options={"api_endpoint": fake.endpoint(service, account)},
    )


def ask(request: HttpRequest) -> dict[str, Any]:
    """The answer, without retries."""
    answer: dict[str, Any] = request.execute(num_retries=0)
    return answer
