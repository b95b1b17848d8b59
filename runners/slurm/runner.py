"""The runner of a Slurm cluster: one job of Slurm's for each attempt, with a worker on each of its nodes.

All that is known of a job stands in its name, and is believed where the seal proves it: a job may start others, and call them
as it likes. What is remembered saves requests, and holds back.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bastion.model.errors import Later, RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, Placement, Seal, Shell, Sight
from bastion.quota.resources import Resources, minus

from . import parse, render
from .commands import Commands, SlurmRefused
from .parse import SlurmJob
from .render import NOTICE, Name, SlurmNode
from .settings import SlurmSettings

AGAIN_S = 30.0
"""So long a submission that was refused is not tried again, and what the nodes hold together is not asked again."""

_SAME_S = 1.0

_REST = 3
"""After a listing the queue is left alone for so many times as long as that took: a busy controller is spared."""


@dataclass(kw_only=True)
class SlurmRunner:
    """Nodes of a cluster. `scope` names the bastion, the same at every start; `bucket_url` is its folder in the bucket.

    `given` bounds the whole; `python` is the interpreter on the nodes; `flags` go to every worker.
    """

    settings: SlurmSettings
    scope: str
    bucket_url: str
    python: str
    shell: Shell
    ids: Ids
    seal: Seal
    clock: Clock
    given: Resources | None = None
    flags: Mapping[str, object] = field(default_factory=dict)
    name: str = "slurm"
    offers: Collection[str] | None = None
    pace_s: float = field(init=False)
    _jobs: dict[int, SlurmJob] | None = None
    _refused: dict[AttemptKey, tuple[float, str]] = field(default_factory=dict)
    _unwanted: set[SlurmNode] = field(default_factory=set)
    _noticed: dict[str, float] = field(default_factory=dict)
    _nodes: tuple[float, Resources] = (float("-inf"), {})

    def __post_init__(self) -> None:
        self.pace_s = self.settings.poll_s

    def capacity(self) -> Resources | None:
        """As given, else what the partition's nodes hold; less what strangers use of it, if they are looked at."""
        at, held = self._nodes
        now = self.clock.monotonic()
        if now - at >= AGAIN_S:
            held = self.given if self.given is not None else self._inventory()
            self._nodes = now, held
        if not self.settings.observe_foreign:
            return held
        everybody = parse.jobs_of(self._commands.ask(parse.squeue(everybody=True)))
        used = parse.used_by_strangers(everybody, self.scope, self.settings.partition, self.settings.gres)
        return {kind: max(0, amount) for kind, amount in minus(held, used).items() if kind in held}

    def workers(self, resources: Resources, replicas: int) -> int:
        """One node for each replica."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Submit the attempt's job, unless it is there. Raises `Later` if Slurm refuses it, and says so to who waits."""
        jobs = self._known().values()
        if any(job.name and job.name.key == placement.key and job.alive and self._is_ours(job) for job in jobs):
            return
        now = self.clock.monotonic()
        until, why = self._refused.get(placement.key, (now, ""))
        if now < until:
            raise Later(why)
        nonce = self.seal.nonce(self.scope, placement.key, placement.epoch)
        name, command, script = self._submission(placement, nonce)
        try:
            number = self._commands.submit(command, script)
        except SlurmRefused as error:
            self._refused[placement.key] = now + AGAIN_S, str(error)
            raise Later(str(error)) from error
        self._refused.pop(placement.key, None)
        self._known()[number] = SlurmJob(number, "PENDING", "", placement.workers, 0, "", 0, "", "", "", name)

    def preview(self, placement: Placement) -> str:
        """The command and the script on its standard input; Slurm is not asked."""
        _, command, script = self._submission(placement, self.ids.new())
        return f"{shlex.join(command)} <<'EOF'\n{script}EOF"

    def _submission(self, placement: Placement, nonce: str) -> tuple[Name, list[str], str]:
        name = Name(self.scope, placement.key, placement.epoch, nonce)
        flags = {"bucket": self.bucket_url, **self.flags}
        script = render.script(self.settings, self.python, name, placement, flags)
        return name, render.sbatch(self.settings, name, placement), script

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """By the name in the id. Of an id of before 0.2 by the job of its number, as it was listed last."""
        node = render.node_of(machine)
        if node is None or node.worker != worker:
            return False
        job = (self._jobs or {}).get(node.number)
        name = node.name or (job.name if job else None)
        return name is None or (name.scope, name.key) == (self.scope, key)

    def stop(self, machine: str) -> None:
        """Have all workers of the attempt look for its stop order: they stop together."""
        node = render.node_of(machine)
        job = self._job(node) if node else None
        now = self.clock.monotonic()
        if node is None or job is None or now - self._noticed.get(node.nonce, float("-inf")) < _SAME_S:
            return
        self._commands.cancel(f"--signal={NOTICE}", str(job.number))
        self._noticed = {nonce: at for nonce, at in self._noticed.items() if now - at < _SAME_S} | {node.nonce: now}

    def delete(self, machine: str) -> None:
        """Take the node down, with all others of its attempt, once this was asked for each of them.

        The step is killed by itself: what ends the whole job would begin with a notice, and wait.
        """
        node = render.node_of(machine)
        job = self._job(node) if node else None
        if node is None or job is None:
            return
        if job.name is None or job.name.nonce != node.nonce:
            raise RunnerError(
                f"Slurm job {job.number} has another name now, so it is not cancelled; see `scontrol show job`"
            )
        self._unwanted.add(node)
        if {SlurmNode(job.number, worker, node.nonce, node.name) for worker in range(job.nodes)} <= self._unwanted:
            self._commands.cancel(f"{job.number}.0")
            self._commands.cancel(str(job.number))

    def list(self) -> Sequence[Machine]:
        """All machines of this bastion, by one question. Raises `RunnerError` if Slurm does not answer."""
        began = self.clock.monotonic()
        self._jobs = jobs = parse.scope_of(parse.jobs_of(self._commands.ask(parse.squeue())), self.scope)
        machines = [machine for job in jobs.values() for machine in job.machines(ours=self._is_ours(job))]
        self._unwanted = {node for node in self._unwanted if node.number in jobs and jobs[node.number].alive}
        now = self.clock.monotonic()
        self.pace_s = max(self.settings.poll_s, min(_REST * (now - began), AGAIN_S))
        self._refused = {key: said for key, said in self._refused.items() if now < said[0] + AGAIN_S}
        return machines

    def sweep(self) -> None:
        """A worker removes its folder when it ends, and those of workers that fell on its node before."""

    def waiting(self) -> Mapping[AttemptKey, str]:
        """What Slurm says of attempts without nodes, and why it refused some."""
        jobs = sorted(self._known().values(), key=lambda job: job.number)
        said = {job.name.key: parse.said_of(job) for job in jobs if job.name and self._is_ours(job)}
        refused = {key: why for key, (_, why) in self._refused.items()}
        return {key: words for key, words in {**said, **refused}.items() if words}

    def look(self, machine: str) -> Sight:
        """The direct question. A job that Slurm has forgotten ended long ago."""
        node = render.node_of(machine)
        try:
            return Sight.THERE if node and self._asked(node) else Sight.GONE
        except RunnerError:
            return Sight.BLIND

    def _is_ours(self, job: SlurmJob) -> bool:
        """Its name is proved."""
        name = job.name
        return name is not None and self.seal.proves(name.nonce, name.scope, name.key, name.epoch)

    @property
    def _commands(self) -> Commands:
        return Commands(self.shell)

    def _known(self) -> dict[int, SlurmJob]:
        """The jobs as they were listed last, and those submitted since."""
        if self._jobs is None:
            self.list()
        assert self._jobs is not None
        return self._jobs

    def _job(self, node: SlurmNode) -> SlurmJob | None:
        """The job that a node is of, if it lives: as listed, else as Slurm says now."""
        if node.name and node.name.scope != self.scope:
            return None
        job = self._known().get(node.number)
        if job and job.name and job.name.nonce == node.nonce:
            return job if job.alive and node.worker < job.nodes else None
        return self._asked(node)

    def _asked(self, node: SlurmNode) -> SlurmJob | None:
        """The same, by a direct question. A job may change its own name, and is still it; not if it has one that we gave."""
        answer = self._commands.ask(parse.squeue(number=node.number))
        for job in parse.jobs_of(answer):
            same = job.name is not None and job.name.nonce == node.nonce and job.name.scope == self.scope
            renamed = node.name is not None and not same and not self._is_ours(job)
            if job.number == node.number and job.alive and node.worker < job.nodes and (same or renamed):
                return job
        return None

    def _inventory(self) -> Resources:
        partition = self.settings.partition
        held = parse.capacity_of(self._commands.ask(parse.sinfo()), partition, self.settings.gres)
        if held is None:
            named = f"partition {partition}" if partition else "default partition"
            raise RunnerError(
                f"Slurm has no {named} with nodes; change partition of [runner_options.slurm] in config.toml"
            )
        return held
