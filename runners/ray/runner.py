"""The runner of an existing Ray cluster.

Ray's list defines the machines; what the runner remembers only saves requests.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, MachineExistence, Placement, Seal
from bastion.quota.resources import Resources

from . import parse, render
from .api import Dashboard, DashboardAnswer
from .parse import RayJob
from .render import RayJobName
from .settings import RaySettings

LOST_S = 90.0
"""Seconds that processes may live on a node with which Ray has lost contact.

A node that reaches no head ends by itself after 60 s, with all that runs on it.
"""

AGAIN_S = 30.0
"""Seconds before a removal that has not finished is requested again."""

HALF_S = 300.0
"""The most seconds that a part of a gang may hold its places while the rest waits for theirs.

Then the places are given back, and the gang starts again.
"""

KEPT_S = 3600.0
"""Seconds that Ray keeps the record of an ended job of ours, for people to read."""

_FOUND, _NOT_FOUND, _TAKEN = 200, 404, 400
_UNKNOWN = (401, 403)
"""The statuses that mean: Ray does not accept the sender."""

_NODES = "/api/v0/nodes?detail=true&limit=10000"


@dataclass(kw_only=True)
class RayRunner:
    """The runner of one Ray cluster: each machine is one Ray job.

    dashboard: the interface to Ray.
    settings: the options of the runner.
    scope: the name of the bastion, the same at every start.
    bucket_url: the bastion's folder in the bucket.
    ids: the source of nonces for previews.
    seal: gives and proves the nonces of names.
    clock: the time.
    given: the capacity to use instead of what the nodes have; None to read it.
    flags: flags for every worker.
    name: the runner's name.
    pace_s: seconds between two listings while attempts live.
    offers: the kinds of resources that it has; None: those of its capacity.
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
    _made: dict[RayJobName, float] = field(default_factory=dict)
    _removed: dict[str, float] = field(default_factory=dict)
    _lost: dict[str, float] = field(default_factory=dict)
    _halves: dict[AttemptKey, float] = field(default_factory=dict)
    _session: str = ""

    def capacity(self) -> Resources | None:
        """Return the given capacity, else what Ray's nodes have; None while they cannot be listed."""
        try:
            self._nodes = parse.nodes(self._get(_NODES))
        except RunnerError:
            return self.given
        return self.given if self.given is not None else parse.capacity(self._nodes, self.settings.resources)

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of workers: one node for each replica, or a part of one."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Submit a Ray job for each worker that has none. Raises `RunnerError` if Ray refuses one."""
        listed = {job.name for job in self._listed if not job.over and self._is_ours(job.name)}
        there = {name.worker for name in {*listed, *self._made} if name.key == placement.key}
        for worker in sorted(set(range(placement.workers)) - there):
            self._session = self._session or self._session_now()
            nonce = self.seal.nonce(self.scope, placement.key, worker, placement.epoch)
            name, body = self._submission(placement, worker, nonce)
            _good(self.dashboard.ask("POST", "/api/jobs/", body), f"accept a job for {placement.key}")
            self._made[name] = self.clock.monotonic()

    def preview(self, placement: Placement) -> str:
        """Return the body of the first worker's request, without a request to Ray."""
        return json.dumps(self._submission(placement, 0, self.ids.new())[1], indent=2)

    def _submission(self, placement: Placement, worker: int, nonce: str) -> tuple[RayJobName, dict[str, Any]]:
        name = RayJobName(self.scope, placement.key, worker, placement.epoch, self._session, nonce)
        return name, render.submission(name, placement, self.bucket_url, self.settings, self.flags)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """Return True if the parts of the id match."""
        name = self._name(machine)
        return name is not None and (name.key, name.worker) == (key, worker)

    def stop(self, machine: str) -> None:
        """Send SIGTERM to the machine's host, which passes it to the worker; Ray's own SIGKILL comes much later."""
        if self._name(machine) is None:
            return
        answer = self.dashboard.ask("POST", f"{_path(machine)}/stop")
        if answer.status not in (_FOUND, _NOT_FOUND):
            raise RunnerError(f"Ray does not stop {machine}: {answer.words}")

    def delete(self, machine: str) -> None:
        """Kill all of the machine on its node. A job without a node is stopped, and ends where it begins."""
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
        """Return all machines of this bastion, with one request."""
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
        """Make Ray forget jobs of ours that ended more than an hour ago. Hosts sweep the folders of their nodes."""
        old = self.clock.wall().timestamp() - KEPT_S
        for job in self._listed:
            if job.over and job.ended < old and self._is_ours(job.name):
                self.dashboard.ask("DELETE", _path(str(job.name)))
                self.dashboard.ask("DELETE", _path(render.removal_of(str(job.name))))

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return the reason for each attempt with Ray jobs that wait or did not begin."""
        return parse.waiting([job for job in self._listed if self._is_ours(job.name)], self._nodes)

    def look(self, machine: str) -> MachineExistence:
        """Ask about one machine directly.

        A machine that Ray has lost contact with is gone only some time later: its node may not have noticed yet.
        """
        if self.clock.monotonic() - self._lost.get(machine, float("-inf")) < LOST_S:
            return MachineExistence.UNREACHABLE
        try:
            name, job = self._name(machine), self._job(machine)
            if job is not None and not job.over:
                return MachineExistence.THERE
            lost = job.lost if job else name is not None and name.session != self._session_now()
        except RunnerError:
            return MachineExistence.UNREACHABLE
        if lost and machine not in self._lost:
            self._lost[machine] = self.clock.monotonic()
            return MachineExistence.UNREACHABLE
        return MachineExistence.GONE

    def _session_now(self) -> str:
        """Return the mark of the head's current session.

        A head that restarted without its old state knows nothing of the machine.
        """
        return render.session_mark(parse.session(self._get("/api/version")))

    def _name(self, machine: str) -> RayJobName | None:
        """Return the parts of an id; None if it does not belong to this bastion."""
        name = render.parse(machine)
        return name if name is not None and name.scope == self.scope else None

    def _is_ours(self, name: RayJobName) -> bool:
        """Return True if the seal proves the name: any user may submit a job under any id."""
        return self.seal.proves(name.nonce, name.scope, name.key, name.worker, name.epoch)

    def _job(self, machine: str) -> RayJob | None:
        """Return the machine's Ray job; None if there is none. Raises `RunnerError`."""
        if self._name(machine) is None:
            return None
        answer = self.dashboard.ask("GET", _path(machine))
        if answer.status == _NOT_FOUND:
            return None
        return parse.job(_good(answer, f"show {machine}"))

    def _remove(self, machine: str, node: str) -> None:
        answer = self.dashboard.ask("POST", "/api/jobs/", render.removal(machine, node, self.settings))
        if (
            answer.status == _TAKEN
        ):  # an earlier removal, which may have failed: once Ray forgets it, the next one can start
            self.dashboard.ask("DELETE", _path(render.removal_of(machine)))
        else:
            _good(answer, f"remove {machine}")

    def _get(self, path: str) -> bytes:
        return _good(self.dashboard.ask("GET", path), f"answer {path}")


def _path(machine: str) -> str:
    return f"/api/jobs/{quote(machine, safe='')}"


def _good(answer: DashboardAnswer, what: str) -> bytes:
    if answer.status in _UNKNOWN:
        raise RunnerError(
            f"Ray does not {what}: {answer.words}; set token_file in [runner_options.ray] to a file with its token"
        )
    if answer.status != _FOUND:
        raise RunnerError(f"Ray does not {what}: {answer.status} {answer.words}")
    return answer.data
