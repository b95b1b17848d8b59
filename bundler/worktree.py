"""A git work tree on this machine. It is only read, through the user's `git`, which decides what counts as changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bastion.model.errors import BundleError, RunnerError
from bastion.model.interfaces import CommandResult, Shell
from bastion.model.job import repo_url

from . import git_answers

READ_S = 300.0
ORIGIN = "origin"
_DIFF = (
    "diff --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv --no-relative "
    "--src-prefix=a/ --dst-prefix=b/"
).split()


class WorkTree:
    """The work tree that holds the source folder.

    top: the top folder of the work tree.
    prefix: the path of the source folder below `top`; empty if they are the same.
    """

    def __init__(self, shell: Shell, source: Path) -> None:
        self._shell = shell
        self._at = str(source)
        said = self._git("rev-parse", "--show-toplevel", "--show-prefix")
        if said.code:
            why = git_answers.last_words(said.err) or "not in a git repository"
            raise BundleError(f"'{source.absolute()}': {why}; name one with --bundler_spec=repo=URL")
        self.top, _, prefix = said.out.partition("\n")
        self.prefix = prefix.strip("\n").rstrip("/")
        self._at = self.top

    def origin(self) -> str:
        """Return the URL of `origin` as the user configured it.

        `insteadOf` is not applied, because its result may hold the user's secrets. Raises `BundleError` if there is no
        such remote or its URL is not allowed.
        """
        url = self._git("config", "--get", f"remote.{ORIGIN}.url").out.strip()
        if not url:
            raise BundleError(f"'{self.top}' has no remote {ORIGIN!r}; name one with --bundler_spec=repo=URL")
        if "://" not in url and (os.path.isabs(url) or url.startswith((".", "~"))):
            url = f"file://{os.path.normpath(os.path.join(self.top, os.path.expanduser(url)))}"
        return checked(url, f"the URL of remote {ORIGIN!r}")

    def head(self) -> str:
        """Return the commit that is checked out, in full. Raises `BundleError` if there is none yet."""
        said = self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if said.code:
            raise BundleError(f"'{self.top}' has no commit yet; commit and push")
        return said.out.strip()

    def has(self, commit: str) -> bool:
        """Return True if the repository here has this commit."""
        return not self._git("cat-file", "-e", f"{commit}^{{commit}}").code

    def changed(self) -> list[git_answers.GitChange]:
        """Return what differs from the commit that is checked out, with untracked files."""
        status = ["--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"]
        return git_answers.changes(self._must("status", *status).out)

    def is_below(self, commit: str, tips: set[str]) -> bool:
        """Return True if this commit is one of `tips` or an ancestor of one. Only tips that exist here count."""
        asked = self._must("cat-file", "--batch-check", stdin="".join(f"{tip}\n" for tip in sorted(tips))).out
        known = [line.split()[0] for line in asked.splitlines() if line.split()[1:2] == ["commit"]]
        walk = "".join([f"{commit}\n", *(f"^{tip}\n" for tip in known)])
        return bool(known) and not self._must("rev-list", "--max-count=1", "--stdin", stdin=walk).out.strip()

    def submodules(self, commit: str) -> list[str]:
        """Return the paths of a commit's submodules."""
        return git_answers.links(self._must("ls-tree", "-r", "-z", "--full-tree", commit).out)

    def lfs(self) -> list[str]:
        """Return the files that Git LFS keeps elsewhere."""
        return [path for path in self._must("ls-files", "-z", ":(top,attr:filter=lfs)").out.split("\0") if path]

    def difference(self, paths: Sequence[str], limit_bytes: int) -> bytes:
        """Return the diff from HEAD to the work tree, with untracked files that are not ignored.

        Untracked files are added to a copy of the index, so the user's own index does not change. Raises `BundleError`
        if the files or the diff have more than `limit_bytes`.
        """
        _check_size(self.top, paths, limit_bytes)
        with tempfile.TemporaryDirectory(prefix="bastion-git-") as folder:
            index = os.path.join(self.top, self._must("rev-parse", "--git-path", "index").out.strip())
            beside = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            if os.path.exists(index):
                shutil.copyfile(index, beside["GIT_INDEX_FILE"])
            self._must("add", "--intent-to-add", "--", ".", environ=beside)
            out = Path(folder, "diff")
            self._must(*_DIFF, f"--output={out}", "HEAD", environ=beside)
            if out.stat().st_size > limit_bytes:
                raise BundleError(_too_large(self.top, out.stat().st_size, limit_bytes, ""))
            return out.read_bytes()

    def _must(self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> CommandResult:
        said = self._git(*words, stdin=stdin, environ=environ)
        if said.code:
            raise BundleError(f"git {words[0]} failed in '{self._at}': {git_answers.last_words(said.err)}")
        return said

    def _git(self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> CommandResult:
        variables = [f"{name}={value}" for name, value in (environ or {}).items()]
        argv = ["env", "LC_ALL=C", *variables, "git", "--no-optional-locks", "-C", self._at, *words]
        return run(self._shell, argv, READ_S, stdin)


def run(shell: Shell, argv: Sequence[str], limit_s: float, stdin: str = "") -> CommandResult:
    """Run git. Raises `BundleError` if it cannot be started or takes too long."""
    try:
        return shell.run(argv, limit_s=limit_s, stdin=stdin)
    except RunnerError as error:
        raise BundleError(f"git gave no answer: {error}") from error


def top_of(shell: Shell, source: Path) -> str | None:
    """Return the top folder of the work tree that holds a folder; None if none does, or git is not installed."""
    try:
        said = shell.run(["env", "LC_ALL=C", "git", "-C", str(source), "rev-parse", "--show-toplevel"], limit_s=READ_S)
    except RunnerError:
        return None
    return None if said.code else said.out.rstrip("\n")


def checked(url: str, what: str) -> str:
    """Return the URL if a spec may hold it. Raises `BundleError` if not."""
    if wrong := repo_url.fault(url):
        raise BundleError(f"{what} {wrong}")
    return url


def _check_size(top: str, paths: Sequence[str], limit_bytes: int) -> None:
    sizes = {path: _size(os.path.join(top, path)) for path in paths}
    total = sum(sizes.values())
    if total > limit_bytes:
        largest = sorted(sizes, key=lambda path: -sizes[path])
        raise BundleError(_too_large(top, total, limit_bytes, f"; the largest: {git_answers.some(largest)}"))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:  # the change is the removal of the file
        return 0


def _too_large(top: str, size: int, limit_bytes: int, more: str) -> str:
    limit = f"{limit_bytes / 2**20:.0f} MiB"
    return f"the changes of '{top}' hold {size / 2**20:.1f} MiB, more than the limit of {limit}; commit or ignore some{more}"
