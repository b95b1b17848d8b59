"""A file that calls itself pure knows no clock, no I/O, no randomness and no threads, and imports only its like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.house.source import OURS, Module, modules

VALUES = frozenset(
    "__future__ array ast base64 bisect collections collections.abc copy csv dataclasses datetime decimal difflib enum errno "
    "fnmatch "
    "fractions functools hashlib heapq itertools json math operator pathlib re shlex string textwrap tomllib "
    "types typing urllib.parse warnings zlib "
    "absl msgspec pathspec".split()
)
"""Modules that only compute. Of `datetime` and `pathlib` this holds for the values, and not for what is forbidden below."""

ACTS = frozenset(
    "now today utcnow fromtimestamp cwd home absolute resolve expanduser stat lstat exists is_file is_dir is_symlink "
    "iterdir glob rglob open read_text read_bytes write_text write_bytes mkdir touch unlink rmdir rename symlink_to "
    "hardlink_to chmod".split()
)
"""Methods of those values that look at the clock or at the disk."""

NAMESAKES = {"Quota.open"}

SPEAKS = frozenset("open print input exec eval breakpoint __import__".split())

PROTOCOLS = {"bastion.model.errors", "bastion.model.interfaces", "bastion.runners.worker.interfaces"}
"""Names and promises only: as good as pure."""


@pytest.mark.parametrize("room", ["quota", "bastion/simulate", "bastion/model/job", "bastion/model/stored"])
def test_every_file_of_a_room_that_only_computes_is_pure(room: str) -> None:
    assert [
        module.shown for module in modules().values() if module.shown.startswith(f"{room}/") and not _counts(module)
    ] == []


def test_pure_files_import_only_what_computes() -> None:
    wrong = []
    for module in _pure():
        for imported in module.imports:
            ours = imported.module.split(".")[0] == OURS
            if not (_counts(modules()[imported.module]) if ours else imported.module in VALUES):
                wrong.append(f"{module.shown}:{imported.line} imports {imported.module}")
    assert wrong == []


def test_pure_files_call_nothing_that_acts() -> None:
    assert [f"{module.shown}:{line} calls {name}()" for module in _pure() for line, name in _acts(module)] == []


def test_pure_files_keep_nothing_in_global_variables() -> None:
    assert [
        f"{module.shown}:{node.lineno}"
        for module in _pure()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Global)
    ] == []


def test_protocols_have_no_code() -> None:
    bodies = [
        (name, node)
        for name in sorted(PROTOCOLS)
        for node in ast.walk(modules()[name].tree)
        if isinstance(node, ast.FunctionDef) and node.name != "__str__"
    ]
    assert [
        f"{name}:{node.lineno}" for name, node in bodies if not isinstance(node.body[-1], ast.Expr | ast.Pass)
    ] == []


def _pure() -> list[Module]:
    found = [module for module in modules().values() if module.is_pure]
    assert len(found) > 40
    return found


def _counts(module: Module) -> bool:
    return module.is_pure or module.is_package or module.name in PROTOCOLS


def _acts(module: Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in SPEAKS:
            yield node.lineno, node.func.id
        if isinstance(node.func, ast.Attribute) and node.func.attr in ACTS and ast.unparse(node.func) not in NAMESAKES:
            yield node.lineno, node.func.attr
