"""The runner of a Kubernetes cluster: one set of pods for each attempt, made by one request and listed with all others.

What it remembers saves requests and explains. What exists is what the cluster lists.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, MachineExistence, Placement, Seal
from bastion.quota.resources import Resources

from ..google.machines.names import name as name_of
from . import names, parse, render
from .interface import Api, ApiError, ApiRefused, Object, ObjectExists, ObjectMissing
from .listing import KubernetesListing
from .names import KubernetesLabels
from .parse import OVER, AttemptSet, Pod
from .replica_pods import KINDS_OF_CLUSTERS
from .settings import KubernetesSettings

NOTICE_S, LEAVE_S, DELETE_S = 86_400, 30, 1
"""The time in seconds that a pod gets for its end.

NOTICE_S: a pod that has to stop. Its own worker ends it in time.
LEAVE_S: a pod that is deleted before others of its gang. The cluster ends the others too where a pod is killed.
DELETE_S: any other pod that is deleted.
"""

PAUSE_S = 60.0
"""The seconds for which an attempt is not requested again after the cluster refused it."""


@dataclass(kw_only=True)
class KubernetesRunner:
    """The runner of pods in one namespace.

    api: the cluster's API.
    settings: the settings in `[runner_options.kubernetes]`.
    scope: the name of the bastion in labels; the same at every start.
    ids: makes new ids.
    seal: proves which sets and pods this bastion made.
    clock: the clock of all waiting times.
    worker: the flags that every worker gets.
    given: the capacity that all pods may have together; None means no limit.
    name: the runner's name.
    pace_s: the seconds between two listings.
    offers: the kinds of resources that it has.
    """

    api: Api
    settings: KubernetesSettings
    scope: str
    ids: Ids
    seal: Seal
    clock: Clock
    worker: render.WorkerFlags
    given: Resources | None = None
    name: str = "kubernetes"
    pace_s: float = 2.0
    offers: Collection[str] | None = field(init=False)
    _listing: KubernetesListing = field(init=False)
    _asked: dict[AttemptKey, float] = field(default_factory=dict)
    _refused: dict[AttemptKey, tuple[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = KINDS_OF_CLUSTERS | self.settings.kinds.keys()
        self._listing = KubernetesListing(api=self.api, settings=self.settings, scope=self.scope, clock=self.clock)
        self.offers = kinds if self.given is None else kinds & self.given.keys()

    def capacity(self) -> Resources | None:
        """Return the capacity in the settings.

        To count nodes would need rights on the whole cluster, and nodes come and go.
        """
        return self.given

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of pods of all replicas. Raises `RunnerError` if no pods can have these resources."""
        return render.workers(resources, replicas, self.settings)

    def create(self, placement: Placement) -> None:
        """Create the set of the attempt, unless it exists. A set that has ended is removed for its successor.

        A set is also removed if a pod of it ended before all had claimed: the cluster makes no other pod in its place.
        Then, and for a while after a refusal, it raises `NotReady`. Raises `RunnerError` if the set cannot be made.
        """
        own = (
            one for one in self._sets if one.mark.key == placement.key and not one.over and self._is_proved(one.mark)
        )
        there = next(own, None)
        if there and any(nonce == there.mark.nonce for nonce, _ in self._listing.fallen):
            self._delete(there.kind, there.name, there.uid)
            raise NotReady("one of its pods ended before all had started; all of them are created again")
        if there:
            return
        at, said = self._refused.get(placement.key, (float("-inf"), ""))
        if self.clock.monotonic() - at < PAUSE_S:
            raise NotReady(said)
        try:
            self._make(placement)
        except RunnerError as error:
            if isinstance(error, ApiRefused | ObjectMissing) or not isinstance(error, ApiError | NotReady):
                self._refused[placement.key] = self.clock.monotonic(), str(error)
            raise
        self._refused.pop(placement.key, None)
        self._asked[placement.key] = self.clock.monotonic()

    def _make(self, placement: Placement) -> None:
        has, nonce = self._listing.can(), self.seal.nonce(self.scope, placement.key, placement.epoch)
        body, path = self._manifest(has.sets, placement, nonce), self._listing.path(has.kinds[0])
        try:
            self.api.create(path, body)
        except ObjectExists:
            if self._make_room(has.kinds[0], body["metadata"]["name"]):
                try:
                    self.api.create(path, body)
                except ObjectExists as error:
                    raise NotReady("the cluster is still removing the earlier set of this name") from error

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """True if the pod's name begins with the name of the attempt's set. Which worker it is, only its labels say."""
        return names.is_of(machine, name_of(self.scope, key))

    def stop(self, machine: str) -> None:
        """Give the pod notice: SIGTERM, and more time than its job can have."""
        if pod := self._pod(machine):
            self._delete("pods", *pod, NOTICE_S)

    def delete(self, machine: str) -> None:
        """Delete the pod; or the set, if it has no pods yet."""
        if pod := self._pod(machine):
            self._delete("pods", *pod, LEAVE_S if self._in_company(pod[1]) else DELETE_S)
        elif unborn := names.unborn_of(machine):
            name, nonce = unborn
            for one in self._sets:
                if (one.name, one.mark.nonce) == (name, nonce):
                    self._delete(one.kind, one.name, one.uid)

    def list(self) -> Sequence[Machine]:
        """List all machines of this bastion.

        It asks one question for pods and one for sets, and more where something is held or late.
        """
        self._listing.look()
        self._forget()
        return list(parse.machines([*self._pods, *self._listing.strangers], self._sets, self._is_proved))

    def sweep(self) -> None:
        """Do nothing: the cluster itself removes sets an hour after their end."""

    def clear(self) -> None:
        """Remove all sets, also those that have ended, once there are no machines and none will come."""
        for one in self._sets:
            self._delete(one.kind, one.name, one.uid)

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return what the attempts without running pods wait for."""
        asked = dict.fromkeys(self._asked, "the cluster has not created its pods yet")
        refused = {key: said for key, (_, said) in self._refused.items()}
        return asked | self._listing.waiting() | refused

    def look(self, machine: str) -> MachineExistence:
        """Check directly whether one machine exists."""
        try:
            return MachineExistence.THERE if self._is_there(machine) else MachineExistence.GONE
        except ApiError:
            return MachineExistence.UNREACHABLE

    def preview(self, placement: Placement) -> str:
        """Return the manifest of the JobSet that this would be, for any number of workers.

        Nothing is asked of the cluster.
        """
        workers = self.workers(placement.resources, placement.replicas)
        return json.dumps(self._manifest(render.JOBSET, replace(placement, workers=workers), self.ids.new()), indent=2)

    def _is_proved(self, mark: KubernetesLabels) -> bool:
        """True if the seal proves that this bastion made the mark.

        Everybody who may create pods here may give them any labels, so labels alone prove nothing.
        """
        return self.seal.proves(mark.nonce, mark.scope, mark.key, mark.epoch)

    def _manifest(self, sets: str, placement: Placement, nonce: str) -> Object:
        mark = render.mark(self.scope, placement, nonce, self.settings)
        name = name_of(self.scope, placement.key)
        return render.manifest(sets, name, mark, placement, self.settings, self.worker)

    def _pod(self, machine: str) -> tuple[str, str] | None:
        """Return the name and uid of a pod of this bastion.

        None for an id that is no pod's, and for a pod that is not what its id says.
        """
        named = names.pod_of(machine)
        if named is None:
            return None
        known = next((pod for pod in self._pods if pod.uid == named[1]), None)
        if known is None:
            with suppress(ObjectMissing):
                known = parse.pod_of(self.api.get(self._listing.path("pods", named[0])), self.scope)
        return named if known and names.pod_id(known.name, known.mark.nonce, known.uid) == machine else None

    def _in_company(self, uid: str) -> bool:
        """True if others of this pod's gang were not over at the last listing."""
        keys = {pod.mark.key for pod in self._pods if pod.uid == uid}
        return any(pod.mark.key in keys and pod.phase not in OVER for pod in self._pods if pod.uid != uid)

    def _is_there(self, machine: str) -> bool:
        pod, unborn = names.pod_of(machine), names.unborn_of(machine)
        if pod:
            with suppress(ObjectMissing):
                row = self.api.get(self._listing.path("pods", pod[0]))
                metadata = row.get("metadata") or {}
                mark = names.mark_of(metadata)
                if metadata.get("uid") != pod[1] or (mark is not None and mark.scope != self.scope):
                    return False
                # It is there by its uid, whatever its labels say.
                return (row.get("status") or {}).get("phase") not in OVER
        if unborn:
            name, nonce = unborn
            sets = [self._set(kind, name) for kind in self._listing.can().kinds]
            return any(one and one.mark.nonce == nonce and not one.over for one in sets)
        return False

    def _set(self, kind: str, name: str) -> AttemptSet | None:
        """Return the set of this name; None if there is none of ours."""
        with suppress(ObjectMissing):
            return parse.set_of(self.api.get(self._listing.path(kind, name)), self.scope, kind)
        return None

    def _make_room(self, kind: str, name: str) -> bool:
        """Remove the set of this name if it has ended. Return False if it lives: then nothing is missing."""
        try:
            row = self.api.get(self._listing.path(kind, name))
        except ObjectMissing:
            return True
        one = parse.set_of(row, self.scope, kind)
        if one is None:
            raise RunnerError(
                f"{name} in namespace {self.settings.namespace} was not created by this bastion, which needs the name; delete it"
            )
        if one.over:
            self._delete(kind, one.name, one.uid)
        return one.over

    def _delete(self, kind: str, name: str, uid: str, grace_s: int | None = None) -> None:
        with suppress(ObjectMissing, ObjectExists):  # it is gone already, or its name is another's now
            self.api.delete(self._listing.path(kind, name), uid, grace_s=grace_s)

    @property
    def _pods(self) -> Sequence[Pod]:
        return self._listing.pods

    @property
    def _sets(self) -> Sequence[AttemptSet]:
        return self._listing.sets

    def _forget(self) -> None:
        """Forget requests and refusals of attempts that are listed now, and old ones.

        A request is old after `PAUSE_S`, a refusal after three times as long.
        """
        listed, now = {one.mark.key for one in self._sets if not one.over}, self.clock.monotonic()
        self._asked = {key: at for key, at in self._asked.items() if key not in listed and now - at < PAUSE_S}
        self._refused = {
            key: (at, said) for key, (at, said) in self._refused.items() if key not in listed and now - at < 3 * PAUSE_S
        }
