"""Which tests may see a change of these files: those that import them, the most direct ones first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from tests.house.source import ROOT, modules, modules_of_tests

APART = (
    "tests/house/",
    "tests/pages/",
    "tests/gpu/",
    "tests/bench/",
    "tests/sim/test_mutants.py",
    "tests/sim/test_simulation",
)
"""Tests of style and of pages, those that need what is not here, and those that run all this."""


def modules_of(files: Iterable[str]) -> list[str]:
    """The modules of the wheel that lie in these files, given by their paths below the root."""
    named = {module.shown: module.name for module in modules().values()}
    return [named[file] for file in files if file in named]


def seers_of(files: Iterable[str]) -> list[str]:
    """The test files that load what lies in these files, by how directly they import it."""
    known = {**modules(), **modules_of_tests()}
    users: dict[str, list[str]] = defaultdict(list)
    for module in known.values():
        for imported in module.imports:
            users[imported.module].append(module.name)
    ring, met = modules_of(files), dict[str, None]()
    while ring:
        met |= dict.fromkeys(ring)
        ring = [user for user in sorted(set(chain.from_iterable(users[name] for name in ring))) if user not in met]
    paths = [str(known[name].path.relative_to(ROOT)) for name in met]
    return [path for path in paths if path.rpartition("/")[2].startswith("test_") and not path.startswith(APART)]
