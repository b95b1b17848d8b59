"""The real client of Google's APIs: google-api-python-client with the discovery documents that it ships.

Heavy packages are imported at the first call.
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
from .interface import Answer, CredentialsMissing, GoogleError, RateLimited
from .login import default_credentials
from .service_descriptions import ApiService, service

PAGES_MAX = 10_000
_CONNECTIONS = 32


class GoogleApi:
    """The client of one project: an implementation of `Google`. Safe for threads.

    patience_s: the longest wait, in seconds, for a turn within our share of requests a minute. Beyond it a call raises
        `RateLimited`.
    limit_s: how many seconds a call is retried that failed only for the moment.
    request_s: how many seconds one request may stay without an answer.
    login: returns google-auth's credentials. By default these are the application default credentials, and an endpoint
        at `http://` is then called without any.
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
        self._services: dict[str, ApiService] = {}
        self._tokens: dict[tuple[str, str], rate.TokenBucket] = {}
        self._credentials: Any = None
        self._sessions: dict[str, Any] = {}

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session.close()

    def call(self, method: str, /, **parameters: Any) -> Answer:
        """Make one call, named by its id in the discovery document. Raises `GoogleError` or a subclass."""
        called = self._service(method.split(".", 1)[0])
        described = called.method(method)
        # With a requestId Google makes a thing only once: the call may then be sent again.
        if "requestId" in described.get("parameters", {}):
            parameters.setdefault("requestId", str(uuid.UUID(self._ids.new())))
        request, what = called.request(method, parameters), _what(method, parameters)
        safe = _repeatable(described, method, parameters)

        def send() -> Answer:
            self._take_turn(method, what)
            return self._send(called, method, request, what)

        return ask(send, lambda error: _passes(error, safe), self._limit_s)

    def pages(self, method: str, items: str, /, **parameters: Any) -> Iterator[Any]:
        """Yield the items of all pages. Raises as `call` does, and `GoogleError` if a part could not be read."""
        token = ""
        for _ in range(PAGES_MAX):
            page = self.call(method, **parameters, **({"pageToken": token} if token else {}))
            unread = [*page.get("unreachable", []), *page.get("unreachables", [])]
            if unread:
                which = "the other items there" if token else "the items there"
                raise _Passing(
                    f"{_what(method, parameters)}: {', '.join(map(str, unread))} did not answer; {which} are not known"
                )
            found = page.get(items, [])
            yield from found.items() if isinstance(found, dict) else found
            token, before = page.get("nextPageToken", ""), token
            if not token:
                return
            if token == before:  # it would never end
                break
        raise _Passing(f"{_what(method, parameters)}: the listing does not end; the rest is not known")

    def rest(self, seconds: float) -> None:
        """Let time pass between two questions about the same thing."""
        self._clock.sleep(seconds)

    def who(self) -> str:
        """Return the e-mail address of the account in use; empty if its credentials do not contain it."""
        credentials = self._credentials
        for name in ("service_account_email", "signer_email", "account"):
            found = getattr(credentials, name, "")
            if isinstance(found, str) and "@" in found:
                return found
        return ""

    def _take_turn(self, method: str, what: str) -> None:
        """Wait until our share of requests a minute allows one more. Raises `RateLimited` if the wait would be too long."""
        name = rate.group(method)
        quota = rate.PER_MINUTE.get(name, rate.OTHERS)
        with self._lock:
            now = self._clock.monotonic()
            before = self._tokens.get(name) or rate.full(quota, now)
            after, wait = rate.take(before, quota, now)
            if wait > self._patience_s:
                raise RateLimited(f"{what}: Google allows {quota} requests a minute; this one is sent in {wait:.0f} s")
            self._tokens[name] = after
        if wait > 0:
            self._clock.sleep(wait)

    def _send(self, service: ApiService, method: str, request: Any, what: str) -> Answer:
        """Send one request, once. Raises `GoogleError`; a `_Passing` or `_Throttled` one if a retry may help."""
        from google.auth.exceptions import GoogleAuthError
        from googleapiclient.errors import HttpError
        from requests.exceptions import RequestException

        try:
            answer = request.execute(http=_Transport(self._session(service), self._request_s), num_retries=0)
        except HttpError as error:
            refusal = failures.of_http(int(error.resp.status), error.content)
            failed = failures.failure(refusal, what, who=self.who(), project=self.project)
            if isinstance(failed, CredentialsMissing):
                self._forget_login()
            if isinstance(failed, RateLimited):
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
        """Empty the token bucket of this method's quota: others use the same project, and have taken our share."""
        name = rate.group(method)
        with self._lock:
            self._tokens[name] = rate.TokenBucket(min(0.0, self._tokens[name].level), self._clock.monotonic())

    def _service(self, name: str) -> ApiService:
        with self._lock:
            if name not in self._services:
                self._services[name] = service(name)
            return self._services[name]

    def _session(self, service: ApiService) -> Any:
        """Return the session for a service.

        It is logged in, except for an `http://` endpoint under the default login.
        """
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
        """Forget the credentials. The next call looks for new ones, because somebody may have logged in meanwhile."""
        with self._lock:
            self._credentials = None
            session = self._sessions.pop("mine", None)
        if session is not None:
            session.close()


@dataclass(frozen=True, slots=True)
class _Transport:
    """The `http` object that the library expects, built on requests.

    It sends each request once; httplib2 may send it twice.

    session: the connections.
    request_s: how many seconds a request may stay without an answer.
    """

    session: Any
    request_s: float

    def request(
        self, uri: str, method: str = "GET", body: Any = None, headers: Any = None, **_: Any
    ) -> tuple[Any, bytes]:
        """Send a request. Return its status with the headers, and its body."""
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
    """An error that may pass in a moment. Google may or may not have received the call."""


class _Refused(_Passing):
    """An error that may pass in a moment. Google certainly did not receive the call."""


class _Throttled(RateLimited):
    """Google counts more requests than we do, and refused this one. It certainly had no effect."""


def _passes(error: BaseException, safe: bool) -> bool:
    return isinstance(error, (_Refused, _Throttled)) or (safe and isinstance(error, _Passing))


def _repeatable(described: Mapping[str, Any], method: str, parameters: Mapping[str, Any]) -> bool:
    """True if the call may be sent again after its answer was lost.

    A read may, and so may any method but POST. A POST may if its query names what it makes: Google makes that only
    once.
    """
    if described["httpMethod"] != "POST" or rate.group(method)[1] == "read":
        return True
    known = described.get("parameters", {})
    return any(name.endswith("Id") and known.get(name, {}).get("location") == "query" for name in parameters)


def _what(method: str, parameters: Mapping[str, Any]) -> str:
    """Describe a call in words: `queuedResources.create x in projects/p/locations/z`."""
    whose = [str(value) for name, value in sorted(parameters.items()) if isinstance(value, str) and name != "requestId"]
    paths = [value for value in whose if "/" in value]
    names = [value for value in whose if "/" not in value and len(value) < 100]
    return " ".join([*method.split(".")[-2:-1], method.rsplit(".", 1)[-1], *names, *(["in", *paths] if paths else [])])


def _unheard(error: BaseException) -> bool:
    """True if the request certainly reached nobody."""
    from requests.exceptions import ConnectTimeout
    from urllib3.exceptions import NewConnectionError

    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(error, ConnectTimeout) or isinstance(reason, NewConnectionError)


def _default_login() -> Any:
    return default_credentials()[0]
