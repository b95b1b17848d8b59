"""What a cluster shows of one bastion: by a listing of its sets and one of its pods, and more only where something is not there.

Which API makes sets is asked at the start, and anew while there are no JobSets, or none any more. Jobs that were made before
there were JobSets are listed beside them until the last one has ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from bastion.model.interfaces import AttemptKey, Clock

from . import names, parse, render
from .interface import Api, ApiRefused, Object, ObjectMissing
from .parse import Pod, Set
from .settings import KubernetesSettings

ANEW_S, LATE_S, AGAIN_S = 60.0, 5.0, 10.0
"""So often it is asked whether there are JobSets now. A set whose pods are so late is asked about, and no sooner again."""

KINDS = {"jobsets": render.JOBSET, "jobs": render.JOB}
"""The resources that sets are, each with its API."""

_QUEUES = "kueue.x-k8s.io"
_REFUSED = "involvedObject.kind=Job,reason=FailedCreate"


@dataclass(frozen=True, slots=True)
class Has:
    """What a cluster can do: the resources that our sets are, that of new ones first; and Kueue's API, "" without it."""

    kinds: tuple[str, ...]
    queue: str

    @property
    def sets(self) -> str:
        """The API that new sets are made by."""
        return KINDS[self.kinds[0]]


@dataclass(kw_only=True)
class Listing:
    """The last look. `fallen`: pods, by nonce and worker, that were there and ended, of sets that are still listed."""

    api: Api
    settings: KubernetesSettings
    scope: str
    clock: Clock
    pods: Sequence[Pod] = ()
    strangers: Sequence[Pod] = ()
    sets: Sequence[Set] = ()
    fallen: frozenset[tuple[str, int]] = frozenset()
    _queued: Mapping[str, str] = field(default_factory=dict)
    _refused: Mapping[str, str] = field(default_factory=dict)
    _late: dict[str, float] = field(default_factory=dict)
    _has: Has | None = None
    _at: float = float("-inf")
    _asked: float = float("-inf")

    def look(self) -> None:
        """Ask. Raises `ApiError`, and what is known stays as it was."""
        selector = f"{names.SCOPE}={self.scope}"
        has = self.can()
        try:
            rows = {kind: self.api.items(self.path(kind), selector) for kind in has.kinds}
        except ObjectMissing:
            self._has = None  # JobSet was removed meanwhile: it is asked about anew
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
        """What attempts wait for, by what was listed."""
        return parse.waiting(self.pods, self.sets, self._queued, self._refused)

    def can(self) -> Has:
        """What the cluster can do."""
        if self._has is None:
            groups = self.api.get("/apis").get("groups") or []
            served = {one.get("groupVersion") for group in groups for one in group.get("versions") or []}
            queues = [group for group in groups if group.get("name") == _QUEUES]
            queue = (queues[0].get("preferredVersion") or {}).get("groupVersion", "") if queues else ""
            self._has = Has(("jobsets", "jobs") if render.JOBSET in served else ("jobs",), queue)
            self._at = self.clock.monotonic()
        return self._has

    def path(self, kind: str, name: str = "") -> str:
        """Of all objects of a kind, or of one."""
        root = f"/apis/{KINDS[kind]}" if kind in KINDS else "/api/v1"
        return "/".join(filter(None, (root, "namespaces", self.settings.namespace, kind, name)))

    def _keep(self, rows: Mapping[str, Sequence[Object]], pods: Sequence[Pod]) -> None:
        sets = [one for kind, found in rows.items() for row in found if (one := parse.set_of(row, self.scope, kind))]
        listed = {one.mark.nonce for one in sets if not one.over and not one.held}
        alive = {(pod.mark.nonce, pod.worker) for pod in pods if pod.phase not in parse.OVER}
        before = {(pod.mark.nonce, pod.worker) for pod in (*self.pods, *pods)} | self.fallen
        self.fallen = frozenset(one for one in before - alive if one[0] in listed)
        self.pods, self.sets = pods, sets

    def _in_queue(self, has: Has) -> Mapping[str, str]:
        """What Kueue says of the sets that it holds."""
        if not (self.settings.queue and has.queue and any(one.held and not one.over for one in self.sets)):
            return {}
        path = f"/apis/{has.queue}/namespaces/{self.settings.namespace}/workloads"
        try:
            rows = self.api.items(path, "")
        except ApiRefused as error:  # it is only for words
            return {one.uid: str(error) for one in self.sets}
        return dict(told for row in rows if (told := parse.queued_of(row)))

    def _kept_out(self) -> Mapping[str, str]:
        """Why the cluster does not make pods that are late, by the uid of their set."""
        late, now = parse.lacking(self.pods, self.sets), self.clock.monotonic()
        self._late = {one.uid: self._late.get(one.uid, now) for one in late}
        if not any(now - since >= LATE_S for since in self._late.values()):
            return {}
        if now - self._asked < AGAIN_S:
            return {uid: said for uid, said in self._refused.items() if uid in self._late}
        self._asked = now
        with suppress(ApiRefused):  # it is only for words
            return parse.kept_out(self.api.items(self.path("events"), "", _REFUSED), late)
        return {}
