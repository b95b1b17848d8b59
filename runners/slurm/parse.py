"""The output of Slurm's commands, parsed into values. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bastion.model.interfaces import Machine
from bastion.quota.resources import Resources, plus, times

from .render import FOLDER_FAILED, WORKER_FAILED, SlurmJobName, SlurmNode, name_of

_FIELDS = {
    "JobID": 20,
    "State": 20,
    "Partition": 100,
    "NumNodes": 12,
    "NumCPUs": 12,
    "tres-per-node": 300,
    "exit_code": 12,
    "Comment": 300,
    "ReasonList": 300,
    "UserName": 60,
    "Name": 300,
}
_NODE_FIELDS = {"Partition": 100, "NodeList": 100, "CPUs": 12, "Memory": 16, "StateLong": 30, "Gres": 300}
_GRES = re.compile(r"(?:gres[:/])?gpu(?::([A-Za-z0-9_.-]*[A-Za-z_.-][A-Za-z0-9_.-]*))?(?:[:=]([0-9]{1,6}))?(?:\(.*\))?")
_MIB_IN_GIB = 1024

WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD"}
)
ENDED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
)
_OUT = ("down", "drain", "fail", "error", "future", "maint", "power", "reboot", "inval", "perfctrs", "block")

_REASONS = {
    "Resources": "Slurm has no free nodes for it",
    "Priority": "other jobs are before it in Slurm's queue",
    "BadConstraints": "no node of Slurm has what it asks for",
    "Reservation": "its reservation has not begun",
    "ReservationDeleted": "its reservation was deleted",
    "InvalidAccount": "Slurm does not know its account any more",
    "InvalidQOS": "Slurm does not know its QOS any more",
    "JobHeldUser": "somebody holds it in Slurm; release it with `scontrol release`",
    "JobHeldAdmin": "an administrator of Slurm holds it",
    "BeginTime": "Slurm lets it wait for a time",
    "PartitionDown": "its partition is down",
    "PartitionInactive": "its partition is not active",
    "PartitionNodeLimit": "its partition has not so many nodes",
    "PartitionTimeLimit": "its partition does not let jobs run so long",
    "PartitionConfig": "its partition has not so many nodes, or not such ones",
    "ReqNodeNotAvail": "nodes that it needs are not available",
    "NodeDown": "a node that it needs is down",
    "Licenses": "it waits for licenses",
    "AccountNotAllowed": "its account may not use its partition",
    "QOSNotAllowed": "its QOS may not use its partition",
    "Assoc": "its account or user is at a limit of Slurm's",
    "QOS": "its QOS is at a limit of Slurm's",
}
"""The meaning of Slurm's reasons.

For those of its accounting, which are many, the key is the beginning of the reason.
"""
_LIMITS = ("Assoc", "QOS")


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """A job of Slurm's.

    number: its number.
    state: its state, as Slurm names it.
    partition: its partition.
    nodes: the number of its nodes.
    cpus: the number of its processors on all nodes.
    gres: the accelerators of each node.
    code: its exit code.
    comment: the comment that Slurm stores with it.
    reason: why it waits.
    user: the account that submitted it.
    name: the parts of its name; None if it does not belong to a bastion.
    """

    number: int
    state: str
    partition: str
    nodes: int
    cpus: int
    gres: str
    code: int
    comment: str
    reason: str
    user: str
    name: SlurmJobName | None

    @property
    def alive(self) -> bool:
        """Return True if it has nodes, or will have some."""
        return self.state not in ENDED

    def machines(self, *, ours: bool) -> Iterator[Machine]:
        """Yield its nodes as machines; none when it has ended. `ours`: its name is proved."""
        for worker in range(self.nodes if self.alive and self.name else 0):
            assert self.name is not None
            node = SlurmNode(self.number, worker, self.name.nonce, self.name if ours else None)
            yield Machine(
                id=str(node),
                key=self.name.key,
                worker=worker,
                epoch=self.name.epoch,
                seen=self.state not in WAITING,
                ours=ours,
                origin=f"Slurm job {self.number} of {self.user}",
            )


def squeue(*, everybody: bool = False, number: int | None = None) -> list[str]:
    """Return the command that lists this account's jobs, all accounts' running jobs, or one job of this account."""
    one = [] if number is None else [f"--jobs={number}"]
    whose = ["--states=R,CG,S"] if everybody else ["--states=all", "--me", *one]
    return ["squeue", "--noheader", *whose, f"--Format={_wanted(_FIELDS)}"]


def sinfo() -> list[str]:
    """Return the command that lists all nodes of all partitions."""
    return ["sinfo", "--noheader", "--Node", f"--Format={_wanted(_NODE_FIELDS)}"]


def scope_of(jobs: Iterable[SlurmJob], scope: str) -> dict[int, SlurmJob]:
    """Return the jobs of one bastion, by their numbers."""
    return {job.number: job for job in jobs if job.name and job.name.scope == scope}


def jobs_of(text: str) -> Iterator[SlurmJob]:
    """Yield the jobs in squeue's output."""
    for line in text.splitlines():
        words = _split(line, len(_FIELDS))
        if len(words) == len(_FIELDS) and words[0].isdigit():
            number, state, partition, nodes, cpus, gres, code, comment, reason, user, name = words
            yield SlurmJob(
                int(number),
                state,
                partition,
                _int(nodes),
                _int(cpus),
                gres,
                _exit(code),
                comment,
                reason,
                user,
                name_of(name),
            )


def capacity_of(text: str, partition: str, table: Mapping[str, str]) -> dict[str, int] | None:
    """Return what the nodes of a partition hold together, from sinfo's output; None if it has no nodes.

    An empty name means the default partition, which has a star. Nodes that are out of service hold nothing.
    """
    rows = [words for line in text.splitlines() if len(words := _split(line, len(_NODE_FIELDS))) == len(_NODE_FIELDS)]
    own = [row for row in rows if (row[0].removesuffix("*") == partition if partition else row[0].endswith("*"))]
    out: dict[str, int] = {}
    for _, _, cpus, memory, state, gres in own:
        if not state.startswith(_OUT):
            out = plus(out, {"cpu": _int(cpus), "memory": _int(memory) // _MIB_IN_GIB, **gpus_of(gres, table)})
    return out if own else None


def used_by_strangers(jobs: Iterable[SlurmJob], scope: str, partition: str, table: Mapping[str, str]) -> Resources:
    """Return what the jobs other than this bastion's hold in a partition (empty: in any)."""
    out: dict[str, int] = {}
    for job in jobs:
        if (partition and job.partition != partition) or (job.name and job.name.scope == scope):
            continue
        out = plus(out, {"cpu": job.cpus, **times(gpus_of(job.gres, table), job.nodes)})
    return out


def gpus_of(gres: str, table: Mapping[str, str]) -> dict[str, int]:
    """Return a node's accelerators by kind: `gpu:h100:8(S:0-1)` are 8 `h100`, unless the table gives another kind."""
    kinds = {slurms: kind for kind, slurms in table.items()}
    out: dict[str, int] = {}
    for word in re.split(r",(?![^(]*\))", gres):
        if found := _GRES.fullmatch(word):
            named = f"gpu:{found[1]}" if found[1] else "gpu"
            kind = kinds.get(named) or kinds.get("gpu") or found[1] or "gpu"
            out = plus(out, {kind: int(found[2] or 1)})
    return out


def said_of(job: SlurmJob) -> str:
    """Return why a job without nodes waits, or why its nodes did nothing; empty if there is nothing to report."""
    at = f"Slurm job {job.number}"
    if job.state == "CONFIGURING":
        return f"{at}: its nodes are being set up"
    if job.state in WAITING:
        reason = job.reason.strip("()")
        code = re.split(r"[, ]", reason)[0]
        if code in ("", "None"):
            return ""  # Slurm has not looked at it yet
        known = code if code in _REASONS else next((family for family in _LIMITS if code.startswith(family)), "")
        return f"{at}: {_REASONS[known]} ({reason})" if known else f"{at} waits ({reason})"
    if job.state == "FAILED" and job.code == WORKER_FAILED:
        return f"{at} could not start the worker: {job.comment}; see python of [runner_options.slurm] in config.toml"
    if job.state == "FAILED" and job.code == FOLDER_FAILED:
        return f"{at} has no folder on its nodes; see work of [runner_options.slurm] in config.toml"
    return ""


def _wanted(fields: Mapping[str, int]) -> str:
    return ",".join(f"{name}:{width}|" for name, width in fields.items())


def _split(line: str, count: int) -> list[str]:
    """Split a line into its fields; the last one may hold the separator."""
    words = line.split("|", count - 1)
    return [word.rstrip("|").strip() if number == count - 1 else word.strip() for number, word in enumerate(words)]


def _exit(text: str) -> int:
    """Return the exit code. Slurm prints the status of the system, or `code:signal`."""
    code, colon, _ = text.partition(":")
    return _int(code) if colon else _int(code) >> 8


def _int(text: str) -> int:
    return int(text) if text.isdigit() else 0
