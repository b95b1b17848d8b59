"""The runner of a Kubernetes cluster: one set of pods for each attempt, made by one request and listed with all others.

What it remembers saves requests, and explains. What there is, is what the cluster says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from bastion.errors import Later, RunnerError
from bastion.ports import AttemptKey, Clock, Ids, Machine, Placement, Sight
from quota.resources import Resources
from runners.google.names import name as name_of
from runners.kubernetes import names, parse, render
from runners.kubernetes.door import Api, ApiError, IsThere, NotThere, Object, Refused
from runners.kubernetes.parse import OVER, Pod, Set
from runners.kubernetes.settings import KubernetesSettings
from runners.kubernetes.shapes import KINDS_OF_CLUSTERS

NOTICE_S, DELETE_S = 86_400, 1
"""What is left to a pod that is told to stop, which its own worker ends in time; and to one that is taken down."""

PAUSE_S = 60.0
"""So long an attempt is not asked for again that the cluster refused."""

_JOBSETS, _QUEUES = "jobset.x-k8s.io", "kueue.x-k8s.io"


@dataclass(frozen=True, slots=True)
class Has:
    """What a cluster can do: the API that sets are made by, and Kueue's; "" without it."""

    sets: str
    queue: str

    @property
    def kind(self) -> str:
        """The sets' resource."""
        return "jobs" if self.sets == render.JOB else "jobsets"


@dataclass(kw_only=True)
class KubernetesRunner:
    """Pods in one namespace. `scope` names the bastion, the same at every start; `given` bounds the whole."""

    api: Api
    settings: KubernetesSettings
    scope: str
    ids: Ids
    clock: Clock
    worker: render.Worker
    given: Resources | None = None
    name: str = "kubernetes"
    pace_s: float = 2.0
    offers: Collection[str] | None = field(init=False)
    _has: Has | None = None
    _pods: Sequence[Pod] = ()
    _sets: Sequence[Set] = ()
    _queued: Mapping[str, str] = field(default_factory=dict)
    _asked: dict[AttemptKey, float] = field(default_factory=dict)
    _refused: dict[AttemptKey, tuple[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = KINDS_OF_CLUSTERS | self.settings.kinds.keys()
        self.offers = kinds if self.given is None else kinds & self.given.keys()

    def capacity(self) -> Resources | None:
        """As given; to count nodes would take rights on the whole cluster, and they come and go."""
        return self.given

    def workers(self, resources: Resources, replicas: int) -> int:
        """The pods of all replicas. Raises `RunnerError` for what no pods can be."""
        return render.workers(resources, replicas, self.settings)

    def create(self, placement: Placement) -> None:
        """Make the set of the attempt, unless it is there. One that has ended makes room for its successor."""
        if any(one.mark.key == placement.key and not one.over for one in self._sets):
            return
        at, said = self._refused.get(placement.key, (float("-inf"), ""))
        if self.clock.monotonic() - at < PAUSE_S:
            raise Later(said)
        try:
            body = self._manifest(placement)
            try:
                self.api.create(self._path(), body)
            except IsThere:
                if self._make_room(body["metadata"]["name"]):
                    self.api.create(self._path(), body)
        except (Refused, RunnerError) as error:
            if isinstance(error, Refused) or not isinstance(error, ApiError):
                self._refused[placement.key] = self.clock.monotonic(), str(error)
            raise
        self._refused.pop(placement.key, None)
        self._asked[placement.key] = self.clock.monotonic()

    def stop(self, machine: str) -> None:
        """Notice to the pod: SIGTERM, and more time than its job can have."""
        if pod := names.pod_of(machine):
            self._delete("pods", *pod, NOTICE_S)

    def delete(self, machine: str) -> None:
        """Take the pod down; or, of a set that has none yet, the set."""
        if pod := names.pod_of(machine):
            self._delete("pods", *pod, DELETE_S)
        elif unborn := names.unborn_of(machine):
            name, nonce = unborn
            for one in self._sets:
                if (one.name, one.mark.nonce) == (name, nonce):
                    self._delete(self._can().kind, one.name, one.uid)

    def list(self) -> Sequence[Machine]:
        """All machines of this bastion: a question for pods and one for sets, and one for Kueue's queue if it is used."""
        selector = f"{names.SCOPE}={self.scope}"
        has = self._can()
        try:
            sets = self.api.items(self._path(), selector)
        except NotThere:
            self._has = None  # JobSet was installed or removed meanwhile: it is asked about anew
            raise
        pods = self.api.items(f"/api/v1/namespaces/{self.settings.namespace}/pods", selector)
        self._sets = [one for row in sets if (one := parse.set_of(row, self.scope))]
        self._pods = [pod for row in pods if (pod := parse.pod_of(row, self.scope))]
        self._queued = self._in_queue(has)
        self._forget()
        return list(parse.machines(self._pods, self._sets))

    def sweep(self) -> None:
        """Sets that have ended are removed by the cluster itself, after an hour."""

    def clear(self) -> None:
        """Remove what has ended, too, where there are no machines any more, and none will come."""
        for one in self._sets:
            self._delete(self._can().kind, one.name, one.uid)

    def waiting(self) -> Mapping[AttemptKey, str]:
        """What the attempts wait for that have no running pods."""
        asked = dict.fromkeys(self._asked, "the cluster has yet to make its pods")
        refused = {key: said for key, (_, said) in self._refused.items()}
        return asked | refused | parse.waiting(self._pods, self._sets, self._queued)

    def look(self, machine: str) -> Sight:
        """The direct question about one pod."""
        try:
            return Sight.THERE if self._is_there(machine) else Sight.GONE
        except ApiError:
            return Sight.BLIND

    def _manifest(self, placement: Placement) -> Object:
        mark = render.mark(self.scope, placement, self.ids.new(), self.settings)
        name = name_of(self.scope, placement.key)
        return render.manifest(self._can().sets, name, mark, placement, self.settings, self.worker)

    def _is_there(self, machine: str) -> bool:
        pod, unborn = names.pod_of(machine), names.unborn_of(machine)
        try:
            if pod:
                row = self.api.get(f"/api/v1/namespaces/{self.settings.namespace}/pods/{pod[0]}")
                found = (row.get("metadata") or {}).get("uid") == pod[1]
                return found and (row.get("status") or {}).get("phase") not in OVER
            if unborn:
                row = self.api.get(f"{self._path()}/{unborn[0]}")
                one = parse.set_of(row, self.scope)
                return one is not None and one.mark.nonce == unborn[1] and not one.over
        except NotThere:
            pass
        return False

    def _make_room(self, name: str) -> bool:
        """Remove the set of this name if it has ended. False if it lives: then nothing is missing."""
        try:
            row = self.api.get(f"{self._path()}/{name}")
        except NotThere:
            return True
        one = parse.set_of(row, self.scope)
        if one is None:
            raise RunnerError(
                f"{name} in namespace {self.settings.namespace} is none of ours, and in our way; delete it"
            )
        if one.over:
            self._delete(self._can().kind, one.name, one.uid)
        return one.over

    def _delete(self, kind: str, name: str, uid: str, grace_s: int | None = None) -> None:
        base = f"/api/v1/namespaces/{self.settings.namespace}" if kind == "pods" else self._path().rpartition("/")[0]
        with suppress(NotThere, IsThere):  # it is gone, or another has its name
            self.api.delete(f"{base}/{kind}/{name}", uid, grace_s=grace_s)

    def _path(self) -> str:
        has = self._can()
        return f"/apis/{has.sets}/namespaces/{self.settings.namespace}/{has.kind}"

    def _in_queue(self, has: Has) -> Mapping[str, str]:
        """What Kueue says of the sets that it holds."""
        if not (self.settings.queue and has.queue and any(one.held and not one.over for one in self._sets)):
            return {}
        path = f"/apis/{has.queue}/namespaces/{self.settings.namespace}/workloads"
        try:
            rows = self.api.items(path, "")
        except Refused as error:  # it is only for words
            return {one.uid: str(error) for one in self._sets}
        return dict(told for row in rows if (told := parse.queued_of(row)))

    def _can(self) -> Has:
        """What the cluster can do, asked once."""
        if self._has is None:
            groups = {
                row.get("name"): row.get("preferredVersion", {}) for row in self.api.get("/apis").get("groups", [])
            }
            sets = render.JOBSET if _JOBSETS in groups else render.JOB
            self._has = Has(sets, groups.get(_QUEUES, {}).get("groupVersion", ""))
        return self._has

    def _forget(self) -> None:
        """What is listed explains itself; what was refused long ago is asked for anew, if it is still wanted."""
        listed, now = {one.mark.key for one in self._sets}, self.clock.monotonic()
        self._asked = {key: at for key, at in self._asked.items() if key not in listed and now - at < PAUSE_S}
        self._refused = {
            key: (at, said) for key, (at, said) in self._refused.items() if key not in listed and now - at < 3 * PAUSE_S
        }
