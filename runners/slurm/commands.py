"""Slurm's commands: run here or on a login node, with their refusals turned into errors."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bastion.model.errors import RunnerError
from bastion.model.interfaces import CommandResult, Shell

LIMIT_S = 60.0
"""The most seconds that a command may take. Slurm's own commands try for some 10 s to reach a controller."""

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
"""The option to change when Slurm refuses, by the first of these words that appears in its message."""


class SlurmRefused(RunnerError):
    """Slurm answered with a refusal: the same request helps only after a change."""


@dataclass(frozen=True, slots=True)
class SlurmCommands:
    """Slurm's commands, run through a shell. Each raises `RunnerError` if Slurm could not be reached."""

    shell: Shell

    def ask(self, argv: Sequence[str]) -> str:
        """Return the answer to a question; empty if it is about a job that Slurm does not have, or no longer has."""
        said = self.shell.run(argv, limit_s=LIMIT_S)
        if said.code and _NO_SUCH_JOB.search(said.err):
            return ""
        return _answer(argv, said)

    def submit(self, argv: Sequence[str], script: str) -> int:
        """Submit a script and return the job's number. Raises `SlurmRefused`."""
        answer = _answer(argv, self.shell.run(argv, limit_s=LIMIT_S, stdin=script))
        number = answer.strip().partition(";")[0]
        if not number.isdigit():
            raise RunnerError(f"sbatch printed no job number, but {answer[:200]!r}")
        return int(number)

    def cancel(self, *words: str) -> None:
        """Cancel or signal jobs or steps. One that is gone, or has not begun, is no error."""
        said = self.shell.run(["scancel", *words], limit_s=LIMIT_S)
        if said.code and _SILENT.search(said.err):
            _answer(["scancel"], said)


def _answer(argv: Sequence[str], said: CommandResult) -> str:
    if said.code == 0:
        return said.out
    why = _last_words(said.err) or f"exit code {said.code}"
    # 255 is ssh's own code, unless the command itself has printed something
    ssh_failed = said.code == 255 and f"{argv[0]}:" not in said.err
    if ssh_failed or _SILENT.search(said.err):
        raise RunnerError(f"Slurm does not answer {argv[0]}: {why}; its jobs are left alone; see `scontrol ping`")
    raise SlurmRefused(f"Slurm refuses: {why}{_advice(why)}")


def _last_words(err: str) -> str:
    """Return the last meaningful line, without the command's name."""
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
    """A shell on a login node, through ssh. Exit code 255 is ssh's own: the command did not reach the node.

    shell: runs ssh here.
    login: the login node.
    program: ssh's program and flags.
    """

    shell: Shell
    login: str
    program: Sequence[str] = ("ssh",)

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        """Return the answer of the command.

        Raises `RunnerError` if ssh cannot start or takes more than `limit_s` seconds.
        """
        flags = [word for flag in _FLAGS for word in ("-o", flag)]
        return self.shell.run([*self.program, *flags, "--", self.login, shlex.join(argv)], limit_s=limit_s, stdin=stdin)
