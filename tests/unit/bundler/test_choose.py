"""What goes into a bundle, what stays out, and what is refused with a word on what to do."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from bastion.bundler.file_selection import FileEntry, FileKind, check_size, check_source, keep
from bastion.bundler.file_walk import walk
from bastion.bundler.ignore import IgnoreRules
from bastion.bundler.safe_names import link_fault, name_fault
from bastion.model.errors import BundleError

HOME = Path("/home/ada")


def paths(root: Path, *, leave_out: tuple[Path, ...] = (), limit_files: int = 1000) -> list[str]:
    return [entry.path for entry in walk(root.resolve(), leave_out=leave_out, limit_files=limit_files)]


@pytest.mark.parametrize("source", ["/", "/home", "/home/ada"])
def test_the_home_folder_and_all_above_it_are_refused(source: str) -> None:
    with pytest.raises(BundleError, match=re.escape(f"source is '{source}'")):
        check_source(Path(source), HOME, ())


@pytest.mark.parametrize("source", ["/home/ada/code", "/home/bob", "/srv"])
def test_other_folders_are_fine(source: str) -> None:
    check_source(Path(source), HOME, [Path("/srv/bucket")])


@pytest.mark.parametrize("source", ["/srv/bucket", "/srv/bucket/outputs"])
def test_a_source_inside_the_bucket_is_refused(source: str) -> None:
    with pytest.raises(BundleError, match="lies in the bucket '/srv/bucket'"):
        check_source(Path(source), HOME, [Path("/srv/bucket")])


def test_git_caches_environments_and_the_bucket_stay_out(tmp_path: Path) -> None:
    for name in [".git/HEAD", "__pycache__/x.pyc", "a/__pycache__/y.pyc", "env/pyvenv.cfg", "env/lib/x.py"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in ["a/bucket/journal/0", "a/bucket2", "a/code.py", ".venv/kept"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert paths(tmp_path, leave_out=(tmp_path.resolve() / "a/bucket",)) == [".venv/kept", "a/bucket2", "a/code.py"]


def test_an_empty_folder_goes_in_and_one_with_nothing_to_keep_does_not(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/.gitignore").write_text("*")
    assert paths(tmp_path) == ["empty"]


def test_relative_links_inside_the_folder_are_kept_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/code.py").touch()
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "b").symlink_to("./a")
    found = walk(tmp_path.resolve(), leave_out=(), limit_files=10)
    assert found == [
        FileEntry("a/code.py", FileKind.FILE),
        FileEntry("a/up", FileKind.LINK, target=".."),
        FileEntry("b", FileKind.LINK, target="./a"),
    ]


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "a/../../x", "a/../b"])
def test_a_link_that_may_leave_the_folder_is_named_with_its_target(tmp_path: Path, target: str) -> None:
    (tmp_path / "data").symlink_to(target)
    with pytest.raises(BundleError, match=re.escape(f"link 'data' points to '{target}'")):
        paths(tmp_path)


def test_an_ignored_link_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to("/etc")
    (tmp_path / ".bastionignore").write_text("/data\n")
    assert paths(tmp_path) == [".bastionignore"]


@pytest.mark.parametrize(
    ("path", "target", "fine"),
    [
        ("a", ".", True),
        ("a/b", "..", True),
        ("a/b", "../c//./d", True),
        ("a/b", "../..", False),
        ("a", "..", False),
        ("a", "", False),
        ("a", "b\0c", False),
        ("a", "b\udcff", False),
        ("a/b", "c/..", False),
    ],
)
def test_links_climb_only_as_far_as_the_root(path: str, target: str, fine: bool) -> None:
    assert (link_fault(path, target) is None) is fine


@pytest.mark.parametrize("name", ["/a", "../a", "a/../b", "a//b", "./a", "", "a\0b", "a\udcff", "a/"])
def test_names_that_no_tree_has_are_faults(name: str) -> None:
    assert name_fault(name) is not None


def test_a_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).touch()
    with pytest.raises(BundleError, match=re.escape(r"name 'caf\udce9.py' is not UTF-8; rename it")):
        paths(tmp_path)


def test_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BundleError, match="'pipe' is a socket, fifo or device; remove it"):
        paths(tmp_path)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("door")
        with pytest.raises(BundleError, match="'door' is a socket"):
            paths(tmp_path)


def test_too_much_to_pack_names_the_ten_largest() -> None:
    entries = [FileEntry(f"file{at:02d}", FileKind.FILE, size=at * 2**20) for at in range(30)]
    with pytest.raises(BundleError) as caught:
        check_size(Path("/srv/code"), entries, 100 * 2**20)
    text = str(caught.value)
    assert re.findall(r"file\d\d", text) == [f"file{at}" for at in range(29, 19, -1)]
    assert "'/srv/code' holds 435.0 MiB to pack, the limit is 100.0 MiB; name what" in text
    assert "\n" not in text


def test_exactly_the_limit_is_fine() -> None:
    check_size(Path("/srv/code"), [FileEntry("a", FileKind.FILE, size=60), FileEntry("b", FileKind.FILE, size=40)], 100)


def test_too_many_files_are_refused_while_looking(tmp_path: Path) -> None:
    for at in range(6):
        (tmp_path / str(at)).touch()
    assert len(paths(tmp_path, limit_files=6)) == 6
    with pytest.raises(BundleError, match="holds more than 5 files and folders to pack"):
        paths(tmp_path, limit_files=5)


def test_an_environment_is_known_below_the_root_only() -> None:
    listing = [FileEntry("pyvenv.cfg", FileKind.FILE)]
    assert keep("", listing, IgnoreRules(), frozenset()) == listing
    assert keep("env", [FileEntry("env/pyvenv.cfg", FileKind.FILE)], IgnoreRules(), frozenset()) == []


def test_a_tree_deeper_than_what_can_be_removed_again_is_refused(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 100)
    deep.mkdir(parents=True)
    assert paths(tmp_path) == ["/".join(["d"] * 100)]
    (deep / "leaf").touch()
    with pytest.raises(BundleError, match="/leaf' has more than 100 parts; rename it"):
        paths(tmp_path)
