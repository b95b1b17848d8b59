"""What a command leaves in its working folder: found, kept where the globs say so, and else named in one line."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Sequence
from pathlib import Path

import pytest

from bastion.bundler.checkout import Checkout
from bastion.bundler.git_commands import GitContext
from bastion.model.errors import AccessDenied
from bastion.platform.shell import SystemShell
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.worker.linux.cache import Cache
from bastion.runners.worker.linux.container_engine import Engine
from bastion.runners.worker.linux.machine import LocalMachine
from bastion.runners.worker.linux.unix_account import UnixAccount, account
from bastion.runners.worker.output_folder import BYTES_MAX, OutputTarget, Put, matches, not_kept

SHELL = {"PATH": "/usr/bin:/bin"}


class Folder:
    """A working folder in memory; a file's bytes may be an error."""

    def __init__(self, files: dict[str, bytes | OSError]) -> None:
        self.files = files
        self.copied: list[tuple[tuple[str, ...], str]] = []

    def changed(self, most: int) -> list[str]:
        return sorted(self.files)[:most]

    def copy(self, names: Sequence[str], folder: str) -> None:
        self.copied.append((tuple(names), folder))

    def read_changed(self, name: str, most: int) -> bytes:
        data = self.files[name]
        if isinstance(data, OSError):
            raise data
        assert most == BYTES_MAX
        return data


def nowhere(url: str) -> Put:
    raise AssertionError(url)


@pytest.mark.parametrize(
    ("name", "glob", "is_named"),
    [
        ("result.txt", "*.txt", True),
        ("deep/down/result.txt", "*.txt", True),
        ("result.txt", "results/*", False),
        ("results/a", "results/*", True),
        ("results/deep/a", "results/*", True),
        ("other/results/a", "results/*", False),
        ("Result.TXT", "*.txt", False),
    ],
)
def test_a_glob_is_held_against_the_name_or_against_the_path(name: str, glob: str, is_named: bool) -> None:
    assert matches(name, glob) == is_named


def test_what_no_glob_names_is_named_with_what_would_keep_it() -> None:
    assert not_kept(["result.txt"]) == (
        "1 file was not kept: result.txt; write to $BASTION_OUTPUT_DIR or add --outputs='*.txt'"
    )
    assert not_kept(["a", "b", "c", "d"]).startswith("4 files were not kept: a, b, c, …; write to")
    assert not_kept(["a"], at_least=True).startswith("at least 1 file was not kept")


def test_files_go_into_a_local_folder_and_those_of_other_workers_into_one_below() -> None:
    files = Folder({"a.txt": b"", "b.bin": b"", "c/d.txt": b""})
    lines = list(OutputTarget(globs=["*.txt"], folder="/out", open=nowhere).finish(files))
    assert files.copied == [(("a.txt", "c/d.txt"), "/out")]
    assert lines[0] == "2 files kept in $BASTION_OUTPUT_DIR: a.txt, c/d.txt"
    assert lines[1].startswith("1 file was not kept: b.bin; ")
    list(OutputTarget(globs=["*.txt"], folder="/out", open=nowhere, worker=7).finish(files))
    assert files.copied[1][1] == "/out/w007"


def test_files_are_stored_at_a_url_and_each_that_cannot_be_is_named() -> None:
    stored: dict[str, bytes] = {}
    files = Folder({"a.txt": b"one", "big.txt": OSError(27, "it has 999999999999 bytes")})
    keeping = OutputTarget(
        globs=["*"], folder="gs://b/o", open=lambda url: lambda name, data: stored.update({f"{url}/{name}": data})
    )
    assert list(keeping.finish(files)) == [
        "big.txt could not be kept: [Errno 27] it has 999999999999 bytes; write it to $BASTION_OUTPUT_DIR",
        "1 file kept in $BASTION_OUTPUT_DIR: a.txt",
    ]
    assert stored == {"gs://b/o/a.txt": b"one"}


def test_a_store_that_refuses_is_a_line_and_not_the_end() -> None:
    def refused(url: str) -> Put:
        raise AccessDenied(f"{url} may not be written")

    lines = list(OutputTarget(globs=["*"], folder="s3://b/o", open=refused).finish(Folder({"a": b""})))
    assert lines == ["1 file could not be kept in s3://b/o: s3://b/o may not be written"]


def test_nothing_left_is_nothing_said() -> None:
    assert list(OutputTarget(globs=["*"], folder="/out", open=nowhere).finish(Folder({}))) == []


@pytest.fixture(params=["ourselves", "nobody"])
def whose(request: pytest.FixtureRequest) -> UnixAccount | None:
    """Whose the processes are. Only root can be another account; who is not tries its own twice."""
    return account("nobody") if request.param == "nobody" and os.geteuid() == 0 else None


@pytest.fixture
def machine(tmp_path: Path, whose: UnixAccount | None) -> LocalMachine:
    for folder in (tmp_path, *tmp_path.parents[:3]):
        if folder.stat().st_uid == os.geteuid() and folder != Path("/tmp"):
            folder.chmod(0o755)
    shell, clock = SystemShell(), SystemClock()
    engine = Engine(str(tmp_path / "nobody.sock"), "c", lambda _: None)
    cache = Cache(root=tmp_path / "cache", boot="1", shell=shell, clock=clock, ids=RandomIds())
    fetcher = Checkout(context=GitContext(shell=shell, clock=clock))
    machine = LocalMachine(tmp_path / "work", {}, fetcher=fetcher, cache=cache, engine=engine, account=whose)
    (tmp_path / "work" / "code").mkdir()
    (tmp_path / "work" / "code" / "train.py").write_text("of the bundle")
    if whose:
        whose.give(machine.code)
    return machine


def ran(machine: LocalMachine, text: str) -> list[str]:
    """The files that a shell text leaves behind. In a process of its own: who runs a command reaps every child that it has."""
    out, into = os.pipe()
    if not (pid := os.fork()):
        try:
            process = machine.start(["/bin/sh", "-c", text], SHELL, machine.code, 0)
            code = process.wait()
            process.wait_rest()
            os.write(into, json.dumps([code, machine.changed(100)]).encode())
        finally:
            os._exit(0)
    os.close(into)
    with open(out, "rb") as told:
        code, names = json.loads(told.read())
    os.waitpid(pid, 0)
    assert code == 0
    return list(names)


def test_what_is_new_or_changed_is_found_and_nothing_else(machine: LocalMachine) -> None:
    text = """
        echo r >result.txt; mkdir -p deep __pycache__ .cache; echo x >>train.py; echo m >deep/m.bin
        echo c >__pycache__/m.pyc; echo h >.cache/h; echo h >.hidden; ln -s /etc/passwd link; mkfifo fifo; ln -s / deep/root
    """
    assert ran(machine, text) == ["deep/m.bin", "result.txt", "train.py"]
    assert machine.changed(2) == sorted(machine.changed(2))
    assert len(machine.changed(2)) == 2


def test_what_was_there_before_is_not_new(machine: LocalMachine) -> None:
    assert ran(machine, "cat train.py") == []


def test_files_are_copied_as_the_account_of_the_job(
    machine: LocalMachine, tmp_path: Path, whose: UnixAccount | None
) -> None:
    names = ran(machine, "mkdir deep; echo one >deep/a; echo two >'b c'; echo three >-t")
    out = tmp_path / "out"
    out.mkdir()
    if whose:
        whose.give(str(out))
    machine.copy(names, str(out / "w001"))
    copied = {str(path.relative_to(out)): path for path in out.rglob("*") if path.is_file()}
    assert {name: path.read_text() for name, path in copied.items()} == {
        "w001/deep/a": "one\n",
        "w001/b c": "two\n",
        "w001/-t": "three\n",
    }
    owner = whose.uid if whose else os.geteuid()
    assert {path.stat().st_uid for path in copied.values()} == {owner}, pwd.getpwuid(owner).pw_name


def test_a_folder_of_another_account_takes_no_copies(
    machine: LocalMachine, tmp_path: Path, whose: UnixAccount | None
) -> None:
    names = ran(machine, "echo one >a")
    barred = tmp_path / "barred"
    barred.write_text("a file, where a folder should be")
    with pytest.raises(OSError, match="barred"):
        machine.copy(names, str(barred / "in"))


def test_a_link_on_the_way_to_a_file_is_not_followed(machine: LocalMachine, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("of another")
    ran(machine, f"ln -s {secret} way; ln -s {secret}/key straight; mkfifo fifo; mkdir deep; echo own >deep/file")
    assert machine.read_changed("deep/file", 100) == b"own\n"
    for name in ("way/key", "straight", "fifo", "nothing", "deep"):
        with pytest.raises(OSError, match=r"Errno"):
            machine.read_changed(name, 100)
    with pytest.raises(OSError, match="larger than 3 bytes"):
        machine.read_changed("deep/file", 3)
