"""A commit instead of an upload: what a branch or tag names now, in full, and the changes that only this machine has.

Git is only read: nothing in the user's repository changes. The user's own `git` does the reading, so it decides what
counts as changed, as ignored and as pushed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from bastion.model import layout
from bastion.model.errors import BundleError
from bastion.model.interfaces import Bucket, Clock, Shell
from bastion.model.job import repo_url as repo
from bastion.model.nearest import did_you_mean

from . import git_answers
from .content_upload import upload
from .interface import DIFF_BYTES, Bundle
from .worktree import WorkTree, checked, run

ASK_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GitBundler:
    """The bundler that names a commit, which the workers fetch themselves.

    Without `repo` and `ref`, the commit is the one that is checked out in the source folder. It must be pushed.

    shell: runs git.
    clock: tells the age of stored bundles.
    repo: the URL of the repository; empty: the source folder's own, by its remote `origin`.
    ref: a branch, tag or whole commit, as it is there now; empty: its HEAD, or without `repo` the checked-out one.
    allow_dirty: True if the checked-out commit may have changes that are not committed. They are uploaded.
    submodules: whether submodules are fetched, as in `BundleRef`; None refuses a commit that has some.
    limit_bytes: the most bytes of the changes, uncompressed.
    retention_s: seconds after which the store removes bundles; None: never. See `upload`.
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
        """Find the commit with one request to the remote, and upload the changes if there are any.

        Raises `BundleError` for a commit that workers could not fetch, `BucketError`.
        """
        if self.repo:
            return self._remote(checked(self.repo, "repo"), source, None)
        tree = WorkTree(self.shell, source)
        origin = tree.origin()
        if self.ref:
            return replace(self._remote(origin, source, tree), folder=tree.prefix)
        return self._here(tree, origin, bucket)

    def _remote(self, url: str, source: Path, tree: WorkTree | None) -> Bundle:
        """Return the commit that the remote has under the ref; without a ref, its HEAD."""
        refs = self._refs(url, source)
        ref = self.ref or "HEAD"
        names = git_answers.named(ref, refs)
        if len({refs[name] for name in names}) > 1:
            raise BundleError(f"{ref!r} of {url} is both a branch and a tag; use ref={names[0]} or ref={names[1]}")
        if names:
            commit, notes = refs[names[0]], [f"{names[0]} of {url} is {refs[names[0]][:12]}"]
        elif repo.COMMIT.fullmatch(ref):
            commit, notes = ref, [f"commit {ref[:12]} is not checked now: a worker fetches it from {url}"]
        else:
            advice = "use a branch, a tag, or all 40 digits of a commit"
            raise BundleError(f"{url} has no {ref[:100]!r}; {did_you_mean(ref, git_answers.short_names(refs), advice)}")
        notes += self._notes(tree, commit) if tree and tree.has(commit) else []
        return Bundle("git", repo=url, commit=commit, submodules=self.submodules, notes=tuple(notes))

    def _here(self, tree: WorkTree, url: str, bucket: Bucket) -> Bundle:
        commit = tree.head()
        changed = tree.changed()
        if changed and not self.allow_dirty:
            raise BundleError(
                f"'{tree.top}' differs from commit {commit[:12]}: {git_answers.some([c.path for c in changed])};"
                " commit and push, or take the changes along with --bundler_spec=allow_dirty=true"
            )
        self._check_pushed(tree, url, commit)
        notes = self._notes(tree, commit)
        plain = Bundle("git", repo=url, commit=commit, folder=tree.prefix, submodules=self.submodules)
        if not changed:
            return replace(plain, notes=tuple(notes))
        for change in changed:
            if change.fault:
                raise BundleError(f"'{change.path}' {change.fault}; a bundle can hold changes of files only")
        packed = _compressed(tree.difference([change.path for change in changed], self.limit_bytes))
        digest = hashlib.sha256(packed).hexdigest()
        key = layout.bundle(digest, "diff.zst")
        upload(bucket, self.clock, key, lambda: packed, retention_s=self.retention_s)
        notes.append(f"uncommitted changes go into the bundle: {git_answers.some([change.path for change in changed])}")
        return replace(plain, key=key, digest=digest, size=len(packed), files=len(changed), notes=tuple(notes))

    def _refs(self, url: str, source: Path) -> dict[str, str]:
        """Return the refs of the remote. Git runs in the source folder, because its settings may give the access."""
        argv = ["env", "GIT_TERMINAL_PROMPT=0", "git", "-C", str(source), "ls-remote", "--quiet", "--", url]
        said = run(self.shell, argv, ASK_S)
        if said.code:
            raise BundleError(
                f"cannot read {url}: {git_answers.last_words(said.err)}; check the URL and your access to it"
            )
        listed = git_answers.refs(said.out)
        return {name: sha for name, sha in listed.items() if name == "HEAD" or name.startswith("refs/")}

    def _check_pushed(self, tree: WorkTree, url: str, commit: str) -> None:
        tips = set(self._refs(url, Path(tree.top)).values())
        if commit in tips or tree.is_below(commit, tips):
            return
        raise BundleError(
            f"commit {commit[:12]} is not on {url}: push it (or, if others have pushed on top of it: git fetch)"
        )

    def _notes(self, tree: WorkTree, commit: str) -> list[str]:
        """Return what the user should know about a commit.

        Raises `BundleError` if the commit has submodules and the user did not say whether to fetch them.
        """
        modules = tree.submodules(commit)
        if modules and self.submodules is None:
            raise BundleError(
                f"commit {commit[:12]} has submodules ({git_answers.some(modules)}); fetch them with"
                " --bundler_spec=submodules=true, or leave their folders empty with submodules=false"
            )
        large = tree.lfs()
        return [f"some files are in Git LFS, so the machines need git-lfs: {git_answers.some(large)}"] if large else []


def _compressed(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)
