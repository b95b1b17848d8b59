"""The code as it is: the types of all of it, and the tests that fail on it without any bug. Asked once for all planted ones."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from tests.house.source import ROOT
from tests.mutants.children import Said, said
from tests.mutants.trees import Tree, plant

TEST_S = 120.0
TYPES_S = 300.0
_ERROR = ": error: "


class Unplanted:
    """What it keeps lies in a folder of its own. Several threads may ask."""

    def __init__(self, folder: Path) -> None:
        self.failing: list[str] = []
        self._types = folder / "types"
        self._asked: dict[str, bool] = {}
        self._complained: set[str] = set()
        self._one_at_a_time = Lock()

    def complaints(self, tree: Tree) -> list[str]:
        """What the type checker says against this tree, and not against the code as it is."""
        with self._one_at_a_time:
            if not self._types.exists():
                self._check_what_is_there()
        known = tree.root.parent / "types"
        shutil.copytree(self._types, known)  # of its own: two that write into one would spoil it
        done = _checked(tree, known)
        found = [line for line in _errors(done) if line not in self._complained]
        return found or ([] if done.code in (0, 1) else [done.last_word])

    def fails(self, test: str) -> bool:
        """Whether a test, or a file of tests, fails on the code as it is: then it shows no bug. Such are kept in `failing`."""
        if test not in self._asked:
            with tempfile.TemporaryDirectory(prefix="unplanted-") as folder:
                self._asked[test] = bool(first_failure(plant(Path(folder)), [test], [], TEST_S)[0])
            if self._asked[test]:
                self.failing.append(test)
        return self._asked[test]

    def _check_what_is_there(self) -> None:
        """Most of the checker's work, done once: a planted bug then takes a second."""
        with tempfile.TemporaryDirectory(prefix="unplanted-") as folder:
            if (ROOT / ".mypy_cache").is_dir():
                shutil.copytree(ROOT / ".mypy_cache", self._types)
            self._complained = set(_errors(_checked(plant(Path(folder)), self._types)))


def _checked(tree: Tree, known: Path) -> Said:
    argv = [str(tree.python), "-m", "mypy", f"--cache-dir={known}", "--no-error-summary"]
    return said(argv, tree.root, TYPES_S)


def _errors(done: Said) -> list[str]:
    return [line for line in done.out.splitlines() if _ERROR in line]


def first_failure(tree: Tree, tests: Iterable[str], blind: Iterable[str], seconds: float) -> tuple[str, bool]:
    """The id of the first test that fails, if one does; and whether the time was over before all were run."""
    argv = [str(tree.python), "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests]
    done = said([*argv, *(f"--deselect={test}" for test in blind)], tree.root, seconds)
    failed = [line.split(" ", 1)[1] for line in done.out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    over = done.code is None
    return failed[0].partition(" - ")[0] if failed else "?" * over, over
