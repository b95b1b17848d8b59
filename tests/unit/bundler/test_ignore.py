"""The rules of ignore files agree with git itself, and Bastion's own win over git's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from bastion.bundler.file_selection import FileKind
from bastion.bundler.file_walk import walk
from bastion.bundler.ignore import IgnoreFile, IgnoreRules, parse
from bastion.model.errors import BundleError
from tests.depth import examples

PARTS = st.sampled_from(["a", "b", "ab", "a.b", "*", "a*", "*.b", "?", "[ab]", "[!a]", "**", "\\a"])
PATTERNS = st.builds(
    lambda negated, rooted, parts, tail: f"{negated}{rooted}{'/'.join(parts)}{tail}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "\\ "]),
)
IGNORE_FILES = st.lists(PATTERNS | st.sampled_from(["", "# a", "!", "/", "a\\"]), max_size=4).map("\n".join)
NAMES = st.sampled_from(["a", "b", "ab", "a.b", "c"])
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=4).map("/".join), st.just(""), min_size=1, max_size=12)
RULES = st.dictionaries(st.lists(NAMES, max_size=2).map("/".join), IGNORE_FILES, min_size=1, max_size=3)


def git(folder: Path, *argv: str) -> str:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *argv], cwd=folder, env=environ, check=True, capture_output=True, text=True).stdout


def make(root: Path, files: Mapping[str, str]) -> None:
    """Write the files that can be: a name cannot be both a file and a folder."""
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue


def packed(root: Path) -> set[str]:
    entries = walk(root, leave_out=(), limit_files=10_000)
    return {entry.path for entry in entries if entry.kind is not FileKind.FOLDER}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path.resolve()


def emptied(repository: Path) -> Path:
    for path in repository.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return repository


@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=TREES, rules=RULES)
@example(tree={"a/a.b": ""}, rules={"": "*.b\n!a\n"})
@example(tree={"a/b/a.b": ""}, rules={"": "*.b", "a": "!/b/"})
@example(tree={"a/b/c": ""}, rules={"": "c\n!a/b\n"})
def test_what_is_packed_is_what_git_would_add(repository: Path, tree: dict[str, str], rules: dict[str, str]) -> None:
    root = emptied(repository)
    make(root, {f"{folder}/.gitignore".lstrip("/"): text for folder, text in rules.items()})
    make(root, tree)
    shown = git(root, "ls-files", "--others", "--exclude-standard", "-z").split("\0")
    assert packed(root) == set(shown) - {""}


def test_a_folder_inside_a_repository_obeys_the_files_above_it(repository: Path) -> None:
    make(repository, {".gitignore": "*.log\n/sub/deep/only\n/only\n", "sub/.gitignore": "!keep.log\n"})
    make(repository, {"sub/deep/only": "", "sub/deep/x.log": "", "sub/deep/keep.log": "", "sub/deep/code.py": ""})
    shown = git(repository / "sub/deep", "ls-files", "--others", "--exclude-standard").split()
    assert packed(repository / "sub/deep") == set(shown) == {"keep.log", "code.py"}


def test_a_file_of_patterns_may_have_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfa\r\n*.b\r\n")
    make(tmp_path, {"a": "", "x.b": "", "c": ""})
    assert packed(tmp_path) == {".gitignore", "c"}


def test_bastionignore_wins_over_a_nearer_gitignore(tmp_path: Path) -> None:
    make(tmp_path, {"data/.gitignore": "*\n", "data/model.bin": "", "data/rest": "", "notes.md": ""})
    make(tmp_path, {".bastionignore": "!/data/model.bin\n*.md\n"})
    assert packed(tmp_path) == {".bastionignore", "data/model.bin"}


def test_a_linked_ignore_file_is_not_obeyed(tmp_path: Path) -> None:
    make(tmp_path, {"rules": "code.py\n", "code.py": ""})
    (tmp_path / ".gitignore").symlink_to("rules")
    assert packed(tmp_path) == {".gitignore", "rules", "code.py"}


@pytest.mark.parametrize("pattern", ["[[:space:]]x", "a[\\]]", "x[[.a.]]"])
def test_brackets_that_are_read_differently_from_git_are_refused_by_line(pattern: str) -> None:
    with pytest.raises(BundleError, match=r"line 2 of '\.gitignore'"):
        parse(f"a\n{pattern}\n", ".gitignore")


@pytest.mark.parametrize(("pattern", "name"), [("[[]", "["), ("\\[id\\].ts", "[id].ts"), ("\\!x", "!x"), ("\\#", "#")])
def test_odd_characters_can_be_named(pattern: str, name: str) -> None:
    ignore = IgnoreRules(git=(IgnoreFile(parse(pattern, ".gitignore")),))
    assert ignore.drops(name, is_folder=False)


def test_a_pattern_that_git_cannot_read_matches_nothing() -> None:
    assert parse("a\\\n[a\n[z-a]\n!\n/\n", ".gitignore") == ()
