"""A folder is swapped for a link between the look at it and what is done to it: nobody follows it, at whichever call that is."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.worker.linux import folders
from bastion.runners.worker.linux.cache import KEPT_FOR, Cache
from bastion.runners.worker.linux.unix_account import UnixAccount
from bastion.stores import shared_folder
from bastion.stores.job_files import JobFiles
from bastion.stores.local import LocalBucket
from tests.support.swaps import Elsewhere, at_each_call, swap

ME = os.geteuid()
OTHER = 12345 if ME == 0 else ME
"""The account to which things are given. Only root can give to another one."""

Scene = Callable[[Path, Path], Callable[[], object]]
"""Makes what is needed in a folder, and swaps nothing; what it gives is then played."""


def below(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("own")


def follows_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str, scene: Scene, owner: int = ME
) -> None:
    """Play it with `victim`, a path below the scene's folder, swapped before each call. What lies elsewhere is the owner's."""
    elsewhere = Elsewhere(tmp_path / "elsewhere", ("file", "deep/file", "deep/empty/file"), owner)

    def made(number: int) -> tuple[Callable[[], None], Callable[[], object]]:
        here = tmp_path / str(number)
        here.mkdir()
        play = scene(here, elsewhere.folder)
        return lambda: swap(here / victim, elsewhere.folder), play

    played = 0
    for number in at_each_call(monkeypatch, made):
        assert elsewhere.state() == elsewhere.before, f"swapped before call {number}"
        played = number
    assert played > 3


def a_bucket(here: Path, *, shared: bool) -> LocalBucket:
    if shared:
        for folder in shared_folder.wanted(str(here), "demo", None, {}, ME):
            folder.make()
    bucket = LocalBucket(f"file://{here}", create=True)
    bucket.create("demo/status.json", b"x")
    return bucket


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("victim", ["demo/outputs/j/0", "demo/outputs/j/0/deep"])
def test_objects_of_a_bucket_are_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str, *, shared: bool
) -> None:
    """As `bastion gc` does it, as root: the folders of a job's outputs are its account's."""

    def scene(here: Path, _: Path) -> Callable[[], object]:
        bucket = a_bucket(here, shared=shared)
        below(here / "demo/outputs/j/0", "file", "deep/file", "deep/empty/file")
        return lambda: bucket.delete([stat.key for stat in bucket.list("demo/outputs/")])

    follows_nothing(monkeypatch, tmp_path, victim, scene)


@pytest.mark.parametrize("victim", ["out", "out/deep"])
@pytest.mark.parametrize("fetch", [False, True])
def test_outputs_of_a_job_are_removed_or_fetched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str, *, fetch: bool
) -> None:
    """As an admin does it who is root, with `launch outputs JOB --delete`, or `--fetch`."""
    copies = tmp_path / "copies"

    def scene(here: Path, _: Path) -> Callable[[], object]:
        below(here / "out", "file", "deep/file", "deep/empty/file")
        outputs = JobFiles(str(here / "out"))
        listed = outputs.files()

        def play() -> None:
            # Where the folder itself is a link from the start, its user wants it so, and an admin is asked about that place.
            files = listed if victim == "out" else outputs.files()
            if fetch:
                for file in files:
                    outputs.fetch(file, copies / here.name)
            else:
                outputs.delete(files)

        return play

    follows_nothing(monkeypatch, tmp_path, victim, scene)
    assert {path.read_text() for path in copies.rglob("*") if path.is_file()} == ({"own"} if fetch else set())


@pytest.mark.parametrize("victim", ["s/j/0/0/0/code", "s/j/0/0/0/code/deep"])
def test_old_work_folders_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str) -> None:
    def scene(here: Path, _: Path) -> Callable[[], object]:
        below(here / "s/j/0/0/0/code", "file", "deep/file", "deep/empty/file")
        late = datetime.now(UTC) + 2 * folders.KEPT
        return lambda: folders.sweep(here, "s", (), late)

    follows_nothing(monkeypatch, tmp_path, victim, scene)


@pytest.mark.parametrize("victim", ["cache/x/made/venv", "cache/x/made/venv/deep"])
def test_old_setups_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str) -> None:
    def scene(here: Path, _: Path) -> Callable[[], object]:
        below(here / "cache/x", "lock", "ready")
        below(here / "cache/x/made/venv", "file", "deep/file", "deep/empty/file")
        then = (datetime.now(UTC) - KEPT_FOR - timedelta(days=1)).timestamp()
        os.utime(here / "cache/x/ready", (then, then))
        cache = Cache(root=here / "cache", boot="1", shell=SystemShell(), clock=SystemClock(), ids=RandomIds())
        return cache.sweep

    follows_nothing(monkeypatch, tmp_path, victim, scene)


@pytest.mark.parametrize("victim", ["tree/deep", "tree/deep/empty"])
@pytest.mark.parametrize("back", [False, True])
def test_a_tree_is_given_to_an_account_or_taken_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str, *, back: bool
) -> None:
    other = UnixAccount("other", OTHER, OTHER if ME == 0 else os.getegid(), (), "/")

    def scene(here: Path, elsewhere: Path) -> Callable[[], object]:
        below(here / "tree", "file", "deep/file", "deep/empty/file")
        (here / "tree/link").symlink_to(elsewhere)
        if back:
            other.give(str(here / "tree"))
            return lambda: other.take_back(str(here / "tree"))
        return lambda: other.give(str(here / "tree"))

    follows_nothing(monkeypatch, tmp_path, victim, scene, OTHER if back else ME)


@pytest.mark.parametrize("victim", ["demo/watch/j", "demo/bundles/deep"])
def test_the_modes_of_a_shared_bucket_are_mended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, victim: str) -> None:
    """Everybody writes in some of its folders, and root mends it with `bastion create --local --shared`."""

    def scene(here: Path, elsewhere: Path) -> Callable[[], object]:
        a_bucket(here, shared=True)
        below(here / "demo/watch/j", "file", "deep/file")
        below(here / "demo/bundles", "file", "deep/empty/file")
        (here / "demo/bundles/link").symlink_to(elsewhere / "file")
        (here / "demo/watch/link").symlink_to(elsewhere)
        os.link(elsewhere / "file", here / "demo/watch/hard")
        os.mkfifo(here / "demo/watch/pipe")
        return lambda: shared_folder.mend(str(here), "demo")

    follows_nothing(monkeypatch, tmp_path, victim, scene)
