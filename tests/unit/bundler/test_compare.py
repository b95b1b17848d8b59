"""Two trees, compared to the byte and told in few words."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bastion.bundler.compare import LINES, TEXT_BYTES, TEXT_LINES, TreeDifference, difference


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    return tmp_path / "a", tmp_path / "b"


def test_equal_trees_do_not_differ(trees: tuple[Path, Path]) -> None:
    for tree in trees:
        (tree / "deep" / "empty").mkdir(parents=True)
        (tree / "deep" / "file").write_text("x")
        (tree / "link").symlink_to("deep")
    assert difference(*trees) == TreeDifference((), (), (), (), False)


def test_same_size_and_time_is_not_the_same_content(trees: tuple[Path, Path]) -> None:
    for tree, text in zip(trees, ("one", "two"), strict=True):
        (tree / "file").write_text(text)
        os.utime(tree / "file", (1, 1))
    assert difference(*trees).changed == ("file",)


def test_rights_links_kinds_and_empty_folders_count(trees: tuple[Path, Path]) -> None:
    one, other = trees
    for tree in trees:
        (tree / "run.sh").write_text("x")
        (tree / "target").write_text("x")
    (other / "run.sh").chmod(0o755)
    (one / "link").symlink_to("run.sh")
    (other / "link").symlink_to("target")
    (one / "kind").write_text("text\n")
    (other / "kind").symlink_to("target")
    (other / "empty").mkdir()
    found = difference(*trees)
    assert found.changed == ("kind", "link", "run.sh")
    assert found.added == ("empty",)
    assert "run.sh: file -> program" in found.lines
    assert {"--> run.sh", "+-> target"} <= set(found.lines)


def test_new_and_removed_files_are_shown_whole(trees: tuple[Path, Path]) -> None:
    (trees[0] / "old").write_text("was\n")
    (trees[1] / "new").write_text("is\n")
    found = difference(*trees)
    assert (found.added, found.removed) == (("new",), ("old",))
    assert found.lines[:2] == ("--- /dev/null", "+++ b/new")
    assert {"+is", "-was"} <= set(found.lines)


def test_what_nobody_reads_is_named_only(trees: tuple[Path, Path]) -> None:
    for tree, fill in zip(trees, (b"\0", b"\xff"), strict=True):
        (tree / "binary").write_bytes(fill)
        (tree / "large").write_bytes(fill.replace(b"\0", b"a").replace(b"\xff", b"b") * (TEXT_BYTES + 1))
        (tree / "lines").write_bytes(b"x\n" * (TEXT_LINES + 1) + fill.hex().encode())
    found = difference(*trees)
    assert [line.partition(":")[0] for line in found.lines] == ["binary", "large", "lines"]


def test_long_differences_and_long_lines_are_cut(trees: tuple[Path, Path]) -> None:
    (trees[1] / "long").write_text("x" * 100_000)
    for number in range(9):
        (trees[1] / f"many{number}").write_text("y\n" * (LINES // 2))
    found = difference(*trees)
    assert (len(found.lines), found.cut) == (LINES, True)
    assert max(map(len, found.lines)) <= 500
    assert len(found.added) == 10
