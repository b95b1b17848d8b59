"""The objects of a bastion in a Kubernetes cluster: each is made or corrected. And its Deployment at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bastion.model.errors import BastionError
from bastion.model.interfaces import Clock

from ..hosting import GONE, PlannedStep
from . import deployment
from .deployment import BastionDeployment, is_hopeless, is_ours, manifests, paths, selector, state
from .interface import Cluster, Object, ObjectExists, ObjectMissing

END_S = 120.0
LOOK_S = 0.5
TAIL = 1000


def namespace_uid(api: Cluster, namespace: str) -> str:
    """Return the uid of a namespace, which tells it from those of the same name in other clusters.

    Raises `BastionError` if there is none.
    """
    try:
        return str(api.get(f"/api/v1/namespaces/{namespace}")["metadata"]["uid"])
    except ObjectMissing:
        raise BastionError(
            f"the cluster has no namespace {namespace}; run kubectl create namespace {namespace}, or choose the cluster with "
            "kubectl config use-context"
        ) from None


def work(api: Cluster, host: BastionDeployment) -> Iterator[PlannedStep]:
    """Yield the steps for all objects, in an order in which each may rely on those before it.

    A service account that its user made stays as it is.
    """
    ways = paths(host.settings.namespace, host.name)
    for body in manifests(host):
        yield PlannedStep(f"{body['kind']} {host.name}", partial(_ensure, api, ways[body["kind"]], body))


def _ensure(api: Cluster, path: str, wanted: Mapping[str, Any]) -> bool:
    """Create the object, or change it to what is wanted. Return True if anything was done."""
    try:
        there = api.get(path)
    except ObjectMissing:
        try:
            api.create(path.rpartition("/")[0], wanted)
        except ObjectExists:
            return False  # somebody else made it first, or the answer to an earlier call was lost
        return True
    if deployment.holds(there, wanted) or (wanted["kind"] == "ServiceAccount" and not is_ours(there)):
        return False
    api.change(path, wanted)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedBastion:
    """The Deployment of a bastion: an implementation of `Hosting`. All calls raise `BastionError`.

    api: the cluster's API.
    namespace: the namespace that it is in.
    uid: the uid of that namespace.
    name: its name.
    clock: the clock for waiting.
    waits: wait for the end of what was started. False in a dry run, which starts nothing.
    """

    api: Cluster
    namespace: str
    uid: str
    name: str
    clock: Clock
    waits: bool = True

    @property
    def where(self) -> str:
        """The namespace, in words."""
        return f"namespace {self.namespace}"

    def status(self) -> str:
        """Return the status of the Deployment and its pod in the cluster's words, or GONE."""
        row = self._row()
        return state(row, self._pods()) if row else GONE

    def fallen(self) -> bool:
        """True if it is stopped or gone, or in a state that does not end by itself."""
        return is_hopeless(word := self.status()) or word == GONE

    def start(self) -> bool:
        """Give it one pod. Return True if it had none."""
        row = self._row()
        if row is None:
            raise BastionError(
                f"{self.name} in {self.where} is gone; create it again with bastion create --runner=kubernetes"
            )
        return self._scale(row, 1)

    def stop(self) -> bool:
        """Take its pod away, and return once the pod is gone. Its bastion ends its tick first.

        Return True if it had one.
        """
        row = self._row()
        return row is not None and self._scale(row, 0)

    def delete(self) -> bool:
        """Delete it with all that was made for it, and return once its pod is gone. Return True if anything existed."""
        self._at_home()
        found = False
        for path in reversed(paths(self.namespace, self.name).values()):
            try:
                row = self.api.get(path)
                if is_ours(row):
                    self.api.delete(path, row["metadata"]["uid"])
                    found = True
            except ObjectMissing:
                continue
        self._await_end()
        return found

    def console(self) -> str:
        """Return the last output of its pod."""
        self._at_home()
        for pod in filter(deployment.has_begun, self._pods()):
            path = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/log"
            return self.api.text(path, container=deployment.CONTAINER, tailLines=TAIL)
        return ""

    def image(self) -> str:
        """Return its image; "" if it is gone."""
        row = self._row()
        return deployment.image_of(row) if row else ""

    def _row(self) -> Object | None:
        self._at_home()
        try:
            return self.api.get(paths(self.namespace, self.name)["Deployment"])
        except ObjectMissing:
            return None

    def _pods(self) -> list[Object]:
        return self.api.items(f"/api/v1/namespaces/{self.namespace}/pods", selector(self.name))

    def _scale(self, row: Object, pods: int) -> bool:
        changes = bool(row["spec"].get("replicas", 1) != pods)
        if changes:
            self.api.change(paths(self.namespace, self.name)["Deployment"], {"spec": {"replicas": pods}})
        if not pods:
            self._await_end()
        return changes

    def _await_end(self) -> None:
        deadline = self.clock.monotonic() + END_S
        while self.waits and self._pods():
            if self.clock.monotonic() > deadline:
                raise BastionError(
                    f"the pod of {self.name} in {self.where} still exists {END_S:.0f} s after its deletion; run it again, or "
                    "look at kubectl describe pod"
                )
            self.clock.sleep(LOOK_S)

    def _at_home(self) -> None:
        """Raise `BastionError` if this is another cluster than the one in which it was made."""
        if (found := namespace_uid(self.api, self.namespace)) != self.uid:
            raise BastionError(
                f"{self.name} is in another cluster: its namespace {self.namespace} has the uid {self.uid}, and here {found}; "
                "choose its cluster with kubectl config use-context; if that is gone, remove deployed_in with bastion config edit"
            )
