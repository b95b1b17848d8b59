"""A commit in place of an upload: what a branch or tag names now, said in full, and what of it is only on this machine.

Git is asked, never told: nothing in the user's repository changes. Its own programs do the reading, so that what
counts as changed, as ignored and as pushed is what the user's own `git` says.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bastion import layout, repo
from bastion.errors import BundleError, RunnerError
from bastion.nearest import did_you_mean
from bastion.ports import Bucket, Clock, Said, Shell
from bundler import gitsaid
from bundler.bundle import DIFF_BYTES, Bundle
from bundler.upload import upload

ASK_S = 60.0
READ_S = 300.0
_ORIGIN = "origin"
_DIFF = (
    "diff --binary --full-index --no-renames --no-color --no-ext-diff --no-textconv --no-relative "
    "--src-prefix=a/ --dst-prefix=b/"
).split()


@dataclass(frozen=True, slots=True, kw_only=True)
class GitBundler:
    """Names a commit that the workers fetch themselves.

    Without `repo` it is the folder's own repository by its remote `origin`; without `ref` too, what is checked out there,
    which must be pushed, and clean unless `allow_dirty`: then the difference is uploaded. `ref` is a branch, a tag or a
    whole commit of the remote, as it stands there now. `submodules` as in `BundleRef`; `retention_s` as `upload` has it.
    """

    shell: Shell
    clock: Clock
    repo: str = ""
    ref: str = ""
    allow_dirty: bool = False
    submodules: bool | None = None
    limit_bytes: int = DIFF_BYTES
    retention_s: float | None = None

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Ask the remote once. Raises `BundleError` for a commit that workers could not fetch, `BucketError`."""
        if self.repo:
            return self._remote(_checked(self.repo, "repo"), source, None)
        tree = _Tree(self.shell, source)
        origin = tree.origin()
        if self.ref:
            return replace(self._remote(origin, source, tree), folder=tree.prefix)
        return self._here(tree, origin, bucket)

    def _remote(self, url: str, source: Path, tree: _Tree | None) -> Bundle:
        """What the remote has under the ref; without one, what its HEAD is."""
        refs = self._refs(url, source)
        ref = self.ref or "HEAD"
        names = gitsaid.named(ref, refs)
        if len({refs[name] for name in names}) > 1:
            raise BundleError(f"{ref!r} of {url} is both a branch and a tag; use ref={names[0]} or ref={names[1]}")
        if names:
            commit, notes = refs[names[0]], [f"{names[0]} of {url} is {refs[names[0]][:12]}"]
        elif repo.COMMIT.fullmatch(ref):
            commit, notes = ref, [f"whether {url} has commit {ref[:12]} shows when a worker fetches it"]
        else:
            advice = "use a branch, a tag, or all 40 digits of a commit"
            raise BundleError(f"{url} has no {ref[:100]!r}; {did_you_mean(ref, gitsaid.short_names(refs), advice)}")
        notes += self._notes(tree, commit) if tree and tree.has(commit) else []
        return Bundle("git", repo=url, commit=commit, submodules=self.submodules, notes=tuple(notes))

    def _here(self, tree: _Tree, url: str, bucket: Bucket) -> Bundle:
        commit = tree.head()
        changed = tree.changed()
        if changed and not self.allow_dirty:
            raise BundleError(
                f"'{tree.top}' differs from commit {commit[:12]}: {gitsaid.some([c.path for c in changed])};"
                " commit and push, or take the changes along with --bundler_spec=allow_dirty=true"
            )
        self._check_pushed(tree, url, commit)
        notes = self._notes(tree, commit)
        plain = Bundle("git", repo=url, commit=commit, folder=tree.prefix, submodules=self.submodules)
        if not changed:
            return replace(plain, notes=tuple(notes))
        for change in changed:
            if change.fault:
                raise BundleError(f"'{change.path}' {change.fault}; a bundle takes only changes of files along")
        packed = _compressed(tree.difference([change.path for change in changed], self.limit_bytes))
        digest = hashlib.sha256(packed).hexdigest()
        key = layout.bundle(digest, "diff.zst")
        upload(bucket, self.clock, key, lambda: packed, retention_s=self.retention_s)
        notes.append(f"changes that are not committed go along: {gitsaid.some([change.path for change in changed])}")
        return replace(plain, key=key, digest=digest, size=len(packed), files=len(changed), notes=tuple(notes))

    def _refs(self, url: str, source: Path) -> dict[str, str]:
        """Asked from within the folder, whose settings may be what gives access."""
        argv = ["env", "GIT_TERMINAL_PROMPT=0", "git", "-C", str(source), "ls-remote", "--quiet", "--", url]
        said = _run(self.shell, argv, ASK_S)
        if said.code:
            raise BundleError(
                f"{url} cannot be asked: {gitsaid.last_words(said.err)}; check the URL and your access to it"
            )
        listed = gitsaid.refs(said.out)
        return {name: sha for name, sha in listed.items() if name == "HEAD" or name.startswith("refs/")}

    def _check_pushed(self, tree: _Tree, url: str, commit: str) -> None:
        tips = set(self._refs(url, Path(tree.top)).values())
        if commit in tips or tree.is_below(commit, tips):
            return
        raise BundleError(
            f"commit {commit[:12]} is not on {url}: push it (if it is there, below what others have pushed: git fetch)"
        )

    def _notes(self, tree: _Tree, commit: str) -> list[str]:
        """What the user should know of a commit. Raises `BundleError` for submodules of which nothing was said."""
        modules = tree.submodules(commit)
        if modules and self.submodules is None:
            raise BundleError(
                f"commit {commit[:12]} has submodules ({gitsaid.some(modules)}); fetch them with"
                " --bundler_spec=submodules=true, or leave their folders empty with submodules=false"
            )
        large = tree.lfs()
        return [f"kept in Git LFS, so the machines need git-lfs: {gitsaid.some(large)}"] if large else []


class _Tree:
    """The work tree that holds the source folder."""

    def __init__(self, shell: Shell, source: Path) -> None:
        self._shell = shell
        self._at = str(source)
        said = self._git("rev-parse", "--show-toplevel", "--show-prefix")
        if said.code:
            why = gitsaid.last_words(said.err) or "no git repository"
            raise BundleError(f"'{source.absolute()}': {why}; name one with --bundler_spec=repo=URL")
        self.top, _, prefix = said.out.partition("\n")
        self.prefix = prefix.strip("\n").rstrip("/")
        self._at = self.top

    def origin(self) -> str:
        """The URL of `origin` as it was given: what `insteadOf` makes of it may hold the user's secrets."""
        url = self._git("config", "--get", f"remote.{_ORIGIN}.url").out.strip()
        if not url:
            raise BundleError(f"'{self.top}' has no remote {_ORIGIN!r}; name one with --bundler_spec=repo=URL")
        if "://" not in url and (os.path.isabs(url) or url.startswith((".", "~"))):
            url = f"file://{os.path.normpath(os.path.join(self.top, os.path.expanduser(url)))}"
        return _checked(url, f"the URL of remote {_ORIGIN!r}")

    def head(self) -> str:
        said = self._git("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if said.code:
            raise BundleError(f"'{self.top}' has no commit yet; commit and push")
        return said.out.strip()

    def has(self, commit: str) -> bool:
        return not self._git("cat-file", "-e", f"{commit}^{{commit}}").code

    def changed(self) -> list[gitsaid.Change]:
        status = ["--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none"]
        return gitsaid.changes(self._must("status", *status).out)

    def is_below(self, commit: str, tips: set[str]) -> bool:
        """True if this commit is one of these or an ancestor of one, as far as they are known here."""
        asked = self._must("cat-file", "--batch-check", stdin="".join(f"{tip}\n" for tip in sorted(tips))).out
        known = [line.split()[0] for line in asked.splitlines() if line.split()[1:2] == ["commit"]]
        walk = "".join([f"{commit}\n", *(f"^{tip}\n" for tip in known)])
        return bool(known) and not self._must("rev-list", "--max-count=1", "--stdin", stdin=walk).out.strip()

    def submodules(self, commit: str) -> list[str]:
        return gitsaid.links(self._must("ls-tree", "-r", "-z", "--full-tree", commit).out)

    def lfs(self) -> list[str]:
        return [path for path in self._must("ls-files", "-z", ":(top,attr:filter=lfs)").out.split("\0") if path]

    def difference(self, paths: Sequence[str], limit_bytes: int) -> bytes:
        """What makes HEAD into the work tree, files that git does not know or ignore yet included.

        They are made known in a copy of the index. Raises `BundleError` for more than `limit_bytes`.
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

    def _must(self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> Said:
        said = self._git(*words, stdin=stdin, environ=environ)
        if said.code:
            raise BundleError(f"git {words[0]} failed in '{self._at}': {gitsaid.last_words(said.err)}")
        return said

    def _git(self, *words: str, stdin: str = "", environ: Mapping[str, str] | None = None) -> Said:
        variables = [f"{name}={value}" for name, value in (environ or {}).items()]
        argv = ["env", "LC_ALL=C", *variables, "git", "--no-optional-locks", "-C", self._at, *words]
        return _run(self._shell, argv, READ_S, stdin)


def _run(shell: Shell, argv: Sequence[str], limit_s: float, stdin: str = "") -> Said:
    try:
        return shell.run(argv, limit_s=limit_s, stdin=stdin)
    except RunnerError as error:
        raise BundleError(f"git gave no answer: {error}") from error


def _checked(url: str, what: str) -> str:
    if wrong := repo.fault(url):
        raise BundleError(f"{what} {wrong}")
    return url


def _check_size(top: str, paths: Sequence[str], limit_bytes: int) -> None:
    sizes = {path: _size(os.path.join(top, path)) for path in paths}
    total = sum(sizes.values())
    if total > limit_bytes:
        largest = sorted(sizes, key=lambda path: -sizes[path])
        raise BundleError(_too_large(top, total, limit_bytes, f"; the largest: {gitsaid.some(largest)}"))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:  # it was removed: that is the change
        return 0


def _too_large(top: str, size: int, limit_bytes: int, more: str) -> str:
    limit = f"{limit_bytes / 2**20:.0f} MiB"
    return f"the changes of '{top}' hold {size / 2**20:.1f} MiB, at most {limit} go along; commit or ignore some{more}"


def _compressed(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)
