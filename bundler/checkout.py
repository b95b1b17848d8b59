"""The checkout of one commit of a git repository on the machine that runs it.

If the server gives single commits, only the commit is fetched, without history. If it refuses, all branches and tags
are fetched, and the commit must be among them. Git never prompts: it may use a key and the known hosts that the
machine's own configuration names. If it needs anything else, that is an error with a clear message.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bastion.model.errors import BundleError, RunnerError

from . import git_answers
from .git_commands import GitCommands, GitContext, WantedCommit, failed
from .interface import DIFF_BYTES

LIMIT_S = 1800.0
"""The most seconds that the checkout of a commit may take."""

LIMIT_BYTES = 4 * 2**30
"""The most bytes that the files of a commit may hold together, and the size of the largest file that git may write."""

LIMIT_FILES = 500_000
"""The most files of a commit."""

_REFUSES_ONE = re.compile(r"unadvertised object|not our ref|shallow|couldn't find remote ref", re.IGNORECASE)
_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_WINDOW = 2**27


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The way to fetch commits to this machine.

    context: what git needs to run.
    limit_s: the most seconds for one commit.
    limit_bytes: the most bytes of the files of a commit, and of any file that git writes.
    limit_files: the most files of a commit.
    """

    context: GitContext
    limit_s: float = LIMIT_S
    limit_bytes: int = LIMIT_BYTES
    limit_files: int = LIMIT_FILES

    def lay_out(self, wanted: WantedCommit, changes: bytes, target: Path) -> None:
        """Write the files of a commit to `target`, which must be absent or empty, and apply `changes` (compressed).

        Raises `BundleError`, which names the repository and the commit; the target is then as it was.
        """
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        except OSError as error:
            raise BundleError(f"cannot lay out {wanted}: {error}") from error
        try:
            self._fill(wanted, changes, beside)
            beside.chmod(0o755)
            beside.rename(target)
        except (OSError, RunnerError) as error:
            raise BundleError(f"cannot lay out {wanted}: {error}") from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)  # after the renaming there is nothing to remove

    def _fill(self, wanted: WantedCommit, changes: bytes, folder: Path) -> None:
        self._check_access(wanted)
        git = GitCommands(self.context, wanted, folder, limit_s=self.limit_s, limit_bytes=self.limit_bytes)
        git.must("init", "--quiet", "--template=", ".")  # without the hooks of this machine's template
        git.must("remote", "add", "origin", wanted.repo)
        _fetch(git, wanted)
        _check_size(git, wanted, self.limit_bytes, self.limit_files)
        git.must("checkout", "--quiet", "--detach", wanted.commit)
        _submodules(git, wanted)
        _large_files(git, wanted, folder)
        if wanted.digest:
            _apply(git, wanted, changes, folder)

    def _check_access(self, wanted: WantedCommit) -> None:
        access = self.context.access
        for name, path in (("deploy_key", access.deploy_key), ("known_hosts", access.known_hosts)):
            if path and not os.access(path, os.R_OK):
                raise BundleError(
                    f"cannot fetch {wanted}: this machine has no readable file '{path}',"
                    f" which the bastion's config.toml names as {name}; put it there"
                )


def _fetch(git: GitCommands, wanted: WantedCommit) -> None:
    said = git.ask("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--depth=1", "origin", wanted.commit)
    if said.code and _REFUSES_ONE.search(said.err):
        every = ("+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*")
        said = git.ask("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "origin", *every)
        if not said.code and git.run("cat-file", "-e", f"{wanted.commit}^{{commit}}").code:
            raise BundleError(f"no branch and no tag holds {wanted}; push it, and launch again")
    if said.code:
        raise failed(wanted, said.err)


def _check_size(git: GitCommands, wanted: WantedCommit, limit_bytes: int, limit_files: int) -> None:
    sizes = re.findall(
        r"^[0-9]+ blob [0-9a-f]+ +([0-9]+)\t", git.must("ls-tree", "-r", "-l", wanted.commit), re.MULTILINE
    )
    total = sum(map(int, sizes))
    if total > limit_bytes or len(sizes) > limit_files:
        raise BundleError(
            f"{wanted} holds {len(sizes)} files of {total / 2**20:.0f} MiB; at most {limit_files} of"
            f" {limit_bytes / 2**20:.0f} MiB are allowed; keep data out of the repository"
        )


def _submodules(git: GitCommands, wanted: WantedCommit) -> None:
    modules = git_answers.links(git.must("ls-files", "--stage", "-z"))
    if modules and wanted.submodules is None:
        raise BundleError(
            f"{wanted} has submodules ({git_answers.some(modules)}); launch with --bundler_spec=submodules=true to fetch"
            " them, or submodules=false to leave their folders empty"
        )
    if modules and wanted.submodules:
        update = ("submodule", "--quiet", "update", "--init", "--recursive")
        said = git.ask(*update, "--depth=1")
        if said.code and _REFUSES_ONE.search(said.err):
            git.must("submodule", "--quiet", "deinit", "--all", "--force")
            shutil.rmtree(git.folder / ".git" / "modules")
            said = git.ask(*update)
        if said.code:
            raise failed(wanted, said.err)


def _large_files(git: GitCommands, wanted: WantedCommit, folder: Path) -> None:
    """Fetch the files that Git LFS keeps elsewhere.

    Raises `BundleError` if this machine has no git-lfs or a file stays a pointer: a job cannot use a pointer.
    """
    pointers = _pointers(git, folder)
    if not pointers:
        return
    if git.run("lfs", "version").code:
        raise BundleError(
            f"{wanted} keeps files in Git LFS ({git_answers.some(pointers)}), and this machine has no git-lfs;"
            " install git-lfs there, or launch from a folder that holds them with --bundler_type=tar"
        )
    said = git.ask("lfs", "pull")
    left = _pointers(git, folder)
    if said.code or left:
        raise failed(
            wanted, f"git lfs pull left {git_answers.some(left)} as pointers: {git_answers.last_words(said.err)}"
        )


def _pointers(git: GitCommands, folder: Path) -> list[str]:
    kept = git.must("ls-files", "-z", ":(attr:filter=lfs)").split("\0")
    return [path for path in kept if path and _is_pointer(folder / path)]


def _is_pointer(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_POINTER)) == _POINTER


def _apply(git: GitCommands, wanted: WantedCommit, changes: bytes, folder: Path) -> None:
    """Apply the changes. Git itself refuses a diff that reaches out of the folder, or through a link."""
    diff = folder.with_name(f"{folder.name}.diff")
    try:
        diff.write_bytes(plain(changes, wanted))
        said = git.run("apply", "--whitespace=nowarn", str(diff))
    finally:
        diff.unlink(missing_ok=True)
    if said.code:
        words = git_answers.last_words(said.err)
        raise BundleError(f"the changes on top of {wanted} do not apply: {words}; launch the job again")


def plain(changes: bytes, wanted: WantedCommit) -> bytes:
    """Return the diff that `changes` holds, uncompressed.

    Raises `BundleError` if the digest of `changes` is not the wanted one, or the diff cannot be read or is too large.
    """
    import zstandard

    if hashlib.sha256(changes).hexdigest() != wanted.digest:
        raise BundleError(
            f"the changes on top of {wanted} are not those of digest {wanted.digest}; launch the job again"
        )
    try:
        with zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(changes) as stream:
            diff: bytes = stream.read(DIFF_BYTES + 1)
    except zstandard.ZstdError as error:
        raise BundleError(f"the changes on top of {wanted} cannot be read: {error}; launch the job again") from error
    if len(diff) > DIFF_BYTES:
        raise BundleError(f"the changes on top of {wanted} hold more than {DIFF_BYTES} bytes; launch the job again")
    return diff
