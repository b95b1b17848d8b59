"""`launch --bundler_type=git` from a shell: the commit is in the spec, and runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet
from tests.support.gitservers import Repository, git, git_daemon


@pytest.fixture
def keyed(tmp_path: Path, code: Repository) -> Iterator[Fleet]:
    """A fleet whose admin has named a deploy key that the machine does not have."""
    here = Fleet(tmp_path / "fleet")
    here.root.mkdir(parents=True)
    (here.root / "config.toml").write_text('[git]\ndeploy_key = "/nowhere/key"\n')
    here.create()
    yield here
    here.close()


def launch(fleet: Fleet, code: Repository, *words: str) -> tuple[int, str, str]:
    flags = ["--name=from-git", "--resources=v4=1", "--bundler_type=git", "--wait", *words]
    said = fleet.run("launch", *flags, "--", "sh", "run.sh", cwd=code.tree)
    return said.returncode, said.stdout, said.stderr


def test_a_commit_runs_and_is_what_the_spec_says(code: Repository, fleet: Fleet) -> None:
    fleet.create()
    commit = code.pushed("run.sh", "cat words\n")
    code.write("words", "in the work tree only")
    code_, _, err = launch(fleet, code)
    assert code_ == 1
    assert "words" in err
    assert not list(fleet.root.glob("inbox/*/*"))
    assert launch(fleet, code, "--bundler_spec=allow_dirty=true")[0] == 0
    assert fleet.log("from-git") == "in the work tree only\n"
    spec = fleet.job("from-git")["spec"]
    assert (spec["bundle"]["type"], spec["bundle"]["commit"]) == ("git", commit)
    assert (spec["provenance"]["git_commit"], spec["provenance"]["git_dirty"]) == (commit, True)
    code.commit()
    assert "push it" in launch(fleet, code)[2]
    with git_daemon(code.bare.parent) as url:
        git(code.tree, "push", "--quiet", "origin", "HEAD:side")
        where = [f"--bundler_spec=repo={url}/code.git", "--bundler_spec=ref=side"]
        assert launch(fleet, code, *where)[0] == 0
    assert not fleet.job("from-git")["spec"]["bundle"]["digest"]


def test_the_admins_key_is_named_to_the_workers_and_stands_in_no_spec(keyed: Fleet, code: Repository) -> None:
    code.pushed("run.sh", "true\n")
    assert launch(keyed, code)[0] == 100
    job = keyed.job("from-git")
    assert job["attempts"][0]["cause"] == "setup"
    assert "'/nowhere/key'" in job["reason"]
    assert "/nowhere" not in str(job["spec"])


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--bundler_type=gti"], "did you mean git?"),
        (["--bundler_type=git", "--bundler_spec=rev=main"], "did you mean ref?"),
        (["--bundler_type=git", "--bundler_spec=submodules=yes"], "use true or false"),
        (["--bundler_type=git", "--bundler_spec=allow_dirty=true", "--bundler_spec=ref=x"], "leave repo and ref out"),
        (["--bundler_spec=ref=main"], "use source=VALUE"),
    ],
)
def test_wrong_words_are_wrong_usage(shared: Fleet, flags: list[str], complaint: str) -> None:
    said = shared.run("launch", *flags, "--", "true")
    assert said.returncode == 2
    assert complaint in said.stderr
