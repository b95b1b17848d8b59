"""Secrets from Google's Secret Manager, read with the rights of the machine's account.

They are read over its REST interface, because Google's package for it is heavy; google-auth and requests are already
there for the buckets.
"""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Callable
from typing import Any

from bastion.model.errors import SecretError

from ...worker.linux.secret_files import checked
from ..api.failures import short
from ..api.login import default_credentials

ENDPOINT = "https://secretmanager.googleapis.com"
_ANSWER_MAX = 256 * 1024
_TIMEOUT_S = 20.0
_TRIES, _PAUSE_S = 4, 1.0
_ADVICE = {
    401: "Google rejects the credentials of this machine; check them with bastion auth",
    403: "this machine's account may not; grant it roles/secretmanager.secretAccessor on this secret, or enable the API",
    404: "there is no such secret or version; create it, or correct the name",
}
_AGAIN = frozenset({429, 500, 502, 503, 504})


def default_session() -> Any:
    """Return a session with the machine's own credentials. Raises `SecretError`."""
    from google.auth.exceptions import GoogleAuthError
    from google.auth.transport.requests import AuthorizedSession

    try:
        found, _ = default_credentials()
    except GoogleAuthError as error:
        raise SecretError(f"this machine has no credentials of Google: {short(error)}") from error
    return AuthorizedSession(found)  # type: ignore[no-untyped-call]


class GoogleSecrets:
    """All secrets that the account may read. `session` opens a session, and is called anew for each secret."""

    def __init__(
        self,
        session: Callable[[], Any] = default_session,
        endpoint: str = ENDPOINT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._session, self._endpoint, self._sleep = session, endpoint, sleep

    def reveal(self, name: str, *, user: str, project: str) -> str:
        """Return a secret as text, in the version that its name gives, or the latest. Raises `SecretError`."""
        place = name if "/versions/" in name else f"{name}/versions/latest"
        session = self._session()
        with session:
            for left in reversed(range(_TRIES)):
                code, answer = self._ask(session, place, name)
                if code not in _AGAIN or not left:
                    break
                self._sleep(_PAUSE_S * 2 ** (_TRIES - 1 - left))
        if code != 200:
            said = _ADVICE.get(code, "try again later, or ask the admin of the machine")
            raise SecretError(f"secret {name} cannot be read from Google's Secret Manager (HTTP {code}): {said}")
        return checked(_payload(answer, name), name, "Google's Secret Manager")

    def _ask(self, session: Any, place: str, name: str) -> tuple[int, bytes]:
        """Return the HTTP status and the body. A server that does not answer counts as 503."""
        from google.auth.exceptions import GoogleAuthError
        from requests.exceptions import RequestException
        from urllib3.exceptions import HTTPError

        url = f"{self._endpoint}/v1/{place}:access"
        try:
            with session.get(url, timeout=_TIMEOUT_S, stream=True, allow_redirects=False) as answer:
                return answer.status_code, answer.raw.read(_ANSWER_MAX, decode_content=True)
        except GoogleAuthError as error:
            if getattr(error, "retryable", False):
                return 503, b""
            raise SecretError(
                f"secret {name} cannot be read: Google rejects the credentials of this machine; check them with bastion auth"
            ) from error
        except (RequestException, HTTPError):
            return 503, b""


def _payload(answer: bytes, name: str) -> bytes:
    """Return the bytes of the secret, once its checksum is verified. No error repeats any part of the answer."""
    import google_crc32c

    try:
        payload = json.loads(answer)["payload"]
        data = base64.b64decode(payload["data"], validate=True)
        crc = int(payload["dataCrc32c"])
    except (ValueError, TypeError, KeyError, RecursionError, binascii.Error):
        raise SecretError(f"secret {name}: the answer of Google's Secret Manager is not valid; try again") from None
    if google_crc32c.value(data) != crc:
        raise SecretError(f"secret {name} arrived damaged from Google's Secret Manager (CRC32C); try again") from None
    return data
