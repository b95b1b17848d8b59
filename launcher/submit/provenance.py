"""The origin of a job: its commit, its host, and the environment of its user's shell."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Shell
from bastion.model.job.spec import Provenance

SESSION = ("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "CONDA_EXE", "CONDA_PYTHON_EXE", "CONDA_SHLVL")
SESSION_BYTES = 8 * 1024
_LIMIT_S = 5.0


def provenance(shell: Shell, source: str, *, host: str, version: str, now: datetime) -> Provenance:
    """Return the origin of a job, with the commit of the folder `source` if it is in git.

    Waits at most 5 seconds for each answer of git, and leaves the commit out if git fails or does not answer in time.
    """
    commit = _git(shell, source, "rev-parse", "HEAD")
    dirty = bool(commit and _git(shell, source, "status", "--porcelain"))
    return Provenance(host=host, git_commit=commit, git_dirty=dirty, client_version=version, submitted=now)


def session(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a shell needs to find its programs and its active Python or conda environment.

    Leaves out values that are not printable or longer than `SESSION_BYTES`.
    """
    found = {name: environ[name] for name in SESSION if environ.get(name)}
    return {name: text for name, text in found.items() if text.isprintable() and len(text.encode()) <= SESSION_BYTES}


def _git(shell: Shell, source: str, *words: str) -> str:
    try:
        said = shell.run(["git", "-C", source, *words], limit_s=_LIMIT_S)
    except RunnerError:
        return ""
    return said.out.strip() if said.code == 0 else ""
