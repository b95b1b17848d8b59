"""A commit in place of an upload: resolved at submit, and refused where no worker could fetch it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bastion.bundler.git import GitBundler
from bastion.bundler.interface import Bundle
from bastion.model.errors import BundleError
from bastion.platform.shell import SystemShell
from tests.support.gitservers import Repository, git, git_daemon
from tests.unit.bundler.doors import CountingBucket, TestClock


@pytest.fixture
def bucket() -> CountingBucket:
    return CountingBucket(TestClock())


def bundle(source: Path, bucket: CountingBucket, **how: object) -> Bundle:
    return GitBundler(shell=SystemShell(), clock=TestClock(), **how).bundle(source, bucket)  # type: ignore[arg-type]


def refused(source: Path, bucket: CountingBucket, **how: object) -> str:
    with pytest.raises(BundleError) as caught:
        bundle(source, bucket, **how)
    assert not bucket.objects
    return str(caught.value)


def test_a_clean_pushed_tree_is_its_commit_and_uploads_nothing(code: Repository, bucket: CountingBucket) -> None:
    commit = code.pushed()
    found = bundle(code.tree, bucket)
    assert (found.type, found.commit, found.repo) == ("git", commit, f"file://{code.bare}")
    assert (found.key, found.digest, found.folder, found.submodules) == ("", "", "", None)
    assert not bucket.asked


def test_a_folder_below_the_top_is_where_the_command_runs(code: Repository, bucket: CountingBucket) -> None:
    code.pushed("a b/deep/train.py")
    assert bundle(code.tree / "a b" / "deep", bucket).folder == "a b/deep"


def test_a_commit_below_what_the_remote_has_is_fine(code: Repository, bucket: CountingBucket) -> None:
    first = code.pushed()
    code.pushed("later.py")
    git(code.tree, "checkout", "--quiet", "--detach", first)
    assert bundle(code.tree, bucket).commit == first


def test_a_commit_that_is_not_pushed_is_refused(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    code.write("new.py", "")
    commit = code.commit()
    assert f"commit {commit[:12]} is not on file://{code.bare}: push it" in refused(code.tree, bucket)


def test_a_remote_that_others_have_pushed_to_is_no_reason_to_believe(
    code: Repository, bucket: CountingBucket, tmp_path: Path
) -> None:
    code.pushed()
    git(tmp_path, "clone", "--quiet", str(code.bare), "other")
    (tmp_path / "other" / "theirs").touch()
    git(tmp_path / "other", "add", ".")
    git(tmp_path / "other", "commit", "--quiet", "-m", "theirs")
    git(tmp_path / "other", "push", "--quiet")
    assert "git fetch" in refused(code.tree, bucket)
    git(code.tree, "fetch", "--quiet")
    assert bundle(code.tree, bucket).commit == git(code.tree, "rev-parse", "HEAD")


def test_a_dirty_tree_is_refused_naming_ten_of_its_files(code: Repository, bucket: CountingBucket) -> None:
    code.write(".gitignore", "*.log\n")
    code.pushed()
    code.write("train.py", "print('changed')\n")
    code.write("big.log", "ignored")
    for number in range(12):
        code.write(f"new/{number:02}", "")
    message = refused(code.tree, bucket)
    assert "train.py" in message
    assert "new/08" in message
    assert "and 3 more" in message
    assert "allow_dirty=true" in message
    assert "big.log" not in message


def test_changes_go_along_when_they_may(code: Repository, bucket: CountingBucket) -> None:
    code.write(".gitignore", "*.log\n")
    commit = code.pushed()
    code.write("train.py", "print('changed')\n")
    code.write("new.bin", bytes(range(256)))
    code.write("big.log", "ignored")
    index = (code.tree / ".git/index").read_bytes()
    found = bundle(code.tree, bucket, allow_dirty=True)
    assert (found.commit, found.files) == (commit, 2)
    assert list(bucket.objects) == [found.key] == [f"bundles/{found.digest}.diff.zst"]
    assert any("new.bin" in note for note in found.notes)
    assert (code.tree / ".git/index").read_bytes() == index
    assert bundle(code.tree, bucket, allow_dirty=True).digest == found.digest
    assert bucket.asked["create"] == 1


def test_changes_that_the_store_will_remove_soon_are_uploaded_again(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    code.write("train.py", "print('changed')\n")
    day_s, clock = 86_400.0, TestClock()
    for day in range(0, 30, 10):
        clock.sleep(10 * day_s * bool(day))
        how = {"allow_dirty": True, "retention_s": 30 * day_s}
        GitBundler(shell=SystemShell(), clock=clock, **how).bundle(code.tree, bucket)  # type: ignore[arg-type]
        assert bucket.asked["write"] == (day > 15)


def test_a_clean_tree_with_allow_dirty_is_the_commit_alone(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    assert bundle(code.tree, bucket, allow_dirty=True).key == ""


def test_too_large_changes_are_refused_naming_the_largest(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    code.write("small", b"x")
    code.write("data.bin", os.urandom(5000))
    message = refused(code.tree, bucket, allow_dirty=True, limit_bytes=4000)
    assert "the largest: data.bin, small" in message


def test_a_repository_within_the_tree_cannot_go_along(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    (code.tree / "nested").mkdir()
    git(code.tree / "nested", "init", "--quiet")
    assert "'nested/' is a git repository of its own" in refused(code.tree, bucket, allow_dirty=True)


def test_a_merge_that_is_not_finished_cannot_go_along(code: Repository, bucket: CountingBucket) -> None:
    code.pushed("train.py", "one\n")
    git(code.tree, "checkout", "--quiet", "-b", "side")
    code.pushed("train.py", "two\n")
    git(code.tree, "checkout", "--quiet", "main")
    code.pushed("train.py", "three\n")
    subprocess.run(["git", "-C", str(code.tree), "merge", "--quiet", "side"], capture_output=True, check=False)
    assert "'train.py' is not merged" in refused(code.tree, bucket, allow_dirty=True)


@pytest.mark.parametrize("ref", ["side", "refs/heads/side", "v1", "v2"])
def test_branches_and_tags_are_resolved_now(code: Repository, bucket: CountingBucket, ref: str) -> None:
    code.pushed()
    git(code.tree, "checkout", "--quiet", "-b", "side")
    commit = code.pushed("side.py")
    git(code.tree, "tag", "v1")
    git(code.tree, "tag", "-a", "-m", "annotated", "v2")
    code.push("v1", "v2")
    git(code.tree, "checkout", "--quiet", "main")
    code.write("dirty", "which is not looked at")
    found = bundle(code.tree, bucket, ref=ref)
    assert found.commit == commit
    assert any(commit[:12] in note for note in found.notes)


def test_a_repository_is_asked_over_the_wire_and_its_head_is_the_default(
    code: Repository, bucket: CountingBucket, tmp_path: Path
) -> None:
    commit = code.pushed()
    with git_daemon(code.bare.parent) as url:
        found = bundle(tmp_path, bucket, repo=f"{url}/code.git")
        assert (found.commit, found.repo, found.folder) == (commit, f"{url}/code.git", "")
        assert bundle(tmp_path, bucket, repo=f"{url}/code.git", ref=commit).commit == commit
        assert f"cannot read {url}/gone.git: " in refused(tmp_path, bucket, repo=f"{url}/gone.git")


def test_a_ref_that_is_not_there_names_the_nearest(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    assert "did you mean main?" in refused(code.tree, bucket, ref="mian")
    assert "all 40 digits" in refused(code.tree, bucket, ref="0123456")


def test_a_word_for_two_commits_is_refused(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    git(code.tree, "tag", "both")
    code.write("b", "")
    code.commit()
    git(code.tree, "branch", "both")
    code.push("refs/heads/both", "refs/tags/both")
    assert "both a branch and a tag" in refused(code.tree, bucket, ref="both")


def test_submodules_must_be_spoken_of(code: Repository, bucket: CountingBucket, tmp_path: Path) -> None:
    library = Repository(tmp_path, "library")
    library.pushed("lib.py")
    git(code.tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.bare), "lib")
    code.pushed()
    message = refused(code.tree, bucket)
    assert "submodules (lib)" in message
    assert "submodules=true" in message
    assert bundle(code.tree, bucket, submodules=True).submodules is True
    assert bundle(code.tree, bucket, submodules=False).submodules is False
    (code.tree / "lib" / "lib.py").write_text("changed")
    assert "'lib' is a submodule" in refused(code.tree, bucket, allow_dirty=True, submodules=True)


def test_files_of_lfs_are_told(code: Repository, bucket: CountingBucket) -> None:
    code.write(".gitattributes", "*.bin filter=lfs\n")
    code.write("weights.bin", "version https://git-lfs.github.com/spec/v1\n")
    code.pushed()
    assert any("git-lfs: weights.bin" in note for note in bundle(code.tree, bucket).notes)


@pytest.mark.parametrize("url", ["https://ada:s3cret@host/x.git", "https://s3cret@host/x.git", "ssh://a:s3cret@host/x"])
def test_a_url_with_a_secret_is_refused_and_never_repeated(code: Repository, bucket: CountingBucket, url: str) -> None:
    code.pushed()
    assert "s3cret" not in refused(code.tree, bucket, repo=url)
    git(code.tree, "remote", "set-url", "origin", url)
    message = refused(code.tree, bucket)
    assert "s3cret" not in message
    assert "deploy key" in message


def test_what_insteadof_adds_is_not_written(code: Repository, bucket: CountingBucket) -> None:
    code.pushed()
    git(code.tree, "config", f"url.file://{code.bare.parent}/.insteadOf", "https://example.com/")
    git(code.tree, "remote", "set-url", "origin", "https://example.com/code.git")
    assert bundle(code.tree, bucket).repo == "https://example.com/code.git"


def test_folders_that_are_in_no_repository_or_have_no_commit_or_origin(bucket: CountingBucket, tmp_path: Path) -> None:
    assert "repo=URL" in refused(tmp_path, bucket)
    git(tmp_path, "init", "--quiet")
    assert "has no remote 'origin'" in refused(tmp_path, bucket)
    git(tmp_path, "remote", "add", "origin", "../elsewhere.git")
    assert "has no commit yet" in refused(tmp_path, bucket)
