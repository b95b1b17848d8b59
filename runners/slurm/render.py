"""The flags of sbatch and the script for an attempt's nodes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote

from bastion.model.interfaces import AttemptKey, Placement
from bastion.quota.resources import Resources

from .settings import SlurmSettings

NOTICE = "URG"
"""The signal that makes a worker look for its stop order.

Slurm sends a signal to all processes of a job's step. By default a process ignores this one, so a job's own processes
do not notice it.
"""

FOLDER_FAILED, WORKER_FAILED = 73, 70
"""The exit codes of a job of Slurm's: its nodes have no folder for it, or cannot start the worker."""

_NAME = re.compile(r"(.+):([^:/]+)/([0-9]{1,9})/([0-9]{1,9})@([0-9]{1,9})\.([0-9a-z]+)")
_ID = re.compile(r"([0-9]{1,12})/([0-9]{1,6})/([^\x00-\x20]{1,300})")


@dataclass(frozen=True, slots=True)
class SlurmJobName:
    """The name of a job of Slurm's, which holds all that we store about it.

    scope: the name of the bastion.
    key: the attempt.
    epoch: the epoch of the bastion that created it.
    nonce: new at every creation.
    """

    scope: str
    key: AttemptKey
    epoch: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.scope}:{self.key}@{self.epoch}.{self.nonce}"


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A machine's id in its parts: one node of a job of Slurm's, with the job's name.

    number: the job's number. Slurm may reuse it, but not with this nonce.
    worker: the worker's number within the attempt.
    nonce: the nonce of the job's name.
    name: the parts of the job's name; None for an id of before 0.2, which has the nonce alone.
    """

    number: int
    worker: int
    nonce: str
    name: SlurmJobName | None = None

    def __str__(self) -> str:
        return f"{self.number}/{self.worker}/{self.name or self.nonce}"


def name_of(text: str) -> SlurmJobName | None:
    """Return the parts of a name; None if it is not one of ours."""
    found = _NAME.fullmatch(text)
    if not found:
        return None
    key = AttemptKey(found[2], int(found[3]), int(found[4]))
    return SlurmJobName(found[1], key, int(found[5]), found[6])


def node_of(machine: str) -> SlurmNode | None:
    """Return the parts of an id; None if it is not one of ours."""
    found = _ID.fullmatch(machine)
    if not found:
        return None
    name = name_of(found[3])
    if name is None and not found[3].isalnum():
        return None
    return SlurmNode(int(found[1]), int(found[2]), name.nonce if name else found[3], name)


def gres_of(kind: str, table: Mapping[str, str]) -> str:
    """Return Slurm's name for a kind of accelerators: the one of the table, else `gpu` or a type of it."""
    return table.get(kind, "gpu" if kind == "gpu" else f"gpu:{kind}")


def accelerators(resources: Resources) -> dict[str, int]:
    """Return the kinds other than processors and memory."""
    return {kind: amount for kind, amount in resources.items() if kind not in ("cpu", "memory") and amount}


def sbatch(settings: SlurmSettings, name: SlurmJobName, placement: Placement) -> list[str]:
    """Return the command that submits the script. Slurm never restarts a job: the bastion tries again."""
    flags = {
        "job-name": str(name),
        "nodes": placement.workers,
        "ntasks-per-node": 1,
        "export": "ALL",
        "chdir": "/",
        "output": "/dev/null",
        "signal": f"B:TERM@{settings.notice_s}",
        **_wanted(settings, placement.resources),
        **{flag: getattr(settings, flag) for flag in ("partition", "account", "qos", "constraint", "reservation")},
    }
    given = [f"--{flag}={value}" for flag, value in flags.items() if value != ""]
    return ["sbatch", "--parsable", "--no-requeue", *given, *settings.sbatch]


def _wanted(settings: SlurmSettings, resources: Resources) -> dict[str, object]:
    """Return what each node must have."""
    wanted: dict[str, object] = {}
    if cpus := resources.get("cpu"):
        wanted["cpus-per-task"] = cpus
    if memory := resources.get("memory"):
        wanted["mem"] = f"{memory}G"
    gres = [f"{gres_of(kind, settings.gres)}:{amount}" for kind, amount in accelerators(resources).items()]
    return {**wanted, "gres": ",".join(gres)} if gres else wanted


def script(
    settings: SlurmSettings, python: str, name: SlurmJobName, placement: Placement, flags: Mapping[str, object]
) -> str:
    """Return the script for the first node: a worker on every node, and a notice to all of them near the time limit."""
    worker = _worker(settings, python, name, accelerators(placement.resources), flags)
    return f"""#!/bin/sh
trap 'scancel --signal={NOTICE} "$SLURM_JOB_ID"' TERM
srun --mpi=none --cpu-bind=none --mem=0 --kill-on-bad-exit=0 --wait=0 --input=none --output=none \\
    /bin/sh -c {quote(worker)} &
while kill -0 $! 2>/dev/null; do wait $!; code=$?; done
exit $code
"""


def _worker(
    settings: SlurmSettings, python: str, name: SlurmJobName, gpus: Mapping[str, int], flags: Mapping[str, object]
) -> str:
    """Return the script for every node. A worker removes its `tmp` when it ends.

    If a worker and its keeper crash, the script ends all that they started and holds the node until the bastion deletes
    it.
    """
    work = quote(settings.work) if settings.work else '"${TMPDIR:-/tmp}/bastion-$(id -u)"'
    return f"""umask 077
work={work} root="$work/$(uname -n)"
mkdir -p "$root/jobs" && [ -O "$work" ] && [ -O "$root" ] || exit {FOLDER_FAILED}
for old in "$root"/jobs/*; do
    pid=$(cat "$old/pid" 2>/dev/null) && [ ! -e "/proc/$pid" ] && rm -rf "$old"
done
machine="$SLURM_JOB_ID/$SLURM_PROCID/"{quote(str(name))}
folder="$root/jobs/$SLURM_JOB_ID-$SLURM_PROCID-{name.nonce}"
mkdir "$folder" && echo $$ >"$folder/pid" || exit {FOLDER_FAILED}
trap : TERM
{_command(python, name, gpus, flags)} >"$folder/worker.log" 2>&1
code=$?
if [ -d "$folder/tmp" ]; then
    grep -lszxF "BASTION_MACHINE=$machine" /proc/[0-9]*/environ | cut -d / -f 3 | xargs -r kill -9
    trap - TERM
    while :; do sleep 600; done
fi
if [ $code -ne 0 ] && [ -s "$folder/worker.log" ]; then
    said=$(tail -c 4096 "$folder/worker.log" | tail -n 1 | tr -c 'A-Za-z0-9 ._/:\\n-' ' ' | cut -c 1-200)
    scontrol update jobid="$SLURM_JOB_ID" comment="$said"
    said=told
fi
rm -rf "$folder"
[ -z "$said" ] || exit {WORKER_FAILED}
"""


def _command(python: str, name: SlurmJobName, gpus: Mapping[str, int], flags: Mapping[str, object]) -> str:
    """Return the worker's command line as shell text; the node fills in what only it knows."""
    known = {"job": name.key.job, "task": name.key.task, "attempt": name.key.attempt, "creation": name.nonce, **flags}
    there = {
        "machine": '"$machine"',
        "worker": '"$SLURM_PROCID"',
        "address": '"$(uname -n)"',
        "folder": '"$folder"',
        "cache": '"$root/cache"',
        "devices": '"${CUDA_VISIBLE_DEVICES:-$ROCR_VISIBLE_DEVICES}"' if gpus else "",
    }
    words = _flags((flag, quote(str(value))) for flag, value in known.items())
    return f"{quote(python)} -I -m bastion worker {words} {_flags(there.items())}"


def _flags(pairs: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"--{flag}={value}" for flag, value in pairs)
