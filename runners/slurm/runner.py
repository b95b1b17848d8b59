"""The runner of a Slurm cluster: one job of Slurm's for each attempt, with a worker on each of its nodes.

All facts of a job stand in its name, and count only if the seal proves them: a job may start others, and name them
freely. What the runner remembers only saves requests and delays retries.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, Clock, Ids, Machine, MachineExistence, Placement, Seal, Shell
from bastion.quota.resources import Resources, minus

from . import parse, render
from .commands import SlurmCommands, SlurmRefused
from .parse import SlurmJob
from .render import NOTICE, SlurmJobName, SlurmNode
from .settings import SlurmSettings

AGAIN_S = 30.0
"""Seconds before a refused submission is tried again, and before the nodes' capacity is read again."""

_SAME_S = 1.0

_REST = 3
"""The factor on a listing's duration for which the queue is left alone afterwards, to spare a busy controller."""


@dataclass(kw_only=True)
class SlurmRunner:
    """The runner of one Slurm cluster.

    settings: the options of the runner.
    scope: the name of the bastion, the same at every start.
    bucket_url: the bastion's folder in the bucket.
    python: the interpreter on the nodes.
    shell: runs Slurm's commands.
    ids: the source of nonces for previews.
    seal: gives and proves the nonces of names.
    clock: the time.
    given: the capacity to use instead of what the nodes hold; None to read it.
    flags: flags for every worker.
    name: the runner's name.
    offers: the kinds of resources that it has; None: those of its capacity.
    pace_s: seconds between two listings while attempts live.
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
        """Return the given capacity, else what the partition's nodes hold.

        If the settings ask to observe other jobs, what jobs other than the bastion's hold is subtracted.
        """
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
        """Return the number of workers: one node for each replica."""
        return replicas

    def create(self, placement: Placement) -> None:
        """Submit the attempt's job, unless it exists. Raises `NotReady`, with the reason, if Slurm refuses it."""
        jobs = self._known().values()
        if any(job.name and job.name.key == placement.key and job.alive and self._is_ours(job) for job in jobs):
            return
        now = self.clock.monotonic()
        until, why = self._refused.get(placement.key, (now, ""))
        if now < until:
            raise NotReady(why)
        nonce = self.seal.nonce(self.scope, placement.key, placement.epoch)
        name, command, script = self._submission(placement, nonce)
        try:
            number = self._commands.submit(command, script)
        except SlurmRefused as error:
            self._refused[placement.key] = now + AGAIN_S, str(error)
            raise NotReady(str(error)) from error
        self._refused.pop(placement.key, None)
        self._known()[number] = SlurmJob(number, "PENDING", "", placement.workers, 0, "", 0, "", "", "", name)

    def preview(self, placement: Placement) -> str:
        """Return the command and the script on its standard input, without a request to Slurm."""
        _, command, script = self._submission(placement, self.ids.new())
        return f"{shlex.join(command)} <<'EOF'\n{script}EOF"

    def _submission(self, placement: Placement, nonce: str) -> tuple[SlurmJobName, list[str], str]:
        name = SlurmJobName(self.scope, placement.key, placement.epoch, nonce)
        flags = {"bucket": self.bucket_url, **self.flags}
        script = render.script(self.settings, self.python, name, placement, flags)
        return name, render.sbatch(self.settings, name, placement), script

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """Return True if the name in the id matches.

        For an id of before 0.2 the job of its number counts, as it was last listed.
        """
        node = render.node_of(machine)
        if node is None or node.worker != worker:
            return False
        job = (self._jobs or {}).get(node.number)
        name = node.name or (job.name if job else None)
        return name is None or (name.scope, name.key) == (self.scope, key)

    def stop(self, machine: str) -> None:
        """Make all workers of the attempt look for its stop order: they stop together."""
        node = render.node_of(machine)
        job = self._job(node) if node else None
        now = self.clock.monotonic()
        if node is None or job is None or now - self._noticed.get(node.nonce, float("-inf")) < _SAME_S:
            return
        self._commands.cancel(f"--signal={NOTICE}", str(job.number))
        self._noticed = {nonce: at for nonce, at in self._noticed.items() if now - at < _SAME_S} | {node.nonce: now}

    def delete(self, machine: str) -> None:
        """Take down the node together with all others of its attempt, once this was called for each of them.

        The step is killed separately: a cancellation of the whole job would begin with a notice, and wait.
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
        """Return all machines of this bastion, with one request. Raises `RunnerError` if Slurm does not answer."""
        began = self.clock.monotonic()
        self._jobs = jobs = parse.scope_of(parse.jobs_of(self._commands.ask(parse.squeue())), self.scope)
        machines = [machine for job in jobs.values() for machine in job.machines(ours=self._is_ours(job))]
        self._unwanted = {node for node in self._unwanted if node.number in jobs and jobs[node.number].alive}
        now = self.clock.monotonic()
        self.pace_s = max(self.settings.poll_s, min(_REST * (now - began), AGAIN_S))
        self._refused = {key: said for key, said in self._refused.items() if now < said[0] + AGAIN_S}
        return machines

    def sweep(self) -> None:
        """Do nothing: a worker removes its folder at its end, and at its start those of crashed workers on its node."""

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return Slurm's reason for each attempt without nodes, and its refusals."""
        jobs = sorted(self._known().values(), key=lambda job: job.number)
        said = {job.name.key: parse.said_of(job) for job in jobs if job.name and self._is_ours(job)}
        refused = {key: why for key, (_, why) in self._refused.items()}
        return {key: words for key, words in {**said, **refused}.items() if words}

    def look(self, machine: str) -> MachineExistence:
        """Ask about one machine directly. A job that Slurm has forgotten ended long ago."""
        node = render.node_of(machine)
        try:
            return MachineExistence.THERE if node and self._asked(node) else MachineExistence.GONE
        except RunnerError:
            return MachineExistence.UNREACHABLE

    def _is_ours(self, job: SlurmJob) -> bool:
        """Return True if the seal proves the job's name."""
        name = job.name
        return name is not None and self.seal.proves(name.nonce, name.scope, name.key, name.epoch)

    @property
    def _commands(self) -> SlurmCommands:
        return SlurmCommands(self.shell)

    def _known(self) -> dict[int, SlurmJob]:
        """Return the jobs of the last listing, and those submitted since."""
        if self._jobs is None:
            self.list()
        assert self._jobs is not None
        return self._jobs

    def _job(self, node: SlurmNode) -> SlurmJob | None:
        """Return the live job of a node: from the last listing, else from Slurm now; None if there is none."""
        if node.name and node.name.scope != self.scope:
            return None
        job = self._known().get(node.number)
        if job and job.name and job.name.nonce == node.nonce:
            return job if job.alive and node.worker < job.nodes else None
        return self._asked(node)

    def _asked(self, node: SlurmNode) -> SlurmJob | None:
        """Return the same after a direct request.

        A job may change its own name and still counts; it does not if its new name is one that we gave.
        """
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
