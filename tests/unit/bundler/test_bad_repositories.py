"""Repositories that a stranger made to have something run or written where they are laid out: by real git, refused."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest
import zstandard

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitAccess, GitContext, WantedCommit
from bastion.model.errors import BundleError
from bastion.platform.shell import SystemShell
from tests.support.gitservers import Repository, git, git_web
from tests.unit.bundler.doors import TestClock


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "machine" / "code"


def lay_out(target: Path, wanted: WantedCommit, changes: bytes = b"", *, local: bool = True) -> None:
    context = GitContext(shell=SystemShell(), clock=TestClock(), access=GitAccess(local=local))
    Checkout(context=context).lay_out(wanted, changes, target)


def refused(target: Path, wanted: WantedCommit, changes: bytes = b"", *, local: bool = True) -> str:
    with pytest.raises(BundleError) as caught:
        lay_out(target, wanted, changes, local=local)
    assert not target.exists()
    return str(caught.value)


def with_submodule(code: Repository, url: str, *, name: str = "lib", more: str = "") -> str:
    """A pushed commit whose submodule is fetched from this URL."""
    library = Repository(code.tree.parent, "library")
    link = library.pushed("lib.py", "x\n")
    code.write("train.py", "print('hello')\n")
    code.write(".gitmodules", f'[submodule "{name}"]\n\tpath = lib\n\turl = {url}\n{more}')
    git(code.tree, "add", ".")
    git(code.tree, "update-index", "--add", "--cacheinfo", f"160000,{link},lib")
    git(code.tree, "commit", "--quiet", "--message=bad")
    git(code.tree, "push", "--quiet", "origin", "HEAD:main")
    return git(code.tree, "rev-parse", "HEAD")


def test_a_good_one_is_laid_out(code: Repository, target: Path, tmp_path: Path) -> None:
    """So that those below fail for what is wrong with them, and for nothing else."""
    commit = with_submodule(code, f"file://{tmp_path}/served/library.git")
    lay_out(target, WantedCommit(repo=f"file://{code.bare}", commit=commit, submodules=True))
    assert (target / "lib" / "lib.py").read_text() == "x\n"


def test_a_submodule_that_would_run_a_program(code: Repository, target: Path, tmp_path: Path) -> None:
    with (tmp_path / "gitconfig").open("a") as config:
        config.write('[protocol "ext"]\nallow = always\n')
    commit = with_submodule(code, f"ext::touch {tmp_path}/ran")
    assert refused(target, WantedCommit(repo=f"file://{code.bare}", commit=commit, submodules=True))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "more"), [("lib", "\tupdate = !touch {}/ran\n"), ("../../hooks", ""), ("lib", "\tpath = ../../out\n")]
)
def test_a_submodule_with_a_command_or_a_way_out(
    code: Repository, target: Path, tmp_path: Path, name: str, more: str
) -> None:
    commit = with_submodule(code, f"file://{tmp_path}/served/library.git", name=name, more=more.format(tmp_path))
    assert refused(target, WantedCommit(repo=f"file://{code.bare}", commit=commit, submodules=True))
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "machine" / "out").exists()


def test_a_url_that_is_an_option(code: Repository, target: Path, tmp_path: Path) -> None:
    commit = with_submodule(code, f"--upload-pack=touch {tmp_path}/ran")
    assert refused(target, WantedCommit(repo=f"file://{code.bare}", commit=commit, submodules=True))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", [".git", ".GIT", "..", "git~1"])
def test_a_tree_with_a_name_that_means_something(code: Repository, target: Path, tmp_path: Path, name: str) -> None:
    code.pushed()
    blob = git(code.tree, "hash-object", "-w", str(code.write("hook", f"#!/bin/sh\ntouch {tmp_path}/ran\n")))
    hooks = made(code, f"100755 blob {blob}\tpost-checkout\n")
    inner = made(code, f"040000 tree {hooks}\thooks\n")
    commit = git(code.tree, "commit-tree", "-m", "bad", made(code, f"040000 tree {inner}\t{name}\n"))
    git(code.tree, "push", "--quiet", "origin", f"{commit}:refs/heads/bad")
    wanted = WantedCommit(repo=f"file://{code.bare}", commit=commit)
    assert "invalid path" in refused(target, wanted)
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.glob("machine/**/post-checkout"))


def made(code: Repository, listing: str) -> str:
    """A tree object of this listing, however bad."""
    said = subprocess.run(
        ["git", "-C", str(code.tree), "mktree"], input=listing, capture_output=True, text=True, check=True
    )
    return said.stdout.strip()


THROUGH_A_LINK = """\
diff --git a/out b/out
new file mode 120000
--- /dev/null
+++ b/out
@@ -0,0 +1 @@
+{}
\\ No newline at end of file
diff --git a/out/evil b/out/evil
new file mode 100644
--- /dev/null
+++ b/out/evil
@@ -0,0 +1 @@
+evil
"""


@pytest.mark.parametrize("committed", [True, False])
def test_changes_through_a_link_that_leads_out(code: Repository, target: Path, tmp_path: Path, committed: bool) -> None:
    (tmp_path / "outside").mkdir()
    diff = THROUGH_A_LINK.format(tmp_path / "outside")
    if committed:
        (code.tree / "out").symlink_to(tmp_path / "outside")
        diff = diff[diff.index("diff --git a/out/evil") :]
    commit = code.pushed()
    changes = zstandard.compress(diff.encode())
    digest = hashlib.sha256(changes).hexdigest()
    wanted = WantedCommit(repo=f"file://{code.bare}", commit=commit, digest=digest)
    assert "do not apply" in refused(target, wanted, changes)
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_worker_of_root_reads_no_repository_of_its_machine(code: Repository, target: Path, tmp_path: Path) -> None:
    commit = code.pushed()
    wanted = WantedCommit(repo=f"file://{code.bare}", commit=commit)
    assert "transport 'file' not allowed" in refused(target, wanted, local=False)
    private = Repository(tmp_path, "private")
    private.pushed("key", "secret")
    bad = with_submodule(code, f"file://{private.bare}")
    with git_web(code.bare.parent) as url:
        wanted = WantedCommit(repo=f"{url}/code.git", commit=bad, submodules=True)
        assert "transport 'file' not allowed" in refused(target, wanted, local=False)
