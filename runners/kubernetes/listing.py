"""The listing of one bastion in a cluster: its sets and its pods, and more questions only where something is missing.

A set is a JobSet or a Job. The first listing finds out which of them the cluster has; it is asked again while there are
no JobSets, or none any more. Jobs that were made before there were JobSets are listed too, until the last one has
ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from bastion.model.interfaces import AttemptKey, Clock

from . import names, parse, render
from .interface import Api, ApiRefused, Object, ObjectMissing
from .parse import AttemptSet, Pod
from .settings import KubernetesSettings

ANEW_S, LATE_S, AGAIN_S = 60.0, 5.0, 10.0
"""Times in seconds.

ANEW_S: how often we ask whether the cluster has JobSets now.
LATE_S: how late the pods of a set must be before we ask for the reason.
AGAIN_S: how long we wait before we ask for reasons again.
"""

KINDS = {"jobsets": render.JOBSET, "jobs": render.JOB}
"""The resources that a set can be, each with its API."""

_QUEUES = "kueue.x-k8s.io"
_REFUSED = "involvedObject.kind=Job,reason=FailedCreate"


@dataclass(frozen=True, slots=True)
class ClusterFeatures:
    """The abilities of a cluster.

    kinds: the resources of our sets, the one for new sets first.
    queue: Kueue's API; "" means that the cluster has no Kueue.
    """

    kinds: tuple[str, ...]
    queue: str

    @property
    def sets(self) -> str:
        """The API that new sets are made with."""
        return KINDS[self.kinds[0]]


@dataclass(kw_only=True)
class KubernetesListing:
    """The last listing of a cluster.

    api: the cluster's API.
    settings: the settings in `[runner_options.kubernetes]`.
    scope: the bastion's scope.
    clock: the clock for the times between questions.
    pods: the bastion's pods that a Job owns.
    strangers: the pods with the bastion's labels that no Job owns.
    sets: the bastion's JobSets and Jobs.
    fallen: the nonce and worker of each pod that existed and ended, while its set goes on.
    """

    api: Api
    settings: KubernetesSettings
    scope: str
    clock: Clock
    pods: Sequence[Pod] = ()
    strangers: Sequence[Pod] = ()
    sets: Sequence[AttemptSet] = ()
    fallen: frozenset[tuple[str, int]] = frozenset()
    _queued: Mapping[str, str] = field(default_factory=dict)
    _refused: Mapping[str, str] = field(default_factory=dict)
    _late: dict[str, float] = field(default_factory=dict)
    _has: ClusterFeatures | None = None
    _at: float = float("-inf")
    _asked: float = float("-inf")

    def look(self) -> None:
        """List everything. Raises `ApiError`. If sets or pods could not be listed, the earlier ones stay."""
        selector = f"{names.SCOPE}={self.scope}"
        has = self.can()
        try:
            rows = {kind: self.api.items(self.path(kind), selector) for kind in has.kinds}
        except ObjectMissing:
            self._has = None  # JobSet was removed meanwhile: find out again what the cluster has
            raise
        pods = self.api.items(self.path("pods"), selector)
        marked = [pod for row in pods if (pod := parse.pod_of(row, self.scope))]
        self.strangers = [pod for pod in marked if not pod.owned]
        self._keep(rows, [pod for pod in marked if pod.owned])
        self._queued = self._in_queue(has)
        self._refused = self._kept_out()
        if has.kinds == ("jobs",) and self.clock.monotonic() - self._at >= ANEW_S:
            self._has = None
        elif has.kinds == ("jobsets", "jobs") and not any(one.kind == "jobs" and not one.over for one in self.sets):
            self._has = replace(has, kinds=("jobsets",))

    def waiting(self) -> dict[AttemptKey, str]:
        """Return what attempts wait for, by the last listing."""
        return parse.waiting(self.pods, self.sets, self._queued, self._refused)

    def can(self) -> ClusterFeatures:
        """Return what the cluster can do."""
        if self._has is None:
            groups = self.api.get("/apis").get("groups") or []
            served = {one.get("groupVersion") for group in groups for one in group.get("versions") or []}
            queues = [group for group in groups if group.get("name") == _QUEUES]
            queue = (queues[0].get("preferredVersion") or {}).get("groupVersion", "") if queues else ""
            self._has = ClusterFeatures(("jobsets", "jobs") if render.JOBSET in served else ("jobs",), queue)
            self._at = self.clock.monotonic()
        return self._has

    def path(self, kind: str, name: str = "") -> str:
        """Return the path of all objects of a kind, or of one."""
        root = f"/apis/{KINDS[kind]}" if kind in KINDS else "/api/v1"
        return "/".join(filter(None, (root, "namespaces", self.settings.namespace, kind, name)))

    def _keep(self, rows: Mapping[str, Sequence[Object]], pods: Sequence[Pod]) -> None:
        sets = [one for kind, found in rows.items() for row in found if (one := parse.set_of(row, self.scope, kind))]
        listed = {one.mark.nonce for one in sets if not one.over and not one.held}
        alive = {(pod.mark.nonce, pod.worker) for pod in pods if pod.phase not in parse.OVER}
        before = {(pod.mark.nonce, pod.worker) for pod in (*self.pods, *pods)} | self.fallen
        self.fallen = frozenset(one for one in before - alive if one[0] in listed)
        self.pods, self.sets = pods, sets

    def _in_queue(self, has: ClusterFeatures) -> Mapping[str, str]:
        """Return what Kueue says about the sets that it holds, by their uid."""
        if not (self.settings.queue and has.queue and any(one.held and not one.over for one in self.sets)):
            return {}
        path = f"/apis/{has.queue}/namespaces/{self.settings.namespace}/workloads"
        try:
            rows = self.api.items(path, "")
        except ApiRefused as error:  # the workloads only explain: the listing goes on without them
            return {one.uid: str(error) for one in self.sets}
        return dict(told for row in rows if (told := parse.queued_of(row)))

    def _kept_out(self) -> Mapping[str, str]:
        """Return why the cluster does not make pods that are late, by the uid of their set."""
        late, now = parse.lacking(self.pods, self.sets), self.clock.monotonic()
        self._late = {one.uid: self._late.get(one.uid, now) for one in late}
        if not any(now - since >= LATE_S for since in self._late.values()):
            return {}
        if now - self._asked < AGAIN_S:
            return {uid: said for uid, said in self._refused.items() if uid in self._late}
        self._asked = now
        with suppress(ApiRefused):  # the events only explain: the listing goes on without them
            return parse.kept_out(self.api.items(self.path("events"), "", _REFUSED), late)
        return {}
