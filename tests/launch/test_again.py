"""A job once more, and two side by side: the code is what it was, and what differs is said."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import Bench
from tests.support.gitservers import Repository, quiet_git


def spec_of(bench: Bench, job: str) -> dict[str, Any]:
    spec: dict[str, Any] = bench.launch("show", job, "--json").json["spec"]
    return spec


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("rate = 1\nprint(rate)\n")
    return folder


def submit(bench: Bench, code: Path, *words: str) -> str:
    """A job of alice's with this folder's code. Its id."""
    flags = ["--user_id=alice", f"--bundler_spec=source={code}", "--json", *words]
    said = bench.launch(*flags, *([] if "--" in words else ["--", "python", "train.py"]))
    return str(said.json["id"])


def rerun(bench: Bench, *words: str) -> str:
    said = bench.launch("rerun", "--user_id=alice", "--json", *words)
    assert said.code == 0, said
    return str(said.json["id"])


def test_a_rerun_is_the_same_job_and_says_whose(bench: Bench, code: Path) -> None:
    first = submit(bench, code, "--name=train", "--env=A=1", "--setup=make", "--max_tries=3", "--time_limit=1h")
    (code / "train.py").write_text("another\n")
    objects = bench.objects()
    second = rerun(bench, first)
    assert len(bench.objects()) == len(objects) + 1
    one, other = spec_of(bench, first), spec_of(bench, second)
    assert other["provenance"].pop("parent") == first
    assert other["provenance"].pop("submitted") > one["provenance"].pop("submitted")
    del one["provenance"]["parent"]
    outputs = f"{bench.bucket.url}/outputs/{second}/0"
    assert (other.pop("output_dir"), other.pop("checkpoint_dir")) == (outputs, f"{outputs}/checkpoints")
    del one["output_dir"], one["checkpoint_dir"]
    assert other == one


def test_flags_and_a_command_say_otherwise(bench: Bench, code: Path) -> None:
    first = submit(bench, code, "--name=train", "--env=A=1", "--env=B=1", "--time_limit=1h", "--output_dir=gs://o/x")
    flags = ["--name=again", "--env=B=2", "--env=C=3", "--priority=1", "--grace=1s", "--time_limit=none"]
    second = rerun(bench, *flags, "--resources=v4=2", "--setup=", first, "--", "python", "other.py")
    spec = spec_of(bench, second)
    assert (spec["name"], spec["command"]) == ("again", ["python", "other.py"])
    assert spec["env"] == {"A": "1", "B": "2", "C": "3"}
    assert (spec["priority"], spec["grace_s"], spec["time_limit_s"]) == (1, 1.0, None)
    assert (spec["resources"], spec["output_dir"]) == ({"v4": 2}, "gs://o/x")
    assert spec["checkpoint_dir"] == "gs://o/x/checkpoints"
    assert spec_of(bench, rerun(bench, "--output_dir=gs://o/y/", first))["checkpoint_dir"] == "gs://o/y/checkpoints"


def test_a_rerun_may_be_looked_at_first(bench: Bench, code: Path) -> None:
    first = submit(bench, code)
    objects = bench.objects()
    said = bench.launch("rerun", first, "--user_id=alice", "--dry_run", "--count=3")
    assert said.json["provenance"]["parent"] == first
    assert (said.json["count"], said.json["output_dir"], said.json["checkpoint_dir"]) == (3, "", "")
    assert bench.objects() == objects


def test_code_that_the_bucket_has_removed_is_told_and_nothing_written(bench: Bench, code: Path) -> None:
    first = submit(bench, code)
    key = spec_of(bench, first)["bundle"]["key"]
    bench.bucket.delete([key])
    objects = bench.objects()
    said = bench.launch("rerun", "--user_id=alice", first)
    assert said.code == 1
    assert f"the code of {first} is gone" in said.err
    assert key in said.err
    assert bench.objects() == objects


def test_code_that_the_bucket_would_remove_soon_is_kept_for_the_new_job(bench: Bench, code: Path) -> None:
    first = submit(bench, code)
    key = spec_of(bench, first)["bundle"]["key"]
    data = bench.bucket.read(key).data
    rerun(bench, first)
    (young,) = bench.bucket.list(key)
    file = Path(bench.bucket.url.removeprefix("file://"), key)
    long_ago = young.modified.timestamp() - 365 * 86_400
    os.utime(file, (long_ago, long_ago))
    assert next(iter(bench.bucket.list(key))).modified < young.modified
    rerun(bench, first)
    (again,) = bench.bucket.list(key)
    assert again.modified >= young.modified
    assert bench.bucket.read(key).data == data


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (["nothing"], 102, "no job 'nothing'"),
        (["train[0]"], 2, "repeats all of a job"),
        (["train", "--user_id=eve"], 1, "eve is not a member of nlp"),
        (["train", "--priority=9"], 1, "priority is 9"),
        (["train", "--env=A"], 2, "use --env NAME=VALUE"),
        ([], 2, "needs JOB"),
    ],
)
def test_what_makes_no_sense_is_refused(bench: Bench, words: list[str], code: int, complaint: str) -> None:
    bench.submit("--name=train", "--", "x")
    objects = bench.objects()
    said = bench.launch("rerun", *([] if any("user_id" in word for word in words) else ["--user_id=alice"]), *words)
    assert (said.code, complaint in said.err) == (code, True), said
    assert bench.objects() == objects


def test_a_diff_tells_spec_surroundings_and_code(bench: Bench, code: Path) -> None:
    (code / "gone.py").write_text("x\n")
    (code / "data.bin").write_bytes(bytes(9))
    first = submit(bench, code, "--name=one", "--env=LR=1", "--env=OLD=1")
    (code / "train.py").write_text("rate = 2\nprint(rate)\n")
    (code / "gone.py").unlink()
    (code / "data.bin").write_bytes(bytes(8))
    (code / "new.sh").write_text("y\n")
    second = submit(bench, code, "--name=two", "--env=LR=2", "--", "python", "other.py")
    found = bench.launch("diff", "one", "two", "--json").json
    assert (found["schema"], [job["id"] for job in found["jobs"]]) == (1, [first, second])
    assert found["spec"]["name"] == ["one", "two"]
    assert found["spec"]["command"] == [["python", "train.py"], ["python", "other.py"]]
    assert found["environment"] == {"env LR": ["1", "2"], "env OLD": ["1", None]}
    files = found["code"]
    assert (files["added"], files["removed"], files["changed"]) == (["new.sh"], ["gone.py"], ["data.bin", "train.py"])
    assert {"-rate = 1", "+rate = 2", "+y", "-x"} <= set(files["lines"])
    assert (files["same"], files["cut"]) == (False, False)
    said = bench.launch("diff", "one", "two")
    assert said.code == 0
    assert said.out.startswith(f"{first} -> {second}\n\nspec\n")
    assert "  env OLD  1 -> nothing\n" in said.out
    assert "  only in the second: new.sh\n" in said.out
    assert "--- a/train.py\n+++ b/train.py\n" in said.out
    assert "data.bin: not compared line by line" in said.out


def test_equal_jobs_do_not_differ(bench: Bench, code: Path) -> None:
    first = submit(bench, code)
    said = bench.launch("diff", first, first)
    assert (said.code, said.out) == (0, f"{first} -> {first}\nno difference\n")


def test_a_diff_without_the_code_of_one_says_so(bench: Bench, code: Path) -> None:
    first = submit(bench, code, "--name=one")
    (code / "train.py").write_text("rate = 2\n")
    submit(bench, code, "--name=two")
    key = spec_of(bench, first)["bundle"]["key"]
    bench.bucket.delete([key])
    said = bench.launch("diff", "one", "two")
    assert said.code == 0
    assert f"cannot be compared: the bucket has removed {key}" in said.out
    bench.submit("--name=three", "--", "x")
    assert "tar " in bench.launch("diff", "one", "three").out


def test_commits_are_compared_by_their_names(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet_git(tmp_path, monkeypatch)
    repository = Repository(tmp_path, "repository")
    commits = []
    for name in ("one", "two"):
        commits.append(repository.pushed("train.py", f"{name}\n"))
        said = bench.launch(
            "--user_id=alice",
            f"--name={name}",
            "--bundler_type=git",
            f"--bundler_spec=source={repository.tree}",
            "--",
            "x",
        )
        assert said.code == 0, said
    out = bench.launch("diff", "one", "two").out
    assert f"commit {commits[0]} of file://{repository.bare} -> commit {commits[1]}" in out
    assert f"git_commit  {commits[0]} -> {commits[1]}" in out


def test_a_commit_in_a_spec_file_is_that_very_commit(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet_git(tmp_path, monkeypatch)
    repository = Repository(tmp_path, "repository")
    commit = repository.pushed()
    first = submit(bench, repository.tree, "--bundler_type=git", "--name=one")
    repository.pushed("train.py", "later\n")
    file = tmp_path / "spec.json"
    file.write_text(bench.launch("rerun", "--user_id=alice", "--dry_run", "--name=two", first).out)
    assert bench.launch("--user_id=alice", f"--spec={file}").code == 0
    spec = spec_of(bench, "two")
    assert (spec["bundle"], spec["bundle"]["commit"]) == (spec_of(bench, first)["bundle"], commit)


def test_a_bundle_without_a_job(bench: Bench, code: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = bench.launch("bundle", f"--bundler_spec=source={code}", "--json").json
    (key,) = [key for key in bench.objects() if key.startswith("bundles/")]
    assert (said["schema"], said["type"], said["key"]) == (1, "tar", key)
    assert (said["url"], said["files"]) == (f"{bench.bucket.url}/{key}", 1)
    assert said["bytes"] == len(bench.bucket.read(key).data)
    again = bench.launch("bundle", f"--bundler_spec=source={code}")
    assert again.out == f"{said['digest']}  {said['url']}\n"
    assert bench.launch("bundle", "--bundler_type=none").out == "none\n"
    quiet_git(tmp_path, monkeypatch)
    repository = Repository(tmp_path, "repository")
    commit = repository.pushed()
    git = bench.launch("bundle", "--bundler_type=git", f"--bundler_spec=source={repository.tree}")
    assert git.out == f"{commit}  file://{repository.bare}\n"
    assert not [key for key in bench.objects() if key.startswith("inbox/")]
