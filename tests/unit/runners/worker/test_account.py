"""Whose a job's processes are."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from bastion.model.errors import RunnerError
from bastion.runners.worker.linux.unix_account import UnixAccount, account, chosen, is_known


@pytest.mark.parametrize(
    ("run_as", "uid", "known", "whose"),
    [
        ("", 1000, {"bastion-job"}, ""),
        ("", 0, set(), ""),
        ("", 0, {"bastion-job"}, "bastion-job"),
        ("root", 0, {"bastion-job"}, ""),
        ("ml", 0, {"bastion-job", "ml"}, "ml"),
        ("ml", 0, set(), "ml"),
    ],
)
def test_root_runs_jobs_as_the_account_that_is_named_or_made_for_it(
    run_as: str, uid: int, known: set[str], whose: str
) -> None:
    assert chosen(run_as, uid, known.__contains__) == whose


def test_others_cannot_run_jobs_as_others() -> None:
    with pytest.raises(RunnerError, match="only root can run jobs as others"):
        chosen("ml", 1000, lambda _: True)


def test_an_account_that_the_machine_does_not_have() -> None:
    assert not is_known("no-such-account")
    with pytest.raises(RunnerError, match="no account 'no-such-account'"):
        account("no-such-account")


def test_an_account_comes_with_all_its_groups() -> None:
    me = pwd.getpwuid(os.getuid())
    found = account(me.pw_name)
    assert (found.uid, found.gid, found.home) == (me.pw_uid, me.pw_gid, me.pw_dir)
    assert me.pw_gid in found.groups


def test_what_is_given_away_is_given_whole_and_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").touch()
    (tree / "a" / "out").symlink_to(outside)
    (tree / "file-out").symlink_to(outside / "file")
    uid = 12345 if os.geteuid() == 0 else os.geteuid()
    gid = 12345 if os.geteuid() == 0 else os.getegid()
    before = [path.stat().st_uid for path in (outside, outside / "file")]
    UnixAccount("other", uid, gid, (gid,), "/").give(str(tree))
    given = [tree, *tree.rglob("*")]
    assert len(given) == 6
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in given} == {(uid, gid)}
    assert [path.stat().st_uid for path in (outside, outside / "file")] == before
