"""Plants a bug in a copy of the tree, and looks who catches it: the simulation, or else the tests that load what it touches."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tests.house.source import ROOT
from tests.mutants.children import said
from tests.mutants.patches import Invalid, Patch, apply, changed_code
from tests.mutants.suites import modules_of, seers_of
from tests.mutants.trees import Tree, plant

IMPORT_S = 60.0
HANG_S = 120.0
"""A simulated world that takes so long hangs: the others take a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What may be spent on one planted bug: these seeds with storms of so many steps, seconds for them, and for tests."""

    seeds: Sequence[int] = range(100)
    steps: int = 1_000
    seeds_s: float = 300.0
    tests_s: float = 120.0


class Catch(StrEnum):
    """What caught a planted bug. A crash and a hang are no laws: they are told as what they are."""

    LAW = "law"
    CRASH = "crash"
    HANG = "hang"
    TEST = "test"
    NOTHING = "nothing"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one planted bug; `seeds` is how many worlds were simulated."""

    patch: Patch
    by: Catch
    told: str
    seeds: int = 0

    @property
    def caught(self) -> bool:
        """Somebody saw it."""
        return self.by not in (Catch.NOTHING, Catch.INVALID)


def judge_all(patches: Iterable[Patch], budget: Budget, workers: int) -> Iterator[Verdict]:
    """Judge each, some at a time, in their order."""
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda patch: judge(patch, budget), patches)


def judge(patch: Patch, budget: Budget) -> Verdict:
    """Plant one bug, and look for who catches it."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = plant(Path(folder))
        try:
            files = apply(patch, tree.root)
            if not list(changed_code(files, ROOT, tree.root)):
                raise Invalid("changes no code")
            seen = simulated(patch, tree, replace(budget, seeds=()) if patch.seen_by else budget, modules_of(files))
            return seen if seen.caught else _tested(seen, tree, files, budget)
        except Invalid as invalid:
            return Verdict(patch, Catch.INVALID, str(invalid))


def simulated(patch: Patch, tree: Tree, budget: Budget, modules: Iterable[str] = ()) -> Verdict:
    """Simulate worlds on this tree until a law is broken, or the budget is over. Raises `Invalid` if these do not import."""
    flags = [f"--seed={seed}" for seed in budget.seeds] + [f"--steps={budget.steps}", f"--seconds={budget.seeds_s}"]
    done = said([tree.python, "-m", "tests.mutants.hunt", *flags, *modules], tree.root, budget.seeds_s + HANG_S)
    told = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    if not told:
        raise Invalid(f"does not even run: {done.last_word}")
    begun, last = [each["seed"] for each in told if "seed" in each], told[-1]
    seeds = len(begun)
    for by in (Catch.LAW, Catch.CRASH):
        if by in last:
            return Verdict(patch, by, last[by], seeds)
    if done.code is None:
        return Verdict(patch, Catch.HANG, f"seed {begun[-1]} does not end" if begun else "does not begin", seeds)
    if done.code != 0:
        return Verdict(patch, Catch.CRASH, done.last_word, seeds)
    return Verdict(patch, Catch.NOTHING, "", seeds)


def _tested(seen: Verdict, tree: Tree, files: Iterable[str], budget: Budget) -> Verdict:
    """Run the tests that may see it, until one fails that does not fail without it."""
    patch, until = seen.patch, time.monotonic() + budget.tests_s
    tests, blind, failed = list(patch.seen_by) or seers_of(files), list[str](), "?"
    while tests and failed and (left := until - time.monotonic()) > 0:
        failed, over = _first_failure(tree, tests, blind, left)
        if failed and not over:
            if not _fails_anyway(failed):
                return Verdict(patch, Catch.TEST, failed, seen.seeds)
            blind.append(failed)
    late = ", not all of them in time" if tests and failed else ""
    return Verdict(patch, Catch.NOTHING, f"{seen.seeds} seeds, {len(tests)} files of tests{late}", seen.seeds)


def _first_failure(tree: Tree, tests: Iterable[str], blind: Iterable[str], seconds: float) -> tuple[str, bool]:
    """The id of the first test that fails, if one does; and whether the time was over before all were run."""
    argv = [tree.python, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", *tests]
    done = said([*argv, *(f"--deselect={test}" for test in blind)], tree.root, seconds)
    failed = [line.split(" ", 1)[1] for line in done.out.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    over = done.code is None
    return failed[0].partition(" - ")[0] if failed else "?" * over, over


def _fails_anyway(test: str) -> bool:
    """Whether a test fails on the code as it is: then it has not seen the bug."""
    with tempfile.TemporaryDirectory(prefix="unplanted-") as folder:
        return bool(_first_failure(plant(Path(folder)), [test], [], IMPORT_S * 2)[0])
