"""What setups have made: shared by those who come later, removed when it is old, and never while it is in use."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from bastion.model.errors import BundleError
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.worker.linux import cache as cache_module
from bastion.runners.worker.linux.cache import KEPT, KEPT_FOR, Cache, CacheEntry
from bastion.runners.worker.linux.unix_account import account
from bastion.runners.worker.preparation import name_of
from bastion.testing.stage import KEY, order
from tests.unit.bastion.stores.test_untrusted import STRANGE, Make, link

DAY_S = timedelta(days=1).total_seconds()


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Of a `python3` that makes empty environments at once."""
    program = tmp_path / "bin" / "python3"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nmkdir -p "$4/bin"\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(root=tmp_path / "cache", boot="1", shell=SystemShell(), clock=SystemClock(), ids=RandomIds())


def made(cache: Cache, name: str, path: str) -> CacheEntry:
    entry = cache.keep(name, path)
    assert not entry.ready
    entry.begin()
    Path(entry.code, "seen").write_text(name)
    entry.finish()
    return entry


def let_go(entry: CacheEntry) -> None:
    """As the system does when the worker has ended."""
    os.close(entry._lock)


def age(entry: CacheEntry, days: float) -> None:
    mark = Path(entry.venv).parent.parent / "ready"
    then = mark.stat().st_mtime - days * DAY_S
    os.utime(mark, (then, then))


def names(cache: Cache) -> set[str]:
    return {file.read_text() for file in cache.root.glob("*/*/code/seen")}


def test_it_is_found_again_by_name_and_python(cache: Cache, path: str, tmp_path: Path) -> None:
    first = made(cache, "a", path)
    again = cache.keep("a", path)
    assert (again.ready, again.venv) == (True, first.venv)
    assert not cache.keep("b", path).ready
    other = tmp_path / "other" / "python3"
    other.parent.mkdir()
    other.write_text((tmp_path / "bin" / "python3").read_text())
    other.chmod(0o755)
    assert not cache.keep("a", f"{other.parent}:{path}").ready


def test_who_was_overtaken_finds_what_the_other_made(cache: Cache, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look that found nothing and the lock to build it, another worker has built it."""
    lock, others = cache_module._locked, ["another worker"]

    def late(folder: Path, how: int) -> int:
        if how == fcntl.LOCK_EX and others:
            others.clear()
            let_go(made(cache, "a", path))
        return lock(folder, how)

    monkeypatch.setattr(cache_module, "_locked", late)
    assert cache.keep("a", path).ready
    assert not others


def test_what_was_dropped_or_never_finished_is_made_anew(cache: Cache, path: str) -> None:
    dropped = cache.keep("a", path)
    dropped.begin()
    dropped.drop()
    fallen = cache.keep("a", path)
    fallen.begin()
    let_go(fallen)
    anew = cache.keep("a", path)
    assert not anew.ready
    assert not Path(fallen.venv).exists()
    assert anew.venv not in (dropped.venv, fallen.venv)


def test_a_mark_without_an_environment_counts_for_nothing(cache: Cache, path: str) -> None:
    entry = made(cache, "a", path)
    let_go(entry)
    Path(entry.venv, "bin").rmdir()
    Path(entry.venv).rmdir()
    assert not cache.keep("a", path).ready


@pytest.mark.parametrize("make", STRANGE)
def test_a_mark_that_is_no_file_counts_for_nothing(cache: Cache, path: str, make: Make) -> None:
    entry = made(cache, "a", path)
    let_go(entry)
    mark = Path(entry.venv).parent.parent / "ready"
    mark.rename(mark.with_name("theirs"))
    if make is not link:  # which makes a file of this name itself
        mark.with_name("theirs").unlink()
    make(mark)
    assert not cache._made(mark.parent)


def test_the_oldest_are_removed_when_there_are_too_many(cache: Cache, path: str) -> None:
    for number in range(KEPT):
        entry = made(cache, f"{number:02}", path)
        age(entry, days=1 - number / 100)
        let_go(entry)
    let_go(made(cache, "last", path))
    assert names(cache) == {"last", *(f"{number:02}" for number in range(1, KEPT))}
    assert len(list(cache.root.iterdir())) == KEPT


def test_the_old_are_removed_but_not_while_somebody_is_in_them(cache: Cache, path: str) -> None:
    held, left = made(cache, "held", path), made(cache, "left", path)
    age(held, KEPT_FOR.days + 1)
    age(left, KEPT_FOR.days + 1)
    let_go(left)
    cache.sweep()
    assert names(cache) == {"held"}
    let_go(held)
    cache.sweep()
    assert not list(cache.root.iterdir())


def test_a_use_keeps_it(cache: Cache, path: str) -> None:
    entry = made(cache, "a", path)
    age(entry, KEPT_FOR.days + 1)
    let_go(entry)
    let_go(cache.keep("a", path))
    cache.sweep()
    assert names(cache) == {"a"}


def test_the_code_is_laid_out_with_its_links(cache: Cache, path: str, tmp_path: Path) -> None:
    entry = made(cache, "a", path)
    Path(entry.code, "link").symlink_to("seen")
    Path(entry.code, "broken").symlink_to("nowhere")
    entry.lay_out(str(tmp_path / "code"))
    assert os.readlink(tmp_path / "code" / "link") == "seen"
    assert os.readlink(tmp_path / "code" / "broken") == "nowhere"


def test_a_python_that_cannot_make_environments_is_told(cache: Cache, path: str, tmp_path: Path) -> None:
    (tmp_path / "bin" / "python3").write_text("#!/bin/sh\necho ensurepip is not available; exit 1\n")
    with pytest.raises(BundleError, match="ensurepip is not available"):
        cache.keep("a", path).begin()
    with pytest.raises(BundleError, match="python3"):
        cache.keep("a", str(tmp_path))


def test_what_was_made_before_the_machine_fell_is_made_anew(cache: Cache, path: str) -> None:
    """Its files may never have reached the disk."""
    let_go(made(cache, "a", path))
    assert not replace(cache, boot="2").keep("a", path).ready


def test_what_one_user_or_project_made_no_other_finds() -> None:
    mine = order(KEY, "true", setup="pip install torch")
    names = {
        name_of(msgspec.structs.replace(mine, **other))
        for other in ({}, {"user": "eve"}, {"project": "other"}, {"setup": "pip install jax"}, {"shell": "sh"})
    }
    assert len(names) == 5
    assert name_of(mine) == name_of(msgspec.structs.replace(mine, job="another", attempt=3))


def test_each_account_has_entries_of_its_own(cache: Cache, path: str) -> None:
    nobody = account("nobody")
    other = replace(cache, account=replace(nobody, uid=os.getuid(), gid=os.getgid()))
    first, second = cache.keep("a", path), other.keep("a", path)
    assert Path(first.venv).parent.parent != Path(second.venv).parent.parent


def test_what_a_setup_made_is_closed_once_it_is_whole(tmp_path: Path) -> None:
    if os.getuid() != 0:
        return
    nobody = account("nobody")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text("#!/bin/sh")
    (venv / "bin" / "python").chmod(0o6755)
    (venv / "lib64").symlink_to("/etc")
    os.mkfifo(venv / "pipe")
    theirs = tmp_path / "passwd"
    theirs.write_text("root's")
    os.link(theirs, venv / "bin" / "linked")
    for path in (venv, venv / "bin", venv / "bin" / "python", venv / "pipe"):
        os.chown(path, nobody.uid, nobody.gid)
    before = theirs.stat()
    nobody.take_back(str(venv))
    for path, mode in ((venv, 0o755), (venv / "bin", 0o755), (venv / "bin" / "python", 0o755)):
        found = path.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o7777) == (0, nobody.gid, mode)
    assert (theirs.stat().st_mode, theirs.stat().st_uid) == (before.st_mode, before.st_uid)
