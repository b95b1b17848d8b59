"""The commit as the machine gets it: from real git on a real wire, whole and unasked, or with a reason."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from bastion.bundler.checkout import Checkout
from bastion.bundler.git import GitBundler
from bastion.bundler.git_commands import GitAccess, GitContext, WantedCommit, ssh_command
from bastion.bundler.interface import Bundle
from bastion.model.errors import BundleError
from bastion.platform.shell import SystemShell
from tests.support.gitservers import Repository, git, git_daemon, git_web
from tests.unit.bundler.doors import CountingBucket, TestClock


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "machine" / "code"


def fetcher(access: GitAccess | None = None, clock: TestClock | None = None, **how: object) -> Checkout:
    context = GitContext(shell=SystemShell(), clock=clock or TestClock(), access=access or GitAccess())
    return Checkout(context=context, **how)  # type: ignore[arg-type]


def lay_out(target: Path, repo: object, commit: str, *, submodules: bool | None = None, **how: object) -> None:
    fetcher(**how).lay_out(WantedCommit(repo=str(repo), commit=commit, submodules=submodules), b"", target)


def refused(target: Path, repo: object, commit: str, **how: object) -> str:
    with pytest.raises(BundleError) as caught:
        lay_out(target, repo, commit, **how)  # type: ignore[arg-type]
    assert not target.exists()
    assert not list(target.parent.iterdir()) if target.parent.exists() else True
    message = str(caught.value)
    assert commit[:12] in message
    assert str(repo) in message
    return message


def test_exactly_this_commit_without_history(code: Repository, target: Path) -> None:
    code.pushed("train.py", "one\n")
    wanted = code.pushed("train.py", "two\n")
    code.pushed("train.py", "three\n")
    with git_daemon(code.bare.parent) as url:
        lay_out(target, f"{url}/code.git", wanted)
    assert (target / "train.py").read_text() == "two\n"
    assert git(target, "rev-parse", "HEAD") == wanted
    assert git(target, "rev-list", "--count", "HEAD") == "1"
    assert [path.name for path in target.parent.iterdir()] == ["code"]


def test_a_server_that_gives_only_what_a_ref_names(code: Repository, target: Path) -> None:
    wanted = code.pushed("train.py", "one\n")
    code.pushed("train.py", "two\n")
    with git_web(code.bare.parent, old=True) as url:
        lay_out(target, f"{url}/code.git", wanted)
    assert (target / "train.py").read_text() == "one\n"


@pytest.mark.parametrize("old", [False, True])
def test_a_commit_that_the_server_does_not_have(code: Repository, target: Path, old: bool) -> None:
    code.pushed()
    code.write("new", "")
    lost = code.commit()
    with git_web(code.bare.parent, old=old) as url:
        assert "push it" in refused(target, f"{url}/code.git", lost)


def test_no_repository_and_nobody_there(code: Repository, target: Path) -> None:
    commit = code.pushed()
    with git_web(code.bare.parent) as url:
        assert "not found" in refused(target, f"{url}/gone.git", commit)
    assert "check that the machines can reach it" in refused(target, f"{url}/code.git", commit)


def test_a_server_that_is_busy_is_asked_again(code: Repository, target: Path) -> None:
    commit = code.pushed()
    clock = TestClock()
    with git_web(code.bare.parent) as url:
        pass
    with pytest.raises(BundleError):
        fetcher(clock=clock).lay_out(WantedCommit(repo=f"{url}/code.git", commit=commit), b"", target)
    assert clock.monotonic() == 2 + 4


def packed(code: Repository) -> tuple[Bundle, bytes]:
    bucket = CountingBucket(TestClock())
    bundle = GitBundler(shell=SystemShell(), clock=TestClock(), allow_dirty=True).bundle(code.tree, bucket)
    return bundle, bucket.objects[bundle.key][0]


def seen(root: Path) -> dict[str, object]:
    return {
        str(path.relative_to(root)): os.readlink(path)
        if path.is_symlink()
        else (path.read_bytes(), bool(path.stat().st_mode & stat.S_IXUSR))
        for path in root.rglob("*")
        if ".git" not in path.parts and (path.is_symlink() or path.is_file())
    }


def test_changes_come_along_to_the_byte(code: Repository, target: Path) -> None:
    code.write(".gitattributes", "*.txt text\n")
    code.write("latin.txt", "Grüße\n".encode("latin-1"))
    code.write("old.bin", bytes(range(256)) * 40)
    code.write("gone.py", "x\n")
    code.write("windows.py", "a\r\nb\r\n")
    code.pushed()
    code.write("latin.txt", "Grüße und mehr".encode("latin-1"))
    code.write("old.bin", bytes(reversed(range(256))) * 40)
    code.write("new folder/ünïcode name.bin", os.urandom(3000))
    code.write("empty", "")
    code.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    (code.tree / "train.py").chmod(0o755)
    (code.tree / "link").symlink_to("new folder")
    (code.tree / "gone.py").unlink()
    code.write("staged", "staged\n")
    git(code.tree, "add", "staged")
    bundle, changes = packed(code)
    wanted = WantedCommit(repo=bundle.repo, commit=bundle.commit, digest=bundle.digest)
    fetcher().lay_out(wanted, changes, target)
    assert seen(target) == seen(code.tree)


def test_changes_of_another_digest_are_not_applied(code: Repository, target: Path) -> None:
    code.pushed()
    code.write("new", "x")
    bundle, changes = packed(code)
    wanted = WantedCommit(repo=bundle.repo, commit=bundle.commit, digest="0" * 64)
    with pytest.raises(BundleError, match="not those of digest 0000"):
        fetcher().lay_out(wanted, changes, target)
    assert not target.exists()


@pytest.mark.parametrize("changes", [b"no archive", b"\x28\xb5\x2f\xfd"])
def test_changes_that_are_not_what_they_should_be(code: Repository, target: Path, changes: bytes) -> None:
    commit = code.pushed()
    for digest in (hashlib.sha256(changes).hexdigest(), "0" * 64):
        wanted = WantedCommit(repo=f"file://{code.bare}", commit=commit, digest=digest)
        with pytest.raises(BundleError, match="launch the job again"):
            fetcher().lay_out(wanted, changes, target)
    assert not target.exists()


REACHES_OUT = """\
diff --git a/../escaped b/../escaped
new file mode 100644
--- /dev/null
+++ b/../escaped
@@ -0,0 +1 @@
+evil
"""


def test_changes_that_reach_out_are_refused(code: Repository, target: Path, tmp_path: Path) -> None:
    import zstandard

    commit = code.pushed()
    evil = zstandard.ZstdCompressor().compress(REACHES_OUT.encode())
    wanted = WantedCommit(repo=f"file://{code.bare}", commit=commit, digest=hashlib.sha256(evil).hexdigest())
    with pytest.raises(BundleError, match="do not apply"):
        fetcher().lay_out(wanted, evil, target)
    assert not list(tmp_path.rglob("escaped"))


@pytest.fixture
def with_library(code: Repository, tmp_path: Path) -> str:
    """The commit of a repository with a submodule `lib`, named relative to it."""
    library = Repository(tmp_path, "library")
    library.pushed("lib.py", "old\n")
    git(code.tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library.git", "lib")
    library.pushed("lib.py", "new\n")
    return code.pushed()


@pytest.mark.parametrize("old", [False, True])
def test_submodules_are_fetched_when_they_are_wanted(
    code: Repository, with_library: str, target: Path, old: bool
) -> None:
    with git_web(code.bare.parent, old=old) as url:
        lay_out(target, f"{url}/code.git", with_library, submodules=True)
    assert (target / "lib" / "lib.py").read_text() == "old\n"
    assert git(target / "lib", "status", "--porcelain") == ""


def test_submodules_that_nobody_spoke_of_are_refused(code: Repository, with_library: str, target: Path) -> None:
    assert "submodules (lib)" in refused(target, f"file://{code.bare}", with_library)
    lay_out(target, f"file://{code.bare}", with_library, submodules=False)
    assert list((target / "lib").iterdir()) == []


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 7\n"
FAKE_LFS = """#!/bin/sh
# Stands in for git-lfs: `pull` puts content in the place of the one pointer.
case "$1" in version) echo git-lfs/0 ;; pull) printf weights > model.bin ;; esac
"""


def test_files_of_lfs_need_a_git_lfs(
    code: Repository, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code.write(".gitattributes", "*.bin filter=lfs\n")
    code.write("plain.bin", "not a pointer")
    commit = code.pushed("model.bin", POINTER.format("0" * 64))
    message = refused(target, f"file://{code.bare}", commit)
    assert "Git LFS (model.bin)" in message
    assert "no git-lfs" in message
    program = tmp_path / "bin" / "git-lfs"
    program.parent.mkdir()
    program.write_text(FAKE_LFS)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    lay_out(target, f"file://{code.bare}", commit)
    assert (target / "model.bin").read_text() == "weights"


FAKE_SSH = """#!/bin/sh
# Stands in for ssh: notes its arguments, and runs the far side's program here, as sshd would.
printf '%s\\n' "$@" > "$0.said"
echo "agent=$SSH_AUTH_SOCK" >> "$0.said"
for last; do :; done
exec sh -c "$last"
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(FAKE_SSH)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/agent")
    return program


def test_a_private_repository_by_the_machines_own_key(
    code: Repository, target: Path, tmp_path: Path, ssh: Path
) -> None:
    """There is no sshd here: the far side is git's own program, and what ssh was told is looked at."""
    commit = code.pushed()
    key, hosts = tmp_path / "deploy key", tmp_path / "known_hosts"
    key.touch(mode=0o600)
    hosts.touch()
    lay_out(target, f"git@host:{code.bare}", commit, access=GitAccess(deploy_key=str(key), known_hosts=str(hosts)))
    said = ssh.with_name("ssh.said").read_text().splitlines()
    assert {
        "BatchMode=yes",
        "StrictHostKeyChecking=yes",
        f'IdentityFile="{key}"',
        "IdentitiesOnly=yes",
        "IdentityAgent=none",
        f'UserKnownHostsFile="{hosts}"',
        "GlobalKnownHostsFile=/dev/null",
        "git@host",
        "agent=",
    } <= set(said)


def test_a_key_that_the_machine_does_not_have(code: Repository, target: Path) -> None:
    commit = code.pushed()
    assert "names as deploy_key" in refused(
        target, f"git@host:{code.bare}", commit, access=GitAccess(deploy_key="/nowhere/key")
    )


def test_a_host_that_lets_nobody_in(code: Repository, target: Path, ssh: Path) -> None:
    commit = code.pushed()
    ssh.write_text("#!/bin/sh\necho 'git@host: Permission denied (publickey).' >&2; exit 255\n")
    message = refused(target, f"git@host:{code.bare}", commit)
    assert "Permission denied (publickey)" in message
    assert "deploy_key" in message


def test_without_a_key_ssh_still_asks_nobody() -> None:
    words = ssh_command(GitAccess())
    assert "BatchMode=yes" in words
    assert "StrictHostKeyChecking=yes" in words
    assert "Identity" not in words
    assert '"/a b/100%%"' in ssh_command(GitAccess(deploy_key="/a b/100%"))


def test_a_repository_for_the_web_that_wants_a_password(code: Repository, target: Path) -> None:
    commit = code.pushed()
    with git_web(code.bare.parent, closed=True) as url:
        assert "deploy_key" in refused(target, f"{url}/code.git", commit)


def test_what_is_too_large_is_refused(code: Repository, target: Path) -> None:
    code.write("a", b"a" * 600_000)
    commit = code.pushed("b", b"b" * 600_000)
    url = f"file://{code.bare}"
    assert "at most 500000 of 1 MiB" in refused(target, url, commit, limit_bytes=2**20)
    assert "at most 1 of" in refused(target, url, commit, limit_files=1)
    code.write("noise", os.urandom(2**20))
    commit = code.pushed()
    assert "larger than what a machine may fetch" in refused(target, url, commit, limit_bytes=2**19)


def test_what_takes_too_long_is_given_up(code: Repository, target: Path) -> None:
    commit = code.pushed()
    assert "took more than" in refused(target, f"file://{code.bare}", commit, limit_s=0.0)


def test_hooks_and_filters_of_the_account_do_not_run(code: Repository, target: Path, tmp_path: Path) -> None:
    hook = tmp_path / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    commit = code.pushed()
    with (tmp_path / "gitconfig").open("a") as config:
        config.write(f"[core]\nhooksPath = {hook.parent}\nautocrlf = true\n")
    lay_out(target, f"file://{code.bare}", commit)
    assert not (tmp_path / "ran").exists()
    assert (target / "train.py").read_bytes() == b"print('hello')\n"
