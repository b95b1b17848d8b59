"""The folders that a worker makes in a bucket that is a folder: whose they are, whoever else makes them at that moment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitContext
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.worker.linux.cache import Cache
from bastion.runners.worker.linux.container_engine import Engine
from bastion.runners.worker.linux.machine import LocalMachine
from bastion.runners.worker.linux.unix_account import UnixAccount, account, name_of

OWN = "outputs/train-1/0"


@pytest.fixture
def whose() -> UnixAccount:
    """Only root can be another account."""
    return account("nobody" if os.geteuid() == 0 else name_of(os.geteuid()))


@pytest.fixture
def bucket(tmp_path: Path) -> Path:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/tmp"):
            folder.chmod(0o755)
    (tmp_path / "bucket").mkdir()
    return tmp_path / "bucket"


def local(bucket: Path, whose: UnixAccount, worker: int, *, private: bool = False) -> LocalMachine:
    shell, clock = SystemShell(), SystemClock()
    folder = bucket.parent / f"work-{worker}"
    return LocalMachine(
        folder,
        {},
        fetcher=Checkout(context=GitContext(shell=shell, clock=clock)),
        cache=Cache(root=folder / "cache", boot="1", shell=shell, clock=clock, ids=RandomIds()),
        engine=Engine(str(folder / "nobody.sock"), "c", lambda _: None),
        account=whose,
        output=f"file://{bucket}/{OWN}",
        private=private,
    )


def test_the_workers_of_a_gang_all_have_its_one_folder(bucket: Path, whose: UnixAccount) -> None:
    for worker in range(2):
        machine = local(bucket, whose, worker)
        assert machine.place(f"file://{bucket}/{OWN}") == f"{bucket}/{OWN}"
        machine.place(f"file://{bucket}/{OWN}/checkpoints")
    assert (bucket / OWN).stat().st_uid == whose.uid
    assert (bucket / OWN / "checkpoints").stat().st_uid == whose.uid
    assert (bucket / OWN).parent.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("private", [False, True])
def test_a_folder_that_another_worker_has_made_and_not_yet_given_away_is_given_away(
    bucket: Path, whose: UnixAccount, private: bool
) -> None:
    (bucket / OWN).mkdir(parents=True, mode=0o755)
    local(bucket, whose, 1, private=private).place(f"file://{bucket}/{OWN}")
    assert (bucket / OWN).stat().st_uid == whose.uid
    if os.geteuid() == 0:
        assert (bucket / OWN).stat().st_mode & 0o777 == (0o700 if private else 0o755)


def test_the_folder_may_come_between_the_look_and_the_making(
    bucket: Path, whose: UnixAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def after_another(path: str, *args: int, **how: int) -> None:
        if str(path) == f"{bucket}/{OWN}":
            make(path, *args, **how)
        make(path, *args, **how)

    machine = local(bucket, whose, 1)
    monkeypatch.setattr(os, "mkdir", after_another)
    machine.place(f"file://{bucket}/{OWN}")
    assert (bucket / OWN).stat().st_uid == whose.uid


def test_the_folder_of_another_task_is_made_where_there_is_none_and_stays_whose_it_is(
    bucket: Path, whose: UnixAccount
) -> None:
    machine = local(bucket, whose, 0)
    machine.place(f"file://{bucket}/outputs/before-1/3")
    assert (bucket / "outputs/before-1/3").stat().st_uid == whose.uid
    (bucket / "outputs/before-2/0").mkdir(parents=True)
    machine.place(f"file://{bucket}/outputs/before-2/0")
    assert (bucket / "outputs/before-2/0").stat().st_uid == os.geteuid()


@pytest.mark.parametrize("name", ["outputs/../0", "outputs/train-1/new", "journal/0"])
def test_all_else_is_made_by_the_account(
    bucket: Path, whose: UnixAccount, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(UnixAccount, "run", lambda _, argv: asked.append(argv))
    local(bucket, whose, 0).place(f"file://{bucket}/{name}")
    assert asked == [["mkdir", "-p", "--", f"{bucket}/{name}"]]
    assert list(bucket.iterdir()) == []
