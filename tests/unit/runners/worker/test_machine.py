"""The real machine's files: the log survives what is done to it, and progress is read whatever the job made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitContext
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.worker.linux.cache import Cache
from bastion.runners.worker.linux.container_engine import Engine
from bastion.runners.worker.linux.machine import LocalMachine
from tests.unit.bastion.stores.test_untrusted import STRANGE, Make, device, fifo, link

MIB = 2**20


@pytest.fixture
def machine(tmp_path: Path) -> LocalMachine:
    return local(tmp_path)


def local(tmp_path: Path) -> LocalMachine:
    inherited = {"PATH": "/somewhere", "HOME": "/home/x", "SECRET": "s"}
    shell, clock = SystemShell(), SystemClock()
    fetcher = Checkout(context=GitContext(shell=shell, clock=clock))
    engine = Engine(str(tmp_path / "nobody.sock"), "c", lambda _: None)
    cache = Cache(root=tmp_path / "cache", boot="1", shell=shell, clock=clock, ids=RandomIds())
    return LocalMachine(tmp_path / "work", inherited, fetcher=fetcher, cache=cache, engine=engine)


def grow(tmp_path: Path, data: bytes) -> None:
    with (tmp_path / "work" / "output.log").open("ab") as file:
        file.write(data)


def test_forgotten_output_leaves_the_rest_where_it_was(machine: LocalMachine, tmp_path: Path) -> None:
    grow(tmp_path, b"a" * (2 * MIB) + b"b" * MIB)
    machine.forget_log(0, 2 * MIB)
    assert machine.log_size() == 3 * MIB
    assert machine.read_log(2 * MIB, 10 * MIB) == b"b" * MIB


def test_only_the_end_of_a_long_progress_file_is_read(machine: LocalMachine) -> None:
    assert machine.read_progress() == b""
    Path(machine.progress).write_bytes(b"x" * MIB + b"end")
    assert len(machine.read_progress()) == 64 * 1024
    assert machine.read_progress().endswith(b"xend")


@pytest.mark.parametrize("make", STRANGE)
def test_a_progress_file_that_is_none_says_nothing_and_that_is_noted_once(machine: LocalMachine, make: Make) -> None:
    make(Path(machine.progress))
    assert [machine.read_progress() for _ in range(3)] == [b""] * 3
    assert machine.read_log(0, 1_000) == (
        b"[bastion] BASTION_PROGRESS_FILE is no regular file any more: progress and checkpoints are not read\n"
    )


@pytest.mark.parametrize("make", STRANGE)
def test_who_comes_after_a_worker_that_fell_has_an_output_file_whatever_the_job_put_there(
    tmp_path: Path, make: Make
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    make(work / "output.log")
    heir = local(tmp_path)
    heir.note("on")
    assert heir.read_log(0, 1_000).startswith(b"[bastion] the job put something else in the place of its output file")
    assert heir.read_log(0, 1_000).endswith(b"\n[bastion] on\n")


@pytest.mark.parametrize("make", [fifo, link, device])
def test_the_file_of_the_world_is_written_whatever_a_setup_put_there(machine: LocalMachine, make: Make) -> None:
    make(Path(machine.peers))
    machine.write_peers(b"{}")
    assert Path(machine.peers).read_bytes() == b"{}"
    assert not Path(machine.peers).is_symlink()


@pytest.mark.parametrize("make", STRANGE)
def test_gaps_that_are_none_are_none(machine: LocalMachine, tmp_path: Path, make: Make) -> None:
    make(tmp_path / "work" / "gaps")
    assert machine.gaps() == {}


def test_local_folders_are_made_and_others_are_passed_on(machine: LocalMachine, tmp_path: Path) -> None:
    assert machine.place(f"file://{tmp_path}/a b/c") == f"{tmp_path}/a b/c"
    assert machine.place(f"{tmp_path}/d") == f"{tmp_path}/d"
    assert (tmp_path / "a b" / "c").is_dir()
    assert (tmp_path / "d").is_dir()
    assert machine.place("gs://bucket/x") == "gs://bucket/x"


def test_the_account_is_all_that_is_inherited(machine: LocalMachine) -> None:
    base = machine.base_environment()
    assert set(base) == {"PATH", "HOME", "USER", "LOGNAME", "LANG"}
    assert (base["PATH"], base["HOME"]) == ("/somewhere", "/home/x")
