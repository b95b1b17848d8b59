"""Whatever a job puts in the place of a file that its worker reads: nothing hangs, follows, or fills the memory."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path

import pytest

from bastion.stores import untrusted
from tests.support.swaps import at_each_call


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    other = path.with_name("theirs")
    other.write_bytes(b"secret")
    path.symlink_to(other)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def door(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, chdir(path.parent):  # a socket's path is short
        listening.bind(path.name)


STRANGE = [fifo, folder, link, device, door]
strange = pytest.mark.parametrize("make", STRANGE)
Make = Callable[[Path], None]
Read = Callable[[Path, int], bytes]


@strange
@pytest.mark.parametrize("how", [os.O_RDONLY, os.O_WRONLY, os.O_RDWR | os.O_CREAT | os.O_APPEND])
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path, make: Make, how: int) -> None:
    make(tmp_path / "x")
    with pytest.raises(untrusted.NotRegularFile, match="not a regular file"):
        untrusted.opened(tmp_path / "x", how)


@strange
def test_nothing_of_it_is_read(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "x")
    for read in (untrusted.tail, untrusted.whole):
        with pytest.raises(untrusted.NotRegularFile):
            read(tmp_path / "x", 10)


@pytest.mark.parametrize("make", [fifo, link, device, door])
def test_what_we_write_takes_its_place_and_goes_nowhere_else(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "x")
    make(tmp_path / "x.new")
    untrusted.put(tmp_path / "x", b"ours")
    assert untrusted.whole(tmp_path / "x", 10) == b"ours"
    assert not (tmp_path / "theirs").exists() or (tmp_path / "theirs").read_bytes() == b"secret"


def test_of_a_huge_file_no_more_is_read_than_was_asked_for(tmp_path: Path) -> None:
    huge = tmp_path / "huge"
    huge.touch()
    os.truncate(huge, 2**40)
    assert untrusted.tail(huge, 10) == bytes(10)
    with pytest.raises(OSError, match="larger than 10 bytes"):
        untrusted.whole(huge, 10)


@strange
def test_what_takes_its_place_while_we_look_is_not_read_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Make
) -> None:
    """Before each call of each way to read: what comes back is what was there, or nothing, and nobody waits."""
    for way in (
        untrusted.tail,
        untrusted.whole,
        lambda path, most: untrusted.whole_below(path.parent, path.name, most),
    ):
        read: list[bytes] = []

        def scene(
            number: int, way: Read = way, read: list[bytes] = read
        ) -> tuple[Callable[[], None], Callable[[], object]]:
            place = Path(tempfile.mkdtemp(dir=tmp_path)) / "x"
            place.write_bytes(b"own")

            def replaced() -> None:
                place.unlink()
                make(place)

            return replaced, lambda: read.append(way(place, 10))

        assert len(list(at_each_call(monkeypatch, scene))) > 2
        assert set(read) == {b"own"}


def test_what_is_put_aside_makes_room(tmp_path: Path) -> None:
    fifo(tmp_path / "x")
    untrusted.put_aside(tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert len(list(tmp_path.iterdir())) == 1
