"""Calls of git on a machine: with a key and known hosts, within limits, and without prompts."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from bastion.model.errors import BundleError, RunnerError
from bastion.model.interfaces import Clock, CommandResult, Shell

from . import git_answers

TRIES = 3
"""The most times that a server is asked that does not answer, or is busy."""

_BUSY = re.compile(
    r"timed? ?out|(failed to|could not) connect|connection (refused|reset|closed)|could not resolve|temporary failure"
    r"|early EOF|hung up|RPC failed|returned error: (429|5[0-9][0-9])",
    re.IGNORECASE,
)
_NO_KEY = re.compile(
    r"permission denied|host key verification|authentication failed|could not read (username|password)", re.IGNORECASE
)
_BLOCK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAccess:
    """The access that the machine's configuration gives git.

    deploy_key: the file with a private key; "" for none.
    known_hosts: the file with the keys of known hosts; "" for none.
    local: True if git may read repositories on the machine itself, with the rights of the worker.
    """

    deploy_key: str = ""
    known_hosts: str = ""
    local: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedCommit:
    """A commit of a repository that is to be fetched, and the changes on top of it.

    repo: the URL of the repository.
    commit: the commit, in full.
    digest: the SHA-256 of the compressed changes, in hexadecimal; "" if there are none.
    submodules: whether submodules are fetched; None refuses a commit that has some.
    """

    repo: str
    commit: str
    digest: str = ""
    submodules: bool | None = None

    def __str__(self) -> str:
        return f"commit {self.commit[:12]} of {self.repo}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitContext:
    """The things that git needs to run.

    shell: runs the commands.
    clock: measures the time limit and waits between tries.
    access: the keys and hosts that git may use.
    """

    shell: Shell
    clock: Clock
    access: GitAccess = GitAccess()


def ssh_command(access: GitAccess) -> str:
    """Return the ssh command for git. It never prompts, trusts only known hosts, and offers only the named key."""
    options = ["BatchMode=yes", "StrictHostKeyChecking=yes", "ConnectTimeout=30", "ServerAliveInterval=30"]
    if access.known_hosts:
        options += [f"UserKnownHostsFile={_quoted(access.known_hosts)}", "GlobalKnownHostsFile=/dev/null"]
    if access.deploy_key:
        options += [f"IdentityFile={_quoted(access.deploy_key)}", "IdentitiesOnly=yes", "IdentityAgent=none"]
    return shlex.join(["ssh", *(word for option in options for word in ("-o", option))])


def _quoted(path: str) -> str:
    """Write a path as ssh reads it in an option: in quotes, with `%` doubled."""
    return '"' + path.replace("%", "%%") + '"'


class GitCommands:
    """Git commands in one folder, all within one time limit."""

    def __init__(
        self, context: GitContext, wanted: WantedCommit, folder: Path, *, limit_s: float, limit_bytes: int
    ) -> None:
        self.folder = folder
        self._context, self._wanted, self._limit_s = context, wanted, limit_s
        self._until = context.clock.monotonic() + limit_s
        self._prefix = prefix(context.access, limit_bytes)

    def run(self, *words: str) -> CommandResult:
        """Run a git command. Raises `BundleError` when the time is over."""
        left = self._until - self._context.clock.monotonic()
        try:
            return self._context.shell.run([*self._prefix, "-C", str(self.folder), *words], limit_s=max(0.001, left))
        except RunnerError as error:
            if self._context.clock.monotonic() < self._until:
                raise
            limit = f"{self._limit_s:.0f} s"
            raise BundleError(f"fetching {self._wanted} took more than {limit}; make the repository smaller") from error

    def must(self, *words: str) -> str:
        """Run a git command and return its output. Raises `BundleError` with its last lines if it fails."""
        said = self.run(*words)
        if said.code:
            raise failed(self._wanted, said.err)
        return said.out

    def ask(self, *words: str) -> CommandResult:
        """Run a git command that needs the server. Try again if the server is busy, at most `TRIES` times in all."""
        from tenacity import RetryCallState, Retrying, retry_if_result, stop_after_attempt, wait_exponential

        def last(state: RetryCallState) -> CommandResult:
            assert state.outcome is not None
            said: CommandResult = state.outcome.result()
            return said

        retrying = Retrying(
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential(multiplier=2, max=30),
            retry=retry_if_result(_is_busy),
            sleep=self._context.clock.sleep,
            retry_error_callback=last,
        )
        answer: CommandResult = retrying(self.run, *words)
        return answer


def _is_busy(said: CommandResult) -> bool:
    return bool(said.code and _BUSY.search(said.err) and not _NO_KEY.search(said.err))


def prefix(access: GitAccess, limit_bytes: int) -> list[str]:
    """Return the words before a git command.

    They turn off prompts, the ssh agent, hooks and the account's git variables, and bound each file that git writes.
    """
    variables = {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "true",
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git" + (":file" if access.local else ""),
        "GIT_SSH_COMMAND": ssh_command(access),
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
    unset = ("SSH_AUTH_SOCK", "SSH_ASKPASS", "GIT_SSH", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    settings = ("core.hooksPath=/dev/null", "core.autocrlf=false", "gc.auto=0", "advice.detachedHead=false")
    limited = ["/bin/sh", "-c", f'ulimit -f {limit_bytes // _BLOCK} && exec "$@"', "sh"]
    environ = [word for name in unset for word in ("-u", name)] + [f"{name}={variables[name]}" for name in variables]
    return [*limited, "env", *environ, "git", *(word for setting in settings for word in ("-c", setting))]


def failed(wanted: WantedCommit, err: str) -> BundleError:
    """Return the error for the user: the last lines of git, and advice that fits them."""
    if _NO_KEY.search(err):
        advice = "ask an admin to set deploy_key and known_hosts under [git] of the bastion's config.toml"
    elif re.search("file too large|signal 25", err, re.IGNORECASE):
        advice = "it is larger than what a machine may fetch; keep data out of the repository"
    else:
        advice = "check that the machines can reach it, and launch again"
    return BundleError(f"cannot fetch {wanted}: {git_answers.last_words(err) or 'git gave no reason'}; {advice}")
