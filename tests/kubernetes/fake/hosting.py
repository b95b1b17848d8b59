"""A fake cluster that also holds its users to their rights, and keeps up Deployments, whose one pod is a bastion.

Such a pod is a process with the token of its account, and the mounts that are asked for, where real pods have them; it asks over
TLS. Between a Deployment and its pods there are no ReplicaSets.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import re
import ssl
import threading
import uuid
from collections.abc import Sequence
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.kubernetes.fake.certificate import certificate
from tests.kubernetes.fake.http import handler
from tests.kubernetes.fake.nodes import BASTION_IMAGE, BASTION_IMAGE_2, BROKEN_IMAGE, Nodes
from tests.kubernetes.fake.rights import Rights
from tests.kubernetes.fake.server import Cluster
from tests.kubernetes.fake.store import Problem, Row, condition, owned_by

ADMIN, TOKEN = "ann", "sesame"
"""Who looks after bastions here, and her token."""

_NAMESPACE = re.compile(r"/api/v1/namespaces/([^/]+)")
_HASH = "pod-template-hash"
_POLL_S = 0.05


class HostingCluster(Cluster):
    """`rules` are what `ADMIN` may in the namespace `ml`; None: all that there is."""

    def __init__(self, folder: Path, *, rules: Sequence[Row] | None = None, **cluster: bool) -> None:
        self.id = uuid.uuid4()
        self.sent: list[str] = []
        """All requests that would change something, as a dry run tells them."""
        self.refused: set[str] = set()
        """What somebody has asked for without the right to it."""
        super().__init__(folder, **cluster)
        self.rights = Rights(self.store, {TOKEN: ADMIN})
        self.rules = rules
        key, roots = certificate(folder.parent / "tls")
        self._tls = ThreadingHTTPServer(("127.0.0.1", 0), handler(self))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(roots, key)
        self._tls.socket = context.wrap_socket(self._tls.socket, server_side=True, do_handshake_on_connect=False)
        with self._lock:
            given = {field.name: getattr(self.kubelet, field.name) for field in dataclasses.fields(self.kubelet)}
            self.kubelet = Nodes(**given, roots=roots, port=self._tls.server_port, token=self._token)
            self.controllers.end = self.kubelet.end
            if rules is not None:
                self._grant(rules)
        self._more = threading.Thread(target=self._tls.serve_forever, kwargs={"poll_interval": _POLL_S})
        self._more.start()

    def close(self) -> None:
        self._tls.shutdown()
        self._more.join()
        self._tls.server_close()
        super().close()

    def keep(self, kind: str, name: str, namespace: str = "ml", **fields: Any) -> None:
        """Somebody has made an object by other means."""
        with self._lock:
            self.store.make(kind, namespace, {"metadata": {"name": name, "labels": {}}, **fields})

    def names(self, *kinds: str) -> set[str]:
        """What there is, but for the admin's own Role."""
        return {row["metadata"]["name"] for kind in kinds for row in self.rows(kind)} - {ADMIN}

    def answer(self, method: str, target: str, body: Row | None, login: str = "") -> Row | str:
        if method != "GET":
            told = body
            if method == "DELETE" and body:
                grace = {"grace_s": body["gracePeriodSeconds"]} if "gracePeriodSeconds" in body else {}
                told = {"uid": body["preconditions"]["uid"], **grace}
            if login == f"Bearer {TOKEN}":
                self.sent.append(f"{method} {target} {json.dumps(told, sort_keys=True)}")
        if login.removeprefix("Bearer ") not in self.rights.users:
            raise Problem(401, "Unauthorized", "Unauthorized")
        return super().answer(method, target, body, login)

    def permits(self, verb: str, group: str, resource: str, namespace: str) -> bool:
        if not super().permits(verb, group, resource, namespace):
            return False
        user = self._user()
        if user == ADMIN and self.rules is None:
            return True
        return self.rights.permits(user, (verb, group, resource), namespace)

    def refusal(self, verb: str, group: str, resource: str, namespace: str) -> Problem:
        self.refused.add(f"{self._user()}: {verb} {resource}")
        return super().refusal(verb, group, resource, namespace)

    def log_of(self, pod: Row) -> str:
        one = self.kubelet.running.get(pod["metadata"]["uid"])
        if one is None:
            raise Problem(
                400, "BadRequest", f'container "bastion" in pod "{pod["metadata"]["name"]}" is waiting to start'
            )
        return one.log.read_text()

    def _of(self, method: str, path: str, query: dict[str, str], body: Row | None) -> Row | str:
        if found := _NAMESPACE.fullmatch(path):
            return self._namespace(found[1])
        if method in ("POST", "PATCH") and body and body.get("kind") in ("Role", "RoleBinding"):
            namespace = body["metadata"]["namespace"]
            if self.rules is not None and (lacks := self.rights.lacks(self._user(), body, namespace)):
                raise Problem(
                    403, "Forbidden",
                    f'"{body["metadata"]["name"]}" is forbidden: user "{self._user()}" is attempting to grant RBAC permissions '
                    f"not currently held: {sorted(lacks)}",
                )  # fmt: skip
        return super()._of(method, path, query, body)

    def _namespace(self, name: str) -> Row:
        if name not in self.namespaces and self.rules is None:
            raise Problem(404, "NotFound", f'namespaces "{name}" not found')
        if not self.permits("get", "", "namespaces", name):
            raise self.refusal("get", "", "namespaces", name)
        return {"kind": "Namespace", "metadata": {"name": name, "uid": str(uuid.uuid5(self.id, name))}}

    def _grant(self, rules: Sequence[Row]) -> None:
        self.keep("Role", ADMIN, rules=list(rules))
        self.keep(
            "RoleBinding", ADMIN, roleRef={"kind": "Role", "name": ADMIN}, subjects=[{"kind": "User", "name": ADMIN}]
        )

    def _user(self) -> str:
        return self.rights.users[self.login.removeprefix("Bearer ")]

    def _token(self, namespace: str, account: str) -> str:
        token = uuid.uuid4().hex
        self.rights.users[token] = f"system:serviceaccount:{namespace}:{account}"
        return token

    def _settle(self) -> None:
        self._deploy()
        super()._settle()
        self._deploy()

    def _deploy(self) -> None:
        """What Deployments want. An old pod goes before a new one comes (`Recreate`)."""
        for row in self.store.of("Deployment"):
            template = copy.deepcopy(row["spec"]["template"])
            label = hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()[:10]
            pods = list(self.store.owned("Pod", row))
            wanted = row["spec"].get("replicas", 1)
            surplus = [pod for pod in pods if pod["metadata"]["labels"][_HASH] != label] or pods[wanted:]
            for pod in surplus:
                if "deletionTimestamp" not in pod["metadata"]:
                    self.kubelet.end(pod, None)
            if not surplus and len(pods) < wanted:
                self._pod(row, template, label)

    def _pod(self, row: Row, template: Row, label: str) -> None:
        namespace, account = row["metadata"]["namespace"], template["spec"]["serviceAccountName"]
        if ("ServiceAccount", namespace, account) not in self.store.rows:
            condition(row, "ReplicaFailure", "True", "FailedCreate", f'serviceaccount "{account}" not found')
            return
        template["metadata"] |= {
            "name": f"{row['metadata']['name']}-{label}-{uuid.uuid4().hex[:5]}",
            "labels": template["metadata"]["labels"] | {_HASH: label},
            "ownerReferences": owned_by(row),
        }
        self.store.make("Pod", namespace, {**template, "status": {"phase": "Pending"}})


__all__ = ["ADMIN", "BASTION_IMAGE", "BASTION_IMAGE_2", "BROKEN_IMAGE", "TOKEN", "HostingCluster"]
