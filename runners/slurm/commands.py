"""Slurm's commands: asked here or on a login node, and understood when they refuse."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Said, Shell

LIMIT_S = 60.0
"""So long a command may take. Slurm's own try for some 10 s to reach a controller."""

_SILENT = re.compile(
    r"unable to contact|socket timed out|connection refused|zero bytes|communication|unable to establish|"
    r"munge|authentication|connection timed out|controller|configuration source|incompatible versions",
    re.IGNORECASE,
)
_NO_SUCH_JOB = re.compile(r"invalid job id|job/step already completing|already completed", re.IGNORECASE)
_OPTIONS = {
    "accounting/qos policy": "account or qos",
    "account": "account or partition",
    "partition": "partition",
    "qos": "qos",
    "feature": "constraint",
    "reservation": "reservation",
    "gres": "gres",
    "option": "sbatch",
    "node configuration": "partition or constraint, or ask for what its nodes have",
}
"""What to change when Slurm refuses, by the first of these words that it says then."""


class SlurmRefused(RunnerError):
    """Slurm was asked, and will not have it: asking again helps only after a change."""


@dataclass(frozen=True, slots=True)
class Commands:
    """Slurm's commands through a shell. Raise `RunnerError` if it could not be asked."""

    shell: Shell

    def ask(self, argv: Sequence[str]) -> str:
        """What a question's answer is; empty if it is about a job that Slurm does not know (any more)."""
        said = self.shell.run(argv, limit_s=LIMIT_S)
        if said.code and _NO_SUCH_JOB.search(said.err):
            return ""
        return _answer(argv, said)

    def submit(self, argv: Sequence[str], script: str) -> int:
        """Submit a script: the job's number. Raises `SlurmRefused`."""
        answer = _answer(argv, self.shell.run(argv, limit_s=LIMIT_S, stdin=script))
        number = answer.strip().partition(";")[0]
        if not number.isdigit():
            raise RunnerError(f"sbatch told no number of a job but {answer[:200]!r}")
        return int(number)

    def cancel(self, *words: str) -> None:
        """Cancel or signal jobs or steps. One that is gone, or has not begun, is no error."""
        said = self.shell.run(["scancel", *words], limit_s=LIMIT_S)
        if said.code and _SILENT.search(said.err):
            _answer(["scancel"], said)


def _answer(argv: Sequence[str], said: Said) -> str:
    if said.code == 0:
        return said.out
    why = _last_words(said.err) or f"exit code {said.code}"
    ssh_failed = said.code == 255 and f"{argv[0]}:" not in said.err
    if ssh_failed or _SILENT.search(said.err):
        raise RunnerError(f"Slurm does not answer {argv[0]}: {why}; its jobs are left alone; see `scontrol ping`")
    raise SlurmRefused(f"Slurm refuses: {why}{_advice(why)}")


def _last_words(err: str) -> str:
    """The last line that says something, without the command's name."""
    lines = [re.sub(r"^\w+: (error|fatal): ", "", line).strip() for line in err.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith("Try ")]
    return re.sub(r"^Batch job submission failed: ", "", told[-1])[:300] if told else ""


def _advice(why: str) -> str:
    for word, option in _OPTIONS.items():
        if word in why.lower():
            return f"; change {option} of [runner_options.slurm] in config.toml"
    return ""


_FLAGS = (
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=15",
    "ControlMaster=auto",
    "ControlPath=~/.ssh/bastion-%C",
    "ControlPersist=300",
)


@dataclass(frozen=True, slots=True)
class SshShell:
    """Runs commands on `login`, by ssh's program and flags. Exit code 255 is ssh's own: it did not get there."""

    shell: Shell
    login: str
    program: Sequence[str] = ("ssh",)

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> Said:
        """What it answered. Raises `RunnerError` if ssh cannot be started or outlasts `limit_s` seconds."""
        flags = [word for flag in _FLAGS for word in ("-o", flag)]
        return self.shell.run([*self.program, *flags, "--", self.login, shlex.join(argv)], limit_s=limit_s, stdin=stdin)
