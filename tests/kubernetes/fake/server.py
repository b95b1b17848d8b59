"""A fake cluster: an API server with real HTTP over controllers and nodes. Every manifest is held to its schema."""

from __future__ import annotations

import base64
import functools
import json
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kubernetes.fake import kueue
from tests.kubernetes.fake.containers import Image
from tests.kubernetes.fake.controllers import Controllers
from tests.kubernetes.fake.faults import Faults
from tests.kubernetes.fake.http import handler
from tests.kubernetes.fake.kubelet import Kubelet, Node
from tests.kubernetes.fake.schemas import complaints
from tests.kubernetes.fake.store import APIS, Problem, Row, Store

IMAGE = "registry.example/bastion-worker:1"
USER = "system:serviceaccount:ml:bastion"
_PATH = re.compile(
    r"/(?:api|apis)/(?P<api>v1|[^/]+/[^/]+)/namespaces/(?P<ns>[^/]+)/(?P<kind>[a-z]+)(?:/(?P<name>[^/]+))?(?P<log>/log)?"
)
_KINDS = {"jobsets": "JobSet", "jobs": "Job", "pods": "Pod", "workloads": "Workload", "deployments": "Deployment"}
_KINDS |= {"serviceaccounts": "ServiceAccount", "roles": "Role", "rolebindings": "RoleBinding", "events": "Event"}
_VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "DELETE": "delete"}
_TURN_S = 0.05


class Cluster:
    """One cluster. Its nodes are this machine; `jobset` and `kueue`: they are installed in it."""

    def __init__(self, folder: Path, *, jobset: bool = True, kueue: bool = False) -> None:
        self.store = Store()
        self.kubelet = Kubelet(self.store, folder, {IMAGE: Image()}, folder.parent)
        self.controllers = Controllers(self.store, self.kubelet.end, self._name, kueue)
        self.jobset, self.kueue = jobset, kueue
        self.namespaces = {"default", "ml"}
        self.forbidden: set[tuple[str, str]] = set()
        self.used: set[tuple[str, str]] = set()
        """The rights that calls have used: verbs and resources."""
        self.listings: list[str] = []
        self.logins: set[str] = set()
        self.login = ""
        """Of whoever is being answered."""
        self._faults = Faults()
        self._pages: dict[str, list[Row]] = {}
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._away = False
        self._serve(0)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._turning = threading.Thread(target=self._turns)
        self._turning.start()

    def _serve(self, port: int) -> None:
        self._http = ThreadingHTTPServer(("127.0.0.1", port), handler(self))
        self._serving = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": _TURN_S})
        self._serving.start()

    def close(self) -> None:
        self._closed.set()
        self._http.shutdown()
        for thread in (self._serving, self._turning):
            thread.join()
        self._http.server_close()
        self.kubelet.close()

    @contextmanager
    def changed(self) -> Iterator[Kubelet]:
        """Do something to the nodes."""
        with self._lock:
            yield self.kubelet
            self._settle()

    def without_nodes(self) -> None:
        with self.changed() as kubelet:
            kubelet.nodes = {"node-1": Node(pods=0)}

    def admit(self) -> None:
        """Kueue lets everybody in."""
        with self._lock:
            kueue.admit(self.store)
            self._settle()

    def throw_out(self, why: str) -> None:
        """Kueue preempts everybody."""
        with self._lock:
            kueue.throw_out(self.store, why)
            self._settle()

    def refuse_pods(self, why: str) -> None:
        """From now on no pods are made any more; "": they are."""
        with self._lock:
            self.controllers.refuses_pods = why
            self._settle()

    def evict(self, name: str, namespace: str = "default") -> None:
        """Drain a pod from its node."""
        with self._lock:
            self.kubelet.end(self.store.get("Pod", namespace, name), None)
            self._settle()

    def fails(self, form: str, code: int, times: int = 1, message: str = "", **headers: str) -> None:
        """Requests of this form (`POST .*jobsets`) meet an error."""
        self._faults.add(form, code, times, message, headers)

    def mend(self) -> None:
        """There are no faults any more."""
        self._faults.clear()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Its API server is down; all that runs in it runs on."""
        self._away = True
        self._http.shutdown()
        self._serving.join()
        self._http.server_close()
        yield
        self._away = False
        self._serve(self._http.server_port)

    def rows(self, kind: str) -> list[Row]:
        with self._lock:
            return json.loads(json.dumps(self.store.of(kind)))

    def answer(self, method: str, target: str, body: Row | None, login: str = "") -> Row | str:
        """Of one request."""
        url = urlsplit(target)
        with self._lock:
            self.login = login
            if self._away:
                raise ConnectionAbortedError
            late = self._faults.meet(f"{method} {target}")
            query = {key: value[0] for key, value in parse_qs(url.query).items()}
            said = self._groups() if url.path == "/apis" else self._of(method, url.path, query, body)
            self._settle()
            if late:
                raise ConnectionAbortedError
            return said

    def _groups(self) -> Row:
        there = ["batch/v1", *[APIS["JobSet"]] * self.jobset, *[APIS["Workload"]] * self.kueue]
        groups = [(api.split("/")[0], {"groupVersion": api, "version": api.split("/")[1]}) for api in there]
        told = [{"name": name, "versions": [version], "preferredVersion": version} for name, version in groups]
        return {"kind": "APIGroupList", "groups": told}

    def _of(self, method: str, path: str, query: dict[str, str], body: Row | None) -> Row | str:
        found = _PATH.fullmatch(path)
        kind = _KINDS.get(found["kind"]) if found else None
        if not found or not kind or APIS[kind] != found["api"] or (kind == "JobSet" and not self.jobset):
            raise Problem(404, "NotFound", "the server could not find the requested resource")
        verb = "list" if method == "GET" and not found["name"] else _VERBS[method]
        group, resource = found["api"].rpartition("/")[0], found["kind"] + (found["log"] or "")
        if not self.permits(verb, group, resource, found["ns"]):
            raise self.refusal(verb, group, resource, found["ns"])
        self.used.add((verb, resource))
        if verb == "list":
            return self._list(kind, found["ns"], query)
        if verb == "create":
            return self._create(kind, found["ns"], body or {})
        row = self.store.get(kind, found["ns"], found["name"])
        if found["log"]:
            return self.log_of(row)
        if verb == "patch":
            return self._change(row, body or {})
        return self._delete(kind, row, body or {}) if verb == "delete" else row

    def permits(self, verb: str, group: str, resource: str, namespace: str) -> bool:
        """Whoever asks may do this."""
        return (verb, resource) not in self.forbidden and namespace in self.namespaces

    def refusal(self, verb: str, group: str, resource: str, namespace: str) -> Problem:
        """What they are told who may not."""
        kind = f"{resource}.{group}" if group else resource
        return Problem(
            403, "Forbidden",
            f'{kind} is forbidden: User "{USER}" cannot {verb} resource "{resource}" in API group "{group}" in the '
            f'namespace "{namespace}"',
        )  # fmt: skip

    def log_of(self, pod: Row) -> str:
        """What a pod's container has written."""
        raise Problem(404, "NotFound", "the pods of this cluster have no logs")

    def _change(self, row: Row, patch: Row) -> Row:
        after = _merged(row, patch)
        if wrong := complaints({key: value for key, value in after.items() if key != "status"}):
            raise Problem(422, "Invalid", f"{row['kind']} is invalid: {'; '.join(wrong)}")
        row.update(after)
        self.store.touch(row)
        return row

    def _create(self, kind: str, namespace: str, body: Row) -> Row:
        if wrong := complaints(body):
            raise Problem(422, "Invalid", f"{kind} is invalid: {'; '.join(wrong)}")
        if body["metadata"]["namespace"] != namespace:
            raise Problem(
                400, "BadRequest", "the namespace of the provided object does not match the one of the request"
            )
        return self.store.make(kind, namespace, body)

    def _delete(self, kind: str, row: Row, options: Row) -> Row:
        uid = options.get("preconditions", {}).get("uid", row["metadata"]["uid"])
        if uid != row["metadata"]["uid"]:
            raise Problem(409, "Conflict", "the UID in the precondition does not match the UID in record")
        if kind == "Pod":
            self.kubelet.end(row, options.get("gracePeriodSeconds"))
        else:
            self.store.drop(row)
        return {"kind": "Status", "status": "Success"}

    def _list(self, kind: str, namespace: str, query: dict[str, str]) -> Row:
        if token := query.get("continue"):
            rows = self._pages.pop(base64.b64decode(token).decode(), None)
            if rows is None:
                raise Problem(410, "Expired", "The provided continue parameter is too old")
        else:
            self.listings.append(kind)
            wants = dict(pair.split("=", 1) for pair in query.get("labelSelector", "").split(",") if pair)
            fields = dict(pair.split("=", 1) for pair in query.get("fieldSelector", "").split(",") if pair)
            rows = [
                row
                for row in self.store.of(kind, namespace)
                if wants.items() <= row["metadata"].get("labels", {}).items()
                and all(functools.reduce(dict.get, path.split("."), row) == value for path, value in fields.items())
            ]
        most = int(query.get("limit", 0)) or len(rows)
        metadata: dict[str, Any] = {"resourceVersion": str(self.store.version)}
        if rows[most:]:
            token = uuid.uuid4().hex
            self._pages[token] = rows[most:]
            metadata["continue"] = base64.b64encode(token.encode()).decode()
        return {"kind": f"{kind}List", "metadata": metadata, "items": rows[:most]}

    def _turns(self) -> None:
        while not self._closed.wait(_TURN_S):
            with self._lock:
                self._settle()

    def _settle(self) -> None:
        self.controllers.settle()
        self.kubelet.turn()
        self.controllers.settle()

    def _name(self) -> str:
        return uuid.uuid4().hex


def _merged(there: Any, patch: Any) -> Any:
    """By the rules of a JSON merge patch."""
    if not isinstance(patch, dict):
        return patch
    found = dict(there) if isinstance(there, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _merged(found.get(key), value)
    return found
