"""The runner of an existing Ray cluster. What it remembers saves requests and holds back: machines are what Ray lists."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, Placement, Seal, Sight
from bastion.quota.resources import Resources

from . import parse, render
from .api import Answer, Dashboard
from .parse import RayJob
from .render import Name
from .settings import RaySettings

LOST_S = 90.0
"""So long the processes of a node may live on that Ray, or its head, has lost sight of: a node that reaches no head
ends by itself after 60 s, and what runs on it with it."""

AGAIN_S = 30.0
"""A removal that has not come to its end is asked for again after so long."""

HALF_S = 300.0
"""So long a part of a gang may hold its places while the rest waits for theirs. Then they are given back, and it starts anew."""

KEPT_S = 3600.0
"""So long Ray keeps the record of an ended job of ours, for people."""

_FOUND, _NOT_FOUND, _TAKEN = 200, 404, 400
_UNKNOWN = (401, 403)
"""It does not know who we are."""

_NODES = "/api/v0/nodes?detail=true&limit=10000"


@dataclass(kw_only=True)
class RayRunner:
    """Each machine is one Ray job. `scope` names the bastion, the same at every start; `given` bounds the whole.

    `bucket_url` is the bastion's folder in the bucket; `flags` go to every worker.
    """

    dashboard: Dashboard
    settings: RaySettings
    scope: str
    bucket_url: str
    ids: Ids
    seal: Seal
    clock: Clock
    given: Resources | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    name: str = "ray"
    pace_s: float = 1.0
    offers: Collection[str] | None = None
    _listed: Sequence[RayJob] = ()
    _nodes: Sequence[parse.Node] = ()
    _made: dict[Name, float] = field(default_factory=dict)
    _removed: dict[str, float] = field(default_factory=dict)
    _lost: dict[str, float] = field(default_factory=dict)
    _halves: dict[AttemptKey, float] = field(default_factory=dict)
    _session: str = ""

    def capacity(self) -> Resources | None:
        """As given; else what Ray's nodes have. None while they cannot be listed."""
        try:
            self._nodes = parse.nodes(self._get(_NODES))
        except RunnerError:
            return self.given
        return self.given if self.given is not None else parse.capacity(self._nodes, self.settings.resources)

    def workers(self, resources: Resources, replicas: int) -> int:
        """One node for each replica, or a part of one."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Submit a Ray job for each worker that has none. Raises `RunnerError` if Ray refuses one."""
        listed = {job.name for job in self._listed if not job.over and self._is_ours(job.name)}
        there = {name.worker for name in {*listed, *self._made} if name.key == placement.key}
        for worker in sorted(set(range(placement.workers)) - there):
            self._session = self._session or self._session_now()
            nonce = self.seal.nonce(self.scope, placement.key, worker, placement.epoch)
            name, body = self._submission(placement, worker, nonce)
            _good(self.dashboard.ask("POST", "/api/jobs/", body), f"take a job for {placement.key}")
            self._made[name] = self.clock.monotonic()

    def preview(self, placement: Placement) -> str:
        """The body of the first worker's request; Ray is not asked."""
        return json.dumps(self._submission(placement, 0, self.ids.new())[1], indent=2)

    def _submission(self, placement: Placement, worker: int, nonce: str) -> tuple[Name, dict[str, Any]]:
        name = Name(self.scope, placement.key, worker, placement.epoch, self._session, nonce)
        return name, render.submission(name, placement, self.bucket_url, self.settings, self.flags)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """By the parts of the id."""
        name = self._name(machine)
        return name is not None and (name.key, name.worker) == (key, worker)

    def stop(self, machine: str) -> None:
        """SIGTERM to the machine's host, which hands it to the worker; Ray's own SIGKILL is put off."""
        if self._name(machine) is None:
            return
        answer = self.dashboard.ask("POST", f"{_path(machine)}/stop")
        if answer.status not in (_FOUND, _NOT_FOUND):
            raise RunnerError(f"Ray does not stop {machine}: {answer.words}")

    def delete(self, machine: str) -> None:
        """Kill all of the machine on its node; what has no node yet is stopped, and ends where it begins."""
        now = self.clock.monotonic()
        self._removed = {name: at for name, at in self._removed.items() if now - at < AGAIN_S}
        if machine in self._removed:
            return
        job = self._job(machine)
        if job is not None and not job.over:
            if job.node:
                self._remove(machine, job.node)
            else:
                self.stop(machine)
            self._removed[machine] = now

    def list(self) -> Sequence[Machine]:
        """All machines of this bastion, by one question."""
        asked, self._session = self.clock.monotonic(), ""
        self._listed = parse.jobs(self._get("/api/jobs/"), self.scope)
        names = {job.name for job in self._listed}
        self._made = {name: at for name, at in self._made.items() if name not in names and asked - at < LOST_S}
        self._lost = {machine: at for machine, at in self._lost.items() if asked - at < 2 * LOST_S}
        ours = [job for job in self._listed if self._is_ours(job.name)]
        self._halves = {key: self._halves.get(key, asked) for key in parse.halves(ours)}
        broken = {key for key, since in self._halves.items() if asked - since >= HALF_S}
        live = [(job, self._is_ours(job.name)) for job in self._listed if not job.over]
        return [job.name.machine(seen=not job.pending, doomed=job.name.key in broken, ours=ours) for job, ours in live]

    def sweep(self) -> None:
        """Have Ray forget jobs of ours that ended more than an hour ago. Hosts sweep the folders of their nodes."""
        old = self.clock.wall().timestamp() - KEPT_S
        for job in self._listed:
            if job.over and job.ended < old and self._is_ours(job.name):
                self.dashboard.ask("DELETE", _path(str(job.name)))
                self.dashboard.ask("DELETE", _path(render.removal_of(str(job.name))))

    def waiting(self) -> Mapping[AttemptKey, str]:
        """What attempts wait for whose Ray jobs wait or did not begin."""
        return parse.waiting([job for job in self._listed if self._is_ours(job.name)], self._nodes)

    def look(self, machine: str) -> Sight:
        """The direct question. What Ray has lost sight of is gone only a while later: its node may not know it yet."""
        if self.clock.monotonic() - self._lost.get(machine, float("-inf")) < LOST_S:
            return Sight.BLIND
        try:
            name, job = self._name(machine), self._job(machine)
            if job is not None and not job.over:
                return Sight.THERE
            lost = job.lost if job else name is not None and name.session != self._session_now()
        except RunnerError:
            return Sight.BLIND
        if lost and machine not in self._lost:
            self._lost[machine] = self.clock.monotonic()
            return Sight.BLIND
        return Sight.GONE

    def _session_now(self) -> str:
        """The mark of the head's session. One that came after the machine's head, without its memory, knows nothing of it."""
        return render.session_mark(parse.session(self._get("/api/version")))

    def _name(self, machine: str) -> Name | None:
        """The parts of an id; None if it is none of this bastion's."""
        name = render.parse(machine)
        return name if name is not None and name.scope == self.scope else None

    def _is_ours(self, name: Name) -> bool:
        """Anybody may submit a job under any id: ours is one that the seal proves."""
        return self.seal.proves(name.nonce, name.scope, name.key, name.worker, name.epoch)

    def _job(self, machine: str) -> RayJob | None:
        """The machine's Ray job; None if there is none. Raises `RunnerError`."""
        if self._name(machine) is None:
            return None
        answer = self.dashboard.ask("GET", _path(machine))
        if answer.status == _NOT_FOUND:
            return None
        return parse.job(_good(answer, f"tell of {machine}"))

    def _remove(self, machine: str, node: str) -> None:
        answer = self.dashboard.ask("POST", "/api/jobs/", render.removal(machine, node, self.settings))
        if (
            answer.status == _TAKEN
        ):  # an earlier one, which may have failed: once Ray has forgotten it, another can come
            self.dashboard.ask("DELETE", _path(render.removal_of(machine)))
        else:
            _good(answer, f"remove {machine}")

    def _get(self, path: str) -> bytes:
        return _good(self.dashboard.ask("GET", path), f"answer {path}")


def _path(machine: str) -> str:
    return f"/api/jobs/{quote(machine, safe='')}"


def _good(answer: Answer, what: str) -> bytes:
    if answer.status in _UNKNOWN:
        raise RunnerError(
            f"Ray does not {what}: {answer.words}; set token_file in [runner_options.ray] to a file with its token"
        )
    if answer.status != _FOUND:
        raise RunnerError(f"Ray does not {what}: {answer.status} {answer.words}")
    return answer.data
