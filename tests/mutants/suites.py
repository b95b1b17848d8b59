"""Which tests may see a change of these files: those that load them, the most direct ones first.

What loads a module imports it, or names it: commands, runners and programs are loaded by their names. So a text that is the
name of a module counts as an import of it; one that is the name of a group of entry points, as imports of all of these.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from tests.house.source import ENTRY, OURS, ROOT, Module, modules, modules_of_tests
from tests.order import group_of, seconds

APART = (
    "tests/house/",
    "tests/pages/",
    "tests/gpu/",
    "tests/bench/",
    "tests/sim/test_mutants.py",
    "tests/sim/test_planting.py",
    "tests/sim/test_simulation",
)
"""Tests of style and of pages, those that need what is not here, and those that run all this."""

AS_ROOT = "root"
RAY = "build/ray"
NEEDS: Mapping[str, tuple[str, ...]] = {
    "tests.support.engine": (AS_ROOT, "dockerd", "docker-registry"),
    "tests.slurm.cluster": ("munged", "slurmctld", "slurmd"),
    "tests.slurm.accounting": ("mariadbd", "slurmdbd"),
    "tests.ray.cluster": (f"{RAY}/ready",),
}
"""Modules of the tests that start an engine, and what they need of the machine: programs, or a file below the root."""

_SERVERS = "/usr/local/sbin:/usr/sbin:/sbin"
_ENTRY_POINTS = "entry-points"


def is_there(need: str) -> bool:
    """Whether this machine has it."""
    if need == AS_ROOT:
        return os.geteuid() == 0
    if "/" in need:
        return (ROOT / need).exists()
    return shutil.which(need, path=f"{os.environ.get('PATH', '')}:{_SERVERS}") is not None


def modules_of(files: Iterable[str]) -> list[str]:
    """The modules of the wheel that lie in these files, given by their paths below the root."""
    named = {module.shown: module.name for module in modules().values()}
    return [named[file] for file in files if file in named]


def seers_of(files: Iterable[str], there: Callable[[str], bool] = is_there) -> list[str]:
    """The test files that load what lies in these files: those that import it first, then those that have its name.

    Those that need what is not `there` are left out: they would fail without any bug.
    """
    ring, met, far = modules_of(files), dict[str, int](), 0
    words = frozenset(chain.from_iterable(re.split(r"[._]", name) for name in ring)) - {OURS}
    while ring:
        met |= dict.fromkeys(ring, far)
        ring = [user for user in set(chain.from_iterable(loaders().get(name, ()) for name in ring)) if user not in met]
        far += 1
    tests = [test for name, test in modules_of_tests().items() if name in met and _is_a_test(test.shown)]
    chosen = [test for test in tests if not test.shown.startswith(APART) and all(map(there, needs_of(test.name)))]
    return [test.shown for test in sorted(chosen, key=lambda test: _place(test, met[test.name], words))]


def _place(test: Module, far: int, words: frozenset[str]) -> tuple[bool, int, int, int, str]:
    """Its place in the row: what is direct comes first, then what has more of these words, what is nearer, what is shorter."""
    alike = 2 * len(words & set(re.split(r"[._]", test.name))) + len(words & _texts(test))
    return far > 1, -alike, far, seconds(group_of(test.shown)), test.shown


def needs_of(test: str) -> set[str]:
    """What a module of tests needs of the machine, by itself or by what it loads of other tests."""
    met, waiting = set[str](), [test]
    while waiting:
        name = waiting.pop()
        if name not in met:
            met.add(name)
            waiting += [loaded for loaded in loads()[name] if loaded in modules_of_tests()]
    return set(chain.from_iterable(NEEDS.get(name, ()) for name in met))


def _is_a_test(path: str) -> bool:
    return path.rpartition("/")[2].startswith("test_")


@cache
def loaders() -> Mapping[str, list[str]]:
    """The modules that load each module."""
    users: dict[str, list[str]] = defaultdict(list)
    for name, loaded in loads().items():
        for each in loaded:
            users[each].append(name)
    return users


@cache
def loads() -> Mapping[str, list[str]]:
    """What each module loads. A test has the fixtures of the folders above it; `tests/conftest.py` has none of our code."""
    known, named = {**modules(), **modules_of_tests()}, _named()
    found = {}
    for name, module in known.items():
        texts = _texts(module) if name in modules_of_tests() else _texts(module) - _scripts().keys()
        by_name = chain.from_iterable(named.get(text, ()) for text in texts)
        imported = (each.module for each in module.imports)
        found[name] = list(dict.fromkeys((*imported, *sorted(by_name), *_fixtures(name, module.path))))
    return found


def _fixtures(name: str, path: Path) -> Iterator[str]:
    """The `conftest` modules of a test, but for that of all tests."""
    folders = name.split(".")[:-1] if _is_a_test(path.name) else []
    for depth in range(2, len(folders) + 1):
        conftest = ".".join((*folders[:depth], "conftest"))
        if conftest in modules_of_tests():
            yield conftest


@cache
def _named() -> Mapping[str, tuple[str, ...]]:
    """What texts stand for: modules by their names, packages for what runs as `python -m`, groups and scripts."""
    known = {**modules(), **modules_of_tests()}
    main = {name.removesuffix(".__main__"): (name,) for name in known if name.endswith(".__main__")}
    dotted = {name: (name, *main.get(name, ())) for name in known if "." in name or name == ENTRY}
    groups = {
        group: tuple(point.partition(":")[0] for point in points.values())
        for group, points in _project()[_ENTRY_POINTS].items()
    }
    return {**main, **dotted, **groups, **_scripts()}


def _scripts() -> Mapping[str, tuple[str, ...]]:
    """Our programs, which tests start by their names."""
    return {name: (point.partition(":")[0],) for name, point in _project()["scripts"].items()}


@cache
def _project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


@cache
def _all_texts() -> Mapping[str, frozenset[str]]:
    """The texts in each module, by its name."""
    return {
        name: frozenset(
            node.value
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        for name, module in {**modules(), **modules_of_tests()}.items()
    }


def _texts(module: Module) -> frozenset[str]:
    return _all_texts()[module.name]
