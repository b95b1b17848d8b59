"""The scan for marks reads /proc as a kernel shows it: also in the middle of an exec."""

import os
from pathlib import Path

from bastion.runners.local import process_marks

MARK = b"HOME=/\0BASTION_MACHINE=m|j-1/0/0/0@1.n\0"


def process(proc: Path, pid: int, environ: bytes, cmdline: bytes, program: bool = True) -> Path:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "environ").write_bytes(environ)
    (folder / "cmdline").write_bytes(cmdline)
    if program:
        (folder / "exe").symlink_to("sleep")
    return folder


def test_a_process_in_the_middle_of_an_exec_is_not_overlooked(tmp_path: Path, monkeypatch) -> None:
    folder = process(tmp_path, 7, b"", b"")
    waits = []

    def exec_ends(seconds: float) -> None:
        waits.append(seconds)
        (folder / "cmdline").write_bytes(b"sleep\0600\0")
        (folder / "environ").write_bytes(MARK)

    monkeypatch.setattr(process_marks.time, "sleep", exec_ends)
    assert [marked.pid for marked in process_marks.scan(str(tmp_path))] == [7]
    assert len(waits) == 1


def test_an_exec_that_ends_between_two_reads_is_not_overlooked(tmp_path: Path, monkeypatch) -> None:
    folder = process(tmp_path, 7, b"", b"")
    readlink = os.readlink

    def exec_ends(path: str) -> str:
        (folder / "cmdline").write_bytes(b"sleep\0600\0")
        (folder / "environ").write_bytes(MARK)
        return readlink(path)

    monkeypatch.setattr(process_marks.os, "readlink", exec_ends)
    assert [marked.pid for marked in process_marks.scan(str(tmp_path))] == [7]


def test_cleared_environments_and_kernel_threads_cost_no_wait(tmp_path: Path, monkeypatch) -> None:
    process(tmp_path, 7, b"", b"sleep\0600\0")
    process(tmp_path, 8, b"", b"", program=False)
    monkeypatch.setattr(process_marks.time, "sleep", lambda seconds: 1 / 0)
    assert process_marks.scan(str(tmp_path)) == []


def test_an_exec_that_never_ends_does_not_hold_the_scan_up(tmp_path: Path, monkeypatch) -> None:
    process(tmp_path, 7, b"", b"")
    waits: list[float] = []
    monkeypatch.setattr(process_marks.time, "sleep", waits.append)
    assert process_marks.scan(str(tmp_path)) == []
    assert sum(waits) < 1
