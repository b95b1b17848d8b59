"""A commit in place of an upload: what a branch or tag names now, said in full, and what of it is only on this machine.

Git is asked, never told: nothing in the user's repository changes. Its own programs do the reading, so that what
counts as changed, as ignored and as pushed is what the user's own `git` says.
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
            return self._remote(checked(self.repo, "repo"), source, None)
        tree = WorkTree(self.shell, source)
        origin = tree.origin()
        if self.ref:
            return replace(self._remote(origin, source, tree), folder=tree.prefix)
        return self._here(tree, origin, bucket)

    def _remote(self, url: str, source: Path, tree: WorkTree | None) -> Bundle:
        """What the remote has under the ref; without one, what its HEAD is."""
        refs = self._refs(url, source)
        ref = self.ref or "HEAD"
        names = git_answers.named(ref, refs)
        if len({refs[name] for name in names}) > 1:
            raise BundleError(f"{ref!r} of {url} is both a branch and a tag; use ref={names[0]} or ref={names[1]}")
        if names:
            commit, notes = refs[names[0]], [f"{names[0]} of {url} is {refs[names[0]][:12]}"]
        elif repo.COMMIT.fullmatch(ref):
            commit, notes = ref, [f"whether {url} has commit {ref[:12]} shows when a worker fetches it"]
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
                raise BundleError(f"'{change.path}' {change.fault}; a bundle takes only changes of files along")
        packed = _compressed(tree.difference([change.path for change in changed], self.limit_bytes))
        digest = hashlib.sha256(packed).hexdigest()
        key = layout.bundle(digest, "diff.zst")
        upload(bucket, self.clock, key, lambda: packed, retention_s=self.retention_s)
        notes.append(
            f"changes that are not committed go along: {git_answers.some([change.path for change in changed])}"
        )
        return replace(plain, key=key, digest=digest, size=len(packed), files=len(changed), notes=tuple(notes))

    def _refs(self, url: str, source: Path) -> dict[str, str]:
        """Asked from within the folder, whose settings may be what gives access."""
        argv = ["env", "GIT_TERMINAL_PROMPT=0", "git", "-C", str(source), "ls-remote", "--quiet", "--", url]
        said = run(self.shell, argv, ASK_S)
        if said.code:
            raise BundleError(
                f"{url} cannot be asked: {git_answers.last_words(said.err)}; check the URL and your access to it"
            )
        listed = git_answers.refs(said.out)
        return {name: sha for name, sha in listed.items() if name == "HEAD" or name.startswith("refs/")}

    def _check_pushed(self, tree: WorkTree, url: str, commit: str) -> None:
        tips = set(self._refs(url, Path(tree.top)).values())
        if commit in tips or tree.is_below(commit, tips):
            return
        raise BundleError(
            f"commit {commit[:12]} is not on {url}: push it (if it is there, below what others have pushed: git fetch)"
        )

    def _notes(self, tree: WorkTree, commit: str) -> list[str]:
        """What the user should know of a commit. Raises `BundleError` for submodules of which nothing was said."""
        modules = tree.submodules(commit)
        if modules and self.submodules is None:
            raise BundleError(
                f"commit {commit[:12]} has submodules ({git_answers.some(modules)}); fetch them with"
                " --bundler_spec=submodules=true, or leave their folders empty with submodules=false"
            )
        large = tree.lfs()
        return [f"kept in Git LFS, so the machines need git-lfs: {git_answers.some(large)}"] if large else []


def _compressed(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=3).compress(data)
