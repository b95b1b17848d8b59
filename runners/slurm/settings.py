"""The options of the table `[runner_options.slurm]` in config.toml. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

_WORD = re.compile(r"[A-Za-z0-9_.@,+-]{1,200}")
_CONSTRAINT = re.compile(r"[A-Za-z0-9_.,:=&|()\[\]*-]{1,200}")
_LOGIN = re.compile(r"(ssh://)?[A-Za-z0-9_][A-Za-z0-9_.@:\[\]-]{0,200}")
_PATH = re.compile(r"/[^\x00-\x1f]{0,200}")
_FLAG = re.compile(r"--([a-z][a-z-]{1,40})(=[^\x00-\x1f]{0,200})?")
_GRES = re.compile(r"[a-z][A-Za-z0-9_.-]{0,60}(:[A-Za-z0-9_.-]{1,60})?")
_WORDS = ("partition", "account", "qos", "reservation")
_FLAGS_MAX = 32

OURS = frozenset(
    "array batch begin chdir comment cpus-per-task dependency error export export-file gres gpus gpus-per-node "
    "gpus-per-task help hold input job-name mem nodes no-requeue ntasks ntasks-per-node output parsable quiet requeue "
    "signal test-only usage version wait wrap partition account qos constraint reservation".split()
)
"""The flags of sbatch that the runner sets itself, or that would break it."""


class SlurmSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The place of jobs in the cluster, and the way to reach it. Empty means the cluster's default.

    partition: the partition.
    account: the account of Slurm's accounting.
    qos: the quality of service.
    constraint: features that nodes must have.
    reservation: the reservation.
    python: the interpreter on the nodes that has Bastion; empty: the bastion's own.
    ssh: the login node; empty: commands run here.
    work: a folder on the nodes for the work of jobs; empty: below the temporary folder.
    gres: Slurm's gres for kinds of resources.
    sbatch: more flags of sbatch.
    notice_s: seconds before Slurm's time limit at which a job is asked to stop.
    poll_s: seconds between two listings.
    observe_foreign: True if what other jobs of the cluster hold reduces the capacity.
    """

    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    python: str = ""
    ssh: str = ""
    work: str = ""
    gres: dict[str, str] = msgspec.field(default_factory=dict)
    sbatch: list[str] = msgspec.field(default_factory=list)
    notice_s: int = 60
    poll_s: float = 0.5
    observe_foreign: bool = False


def faults(options: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with these options, one line for each; each line begins with the option's name."""
    known = {field.name: field.type for field in msgspec.structs.fields(SlurmSettings)}
    wrong = [f"{key} is no option; use {', '.join(known)}" for key in options if key not in known]
    wrong += [f"{key} is of a wrong type: {why}" for key in options if (why := _mistyped(options[key], known.get(key)))]
    return wrong or list(_faults(read(options)))


def read(options: Mapping[str, Any]) -> SlurmSettings:
    """Return the settings of options without faults."""
    return msgspec.convert(dict(options), SlurmSettings)


def _mistyped(value: Any, kind: Any) -> str:
    try:
        msgspec.convert(value, kind or Any)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _faults(settings: SlurmSettings) -> Iterator[str]:
    for name in _WORDS:
        if (value := getattr(settings, name)) and not _WORD.fullmatch(value):
            yield f"{name} is {value[:80]!r}; use the name that Slurm has for it"
    if settings.constraint and not _CONSTRAINT.fullmatch(settings.constraint):
        yield f"constraint is {settings.constraint[:80]!r}; use features of nodes, as 'a100&ib'"
    if settings.ssh and not _LOGIN.fullmatch(settings.ssh):
        yield f"ssh is {settings.ssh[:80]!r}; use a login node, as 'ada@login.example.org' or 'ssh://ada@login:2222'"
    if settings.ssh and not settings.python:
        yield "ssh needs python too: the interpreter on the nodes that has Bastion"
    for name in ("python", "work"):
        if (value := getattr(settings, name)) and not _PATH.fullmatch(value):
            yield f"{name} is {value[:80]!r}; use an absolute path on the nodes"
    if not 10 <= settings.notice_s <= 3600:
        yield f"notice_s is {settings.notice_s}; use 10 to 3600"
    if not 0.2 <= settings.poll_s <= 60:
        yield f"poll_s is {settings.poll_s:g}; use 0.2 to 60"
    yield from _tables(settings)


def _tables(settings: SlurmSettings) -> Iterator[str]:
    for kind, gres in settings.gres.items():
        if not _GRES.fullmatch(gres):
            yield f"gres of {kind[:80]} is {gres[:80]!r}; use a name and maybe a type of Slurm's, as 'gpu:h100'"
    if len(settings.sbatch) > _FLAGS_MAX:
        yield f"sbatch has {len(settings.sbatch)} flags; use at most {_FLAGS_MAX}"
    for flag in settings.sbatch:
        found = _FLAG.fullmatch(flag)
        if not found:
            yield f"sbatch has {flag[:80]!r}; write a long flag and its value in one, as '--time=3-00'"
        elif found[1] in OURS:
            yield f"sbatch has --{found[1]}, which the runner sets itself; see the options of the runner"
