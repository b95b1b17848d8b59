"""Where a job comes from: for people who ask later what ran."""

from __future__ import annotations

from datetime import datetime

from bastion.errors import RunnerError
from bastion.ports import Shell
from bastion.spec import Provenance

_LIMIT_S = 5.0


def provenance(shell: Shell, source: str, *, host: str, version: str, now: datetime) -> Provenance:
    """The commit of the folder `source`, if it is in git; a git that does not answer in time is no reason to wait."""
    commit = _git(shell, source, "rev-parse", "HEAD")
    dirty = bool(commit and _git(shell, source, "status", "--porcelain"))
    return Provenance(host=host, git_commit=commit, git_dirty=dirty, client_version=version, submitted=now)


def _git(shell: Shell, source: str, *words: str) -> str:
    try:
        said = shell.run(["git", "-C", source, *words], limit_s=_LIMIT_S)
    except RunnerError:
        return ""
    return said.out.strip() if said.code == 0 else ""
