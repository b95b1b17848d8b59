"""The client of a cluster's API over HTTP, with the credentials of a kubeconfig or of the pod that this runs in."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bastion.model.errors import RunnerError, UsageError
from bastion.model.interfaces import Clock

from .interface import ApiError, ApiRefused, Expired, Object, ObjectExists, ObjectMissing

TIMEOUT_S = (5.0, 60.0)
TRIES = 4
PAGE = 1_000
ANSWER_MAX = 256 * 1024**2
"""The most bytes of one answer. A page of pods has some MB."""

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The folder where a pod finds the token of its account, and the certificates of its cluster."""

_PAUSE_S, _PAUSE_MAX_S = 0.5, 5.0
_LISTINGS = 3
_PIECE = 2**20
_MERGE = "application/merge-patch+json"
_AGAIN = frozenset({429, 500, 502, 503, 504})
_KINDS: Mapping[int, type[ApiError]] = {
    404: ObjectMissing,
    409: ObjectExists,
    410: Expired,
    400: ApiRefused,
    403: ApiRefused,
    422: ApiRefused,
}
_ADVICE = (
    (401, "", "log in again, or check context of [runner_options.kubernetes]"),
    (403, " cannot ", "ask an admin of the cluster for the right; docs/fleets/kubernetes.md has a role"),
    (403, "exceeded quota", "wait until other pods end, or ask an admin of the cluster to raise it"),
    (
        404,
        "namespaces ",
        "ask an admin of the cluster to create it, or correct namespace of [runner_options.kubernetes]",
    ),
)
"""The advice on a refusal, by its code and its words."""


@dataclass(frozen=True, slots=True)
class ClusterLogin:
    """The address of a cluster, and the credentials for it.

    url: the URL of the API.
    headers: returns the headers with the credentials, renewed when that is due.
    verify: True trusts the usual certificates, False any certificate; a text is the file with the trusted ones.
    cert: the files with the client's certificate and its key; None if it has none.
    """

    url: str
    headers: Callable[[], Mapping[str, str]] = dict
    verify: bool | str = True
    cert: tuple[str, str] | None = None


def check(kubeconfig: str = "", context: str = "") -> None:
    """Raise `UsageError` if the package is missing that logs in to a cluster from outside."""
    if (kubeconfig or context or in_pod(os.environ) is None) and find_spec("kubernetes") is None:
        raise UsageError(
            "the runner kubernetes needs the package kubernetes; pip install 'bastion-scheduler[kubernetes]'"
        )


def in_pod(environ: Mapping[str, str], folder: Path = ACCOUNT) -> ClusterLogin | None:
    """Return the login of the service account of the pod that this runs in; None outside of a cluster.

    The token is read for each request, because the cluster renews it.
    """
    address, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    token, roots = folder / "token", folder / "ca.crt"
    if not (address and port and token.is_file() and roots.is_file()):
        return None
    where = f"[{address}]" if ":" in address else address
    return ClusterLogin(
        f"https://{where}:{port}", lambda: {"authorization": f"Bearer {token.read_text().strip()}"}, verify=str(roots)
    )


def log_in(kubeconfig: str = "", context: str = "") -> ClusterLogin:
    """Return the login of a kubeconfig; "" means the usual one.

    If neither a file nor a context is named, the login of the pod that this runs in goes first. Raises `RunnerError`.
    """
    if not kubeconfig and not context and (own := in_pod(os.environ)):
        return own
    from kubernetes import client, config

    loader: Any = config  # it has no types
    found = client.Configuration()
    try:
        loader.load_kube_config(kubeconfig or None, context or None, found, persist_config=False)
    except Exception as error:  # any error at all: neither the file nor the plugins that it names are ours
        raise RunnerError(
            f"cannot connect to a Kubernetes cluster: {_short(error)}; set kubeconfig and context of "
            "[runner_options.kubernetes]"
        ) from error
    return _login(found)


def _login(found: Any) -> ClusterLogin:
    def headers() -> dict[str, str]:
        told = found.auth_settings().values()
        return {one["key"]: one["value"] for one in told if one["in"] == "header" and one["value"]}

    cert = (found.cert_file, found.key_file) if found.cert_file else None
    return ClusterLogin(found.host, headers, found.verify_ssl and (found.ssl_ca_cert or True), cert)


@dataclass(slots=True)
class KubernetesClient:
    """The client of a cluster: an implementation of `Cluster`. Safe for threads.

    log_in: returns the login. It is called before the first request.
    clock: the clock for pauses before retries.
    asked: counts the requests that were sent.
    """

    log_in: Callable[[], ClusterLogin]
    clock: Clock
    asked: int = 0
    _login: ClusterLogin | None = None
    _session: Any = field(default=None)

    def get(self, path: str) -> Object:
        """Return one object."""
        return self._send("GET", path)

    def create(self, path: str, body: Mapping[str, Any]) -> Object:
        """Create an object."""
        return self._send("POST", path, body=body)

    def change(self, path: str, body: Mapping[str, Any]) -> Object:
        """Set these fields of an object. Lists are replaced."""
        return self._send("PATCH", path, body=body)

    def text(self, path: str, **query: object) -> str:
        """Return a text that is no object: a log."""
        return self._ask("GET", path, query, None).decode("utf-8", "replace")

    def delete(self, path: str, uid: str, *, grace_s: int | None = None) -> None:
        """Delete the object if it has this uid. What belongs to it follows."""
        options = {"preconditions": {"uid": uid}, "propagationPolicy": "Background"}
        grace = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        self._send("DELETE", path, body={"kind": "DeleteOptions", "apiVersion": "v1", **options, **grace})

    def items(self, path: str, selector: str, fields: str = "") -> list[Object]:
        """List all objects with these labels and fields. A listing that expires halfway begins anew."""
        wanted = {"labelSelector": selector, "fieldSelector": fields}
        for again in range(1, _LISTINGS + 1):
            try:
                return self._pages(path, {key: text for key, text in wanted.items() if text})
            except Expired:
                if again == _LISTINGS:
                    raise
        raise AssertionError

    def _pages(self, path: str, wanted: Mapping[str, str]) -> list[Object]:
        found: list[Object] = []
        query: dict[str, object] = {**wanted, "limit": PAGE}
        while True:
            page = self._send("GET", path, query=query)
            found += page.get("items") or []
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return found
            query["continue"] = token

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> Object:
        said = _json(self._ask(method, path, query, body))
        if not isinstance(said, dict):
            raise ApiError(f"Kubernetes answers {method} {path} without an object; is this the API of Kubernetes?")
        return said

    def _ask(self, method: str, path: str, query: Mapping[str, object] | None, body: Mapping[str, Any] | None) -> bytes:
        import requests

        login = self._login = self._login or self.log_in()
        if self._session is None:
            self._session = requests.Session()
            self._session.auth = lambda request: request  # otherwise a netrc file would replace the token
        pause, url = _PAUSE_S, login.url.rstrip("/") + path
        kind = {"content-type": _MERGE} if method == "PATCH" else {}
        for left in range(TRIES - 1, -1, -1):
            self.asked += 1
            try:
                answer = self._session.request(
                    method, url, params=query, json=body, headers={**login.headers(), **kind},
                    verify=login.verify, cert=login.cert, timeout=TIMEOUT_S, allow_redirects=False,
                    stream=True,
                )  # fmt: skip
                said = _read(answer)
            except (requests.RequestException, OSError) as error:
                if not left:
                    raise ApiError(f"Kubernetes does not answer at {login.url}: {_short(error)}") from error
            else:
                if answer.status_code not in _AGAIN or not left:
                    return _told(answer.status_code, said, method, path)
                pause = max(pause, _asked_pause(answer.headers.get("Retry-After", "")))
            self.clock.sleep(min(pause, _PAUSE_MAX_S))
            pause *= 2
        raise AssertionError


def _read(answer: Any) -> bytes:
    """Return the body of an answer. Of a body that is too long, return the beginning."""
    text = bytearray()
    for piece in answer.iter_content(_PIECE):
        text += piece
        if len(text) > ANSWER_MAX:
            answer.close()
            break
    return bytes(text)


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _told(code: int, said: bytes, method: str, path: str) -> bytes:
    """Return the answer, or raise the error that it is."""
    if 200 <= code < 300:
        return said
    status = _json(said)
    message = status.get("message") if isinstance(status, dict) else ""
    why = _short(message or f"status {code}")
    advice = next((f"; {said}" for number, words, said in _ADVICE if number == code and words in why), "")
    raise _KINDS.get(code, ApiError)(f"Kubernetes refuses {method} {path}: {why}{advice}")


def _short(what: object) -> str:
    return " ".join(str(what).split())[:500]


def _asked_pause(text: str) -> float:
    return float(text) if text.isdigit() and len(text) < 6 else 0.0
