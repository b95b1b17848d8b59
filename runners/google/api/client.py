"""The real door to Google's APIs: google-api-python-client on the discovery documents that it ships.

Everything heavy is imported when the first call is made.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.model.interfaces import Clock, Ids
from bastion.stores.retries import ask

from . import failures, rate
from .interface import Answer, GoogleError, NoLogin, TooMany
from .login import default_credentials
from .service_descriptions import Service, service

PAGES_MAX = 10_000
_CONNECTIONS = 32


class GoogleApi:
    """All calls to Google's APIs for one project, as a `Google`. Safe for threads.

    A call waits at most `patience_s` seconds for its turn within our share of requests a minute, then it raises `TooMany`.
    What fails for the moment is asked again for `limit_s` seconds, each request may be silent for `request_s`.
    `login` answers google-auth's credentials; if it is not given, the application default ones, and none at `http://`.
    """

    def __init__(
        self,
        project: str,
        clock: Clock,
        ids: Ids,
        *,
        patience_s: float = 60.0,
        limit_s: float = 60.0,
        request_s: float = 20.0,
        login: Callable[[], Any] | None = None,
    ) -> None:
        self.project = project
        self._clock, self._ids = clock, ids
        self._patience_s, self._limit_s, self._request_s = patience_s, limit_s, request_s
        self._login = login or _default_login
        self._lock = threading.Lock()
        self._services: dict[str, Service] = {}
        self._tokens: dict[tuple[str, str], rate.Tokens] = {}
        self._credentials: Any = None
        self._sessions: dict[str, Any] = {}

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """One call, by the id of its discovery document. Raises `GoogleError`, and its kinds."""
        called = self._service(method.split(".", 1)[0])
        described = called.method(method)
        if "requestId" in described.get("parameters", {}):
            parameters.setdefault("requestId", str(uuid.UUID(self._ids.new())))
        request, what = called.request(method, parameters), _what(method, parameters)
        safe = _repeatable(described, method, parameters)

        def send() -> Answer:
            self._take_turn(method, what)
            return self._send(called, method, request, what)

        return ask(send, lambda error: _passes(error, safe), self._limit_s)

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """The items of all pages. Raises as `call`, and `GoogleError` if a part could not be asked."""
        token = ""
        for _ in range(PAGES_MAX):
            page = self.call(method, **parameters, **({"pageToken": token} if token else {}))
            unread = [*page.get("unreachable", []), *page.get("unreachables", [])]
            if unread:
                said = "is all of it" if not token else "of it"
                raise _Passing(
                    f"{_what(method, parameters)}: {', '.join(map(str, unread))} did not answer; what {said} is not known"
                )
            found = page.get(items, [])
            yield from found.items() if isinstance(found, dict) else found
            token, before = page.get("nextPageToken", ""), token
            if not token or token == before:
                return

    def rest(self, seconds: float) -> None:
        """Let time pass between two questions about the same."""
        self._clock.sleep(seconds)

    def who(self) -> str:
        """The account whose rights are in force, as far as its credentials tell; empty if they do not."""
        credentials = self._credentials
        for name in ("service_account_email", "signer_email", "account"):
            found = getattr(credentials, name, "")
            if isinstance(found, str) and "@" in found:
                return found
        return ""

    def _take_turn(self, method: str, what: str) -> None:
        """Wait until our share of requests a minute allows one more."""
        name = rate.group(method)
        quota = rate.PER_MINUTE.get(name, rate.OTHERS)
        with self._lock:
            now = self._clock.monotonic()
            before = self._tokens.get(name) or rate.full(quota, now)
            after, wait = rate.take(before, quota, now)
            if wait > self._patience_s:
                raise TooMany(
                    f"{what}: {quota} requests a minute are Google's limit; in {wait:.0f} s it is this one's turn"
                )
            self._tokens[name] = after
        if wait > 0:
            self._clock.sleep(wait)

    def _send(self, service: Service, method: str, request: Any, what: str) -> Answer:
        """One request, sent once. Raises `GoogleError`; a `_Passing` one if asking again may help."""
        from google.auth.exceptions import GoogleAuthError
        from googleapiclient.errors import HttpError
        from requests.exceptions import RequestException

        try:
            answer = request.execute(http=_Transport(self._session(service), self._request_s), num_retries=0)
        except HttpError as error:
            refusal = failures.of_http(int(error.resp.status), error.content)
            failed = failures.failure(refusal, what, who=self.who(), project=self.project)
            if isinstance(failed, NoLogin):
                self._forget_login()
            if isinstance(failed, TooMany):
                self._spend(method)
                raise _Throttled(str(failed)) from error
            raise _Passing(str(failed)) if refusal.passes else failed from error
        except GoogleAuthError as error:
            if getattr(error, "retryable", False):
                raise _Refused(f"{what}: cannot log in: {failures.short(error)}") from error
            who = self.who()
            self._forget_login()
            raise failures.login_failure(what, failures.short(error), who) from error
        except (RequestException, OSError, ValueError) as error:
            kind = _Refused if _unheard(error) else _Passing
            raise kind(f"{what}: {service.endpoint} gave no answer: {failures.short(error)}") from error
        return answer if isinstance(answer, dict) else {}

    def _spend(self, method: str) -> None:
        """Others ask for this project, too, and have used up what we thought was ours."""
        name = rate.group(method)
        with self._lock:
            self._tokens[name] = rate.Tokens(min(0.0, self._tokens[name].level), self._clock.monotonic())

    def _service(self, name: str) -> Service:
        with self._lock:
            if name not in self._services:
                self._services[name] = service(name)
            return self._services[name]

    def _session(self, service: Service) -> Any:
        """Connections to Google, logged in where that is wanted."""
        from google.auth.transport.requests import AuthorizedSession
        from requests import Session
        from requests.adapters import HTTPAdapter

        anonymous = service.endpoint.startswith("http://") and self._login is _default_login
        with self._lock:
            if not anonymous and self._credentials is None:
                self._credentials = self._login()
            if ("plain" if anonymous else "mine") not in self._sessions:
                session = Session() if anonymous else AuthorizedSession(self._credentials)  # type: ignore[no-untyped-call]
                for scheme in ("https://", "http://"):
                    session.mount(scheme, HTTPAdapter(pool_maxsize=_CONNECTIONS))
                session.trust_env = not anonymous
                self._sessions["plain" if anonymous else "mine"] = session
            return self._sessions["plain" if anonymous else "mine"]

    def _forget_login(self) -> None:
        """The next call looks for credentials anew: somebody may have logged in."""
        with self._lock:
            self._credentials = None
            session = self._sessions.pop("mine", None)
        if session is not None:
            session.close()


@dataclass(frozen=True, slots=True)
class _Transport:
    """What the library calls its `http`, on requests: it sends each request once, where httplib2 may do so twice."""

    session: Any
    request_s: float

    def request(
        self, uri: str, method: str = "GET", body: Any = None, headers: Any = None, **_: Any
    ) -> tuple[Any, bytes]:
        """Status and headers, and the body."""
        from httplib2 import Response

        answer = self.session.request(
            method, uri, data=body, headers=headers, timeout=self.request_s, allow_redirects=False
        )
        told = Response(
            {**{name.lower(): value for name, value in answer.headers.items()}, "status": answer.status_code}
        )
        told.reason = answer.reason
        return told, answer.content


class _Passing(GoogleError):
    """It may be otherwise a moment later. Whether the call was heard is not known."""


class _Refused(_Passing):
    """It may be otherwise a moment later, and the call was certainly not heard."""


class _Throttled(TooMany):
    """Google counts more requests than we do. It was certainly not heard."""


def _passes(error: BaseException, safe: bool) -> bool:
    return isinstance(error, (_Refused, _Throttled)) or (safe and isinstance(error, _Passing))


def _repeatable(described: Mapping[str, Any], method: str, parameters: Mapping[str, Any]) -> bool:
    """May the call be sent again when its answer was lost? What has a name, given in the query, is made once only."""
    if described["httpMethod"] != "POST" or rate.group(method)[1] == "read":
        return True
    known = described.get("parameters", {})
    return any(name.endswith("Id") and known.get(name, {}).get("location") == "query" for name in parameters)


def _what(method: str, parameters: Mapping[str, Any]) -> str:
    """A call in words: `queuedResources.create x in projects/p/locations/z`."""
    whose = [str(value) for name, value in sorted(parameters.items()) if isinstance(value, str) and name != "requestId"]
    paths = [value for value in whose if "/" in value]
    names = [value for value in whose if "/" not in value and len(value) < 100]
    return " ".join([*method.split(".")[-2:-1], method.rsplit(".", 1)[-1], *names, *(["in", *paths] if paths else [])])


def _unheard(error: BaseException) -> bool:
    """Was the request certainly not heard by anybody?"""
    from requests.exceptions import ConnectTimeout
    from urllib3.exceptions import NewConnectionError

    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, ConnectTimeout) or isinstance(reason, NewConnectionError)


def _default_login() -> Any:
    return default_credentials()[0]
