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
TYPES_S = 300.0
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
    """What caught a planted bug. Another law than the one it names, a crash and a hang are told as what they are."""

    LAW = "law"
    OTHER = "another law"
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
        """It broke the law that it names, or a test of its own; where it names none, anything that was seen will do."""
        if self.patch.laws:
            return self.by is Catch.LAW
        return self.by not in (Catch.NOTHING, Catch.INVALID)

    @property
    def told_apart(self) -> str:
        """What is said of one that was seen, and not by the law that it names."""
        return f"; it names the law: {' / '.join(self.patch.laws)}" if self.patch.laws and not self.caught else ""


def judge_all(patches: Iterable[Patch], budget: Budget, workers: int) -> Iterator[Verdict]:
    """Judge each, some at a time, in their order. What is known of types is kept from one to the next."""
    with tempfile.TemporaryDirectory(prefix="types-") as types, ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda patch: judge(patch, budget, Path(types)), patches)


def judge(patch: Patch, budget: Budget, types: Path | None = None) -> Verdict:
    """Plant one bug, and look for who catches it. With a folder for `types`, those of the planted files are checked first."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree = plant(Path(folder))
        try:
            files = apply(patch, tree.root)
            if not list(changed_code(files, ROOT, tree.root)):
                raise Invalid("changes no code")
            if types is not None:
                _checked(tree, modules_of(files), types)
            seen = simulated(patch, tree, replace(budget, seeds=()) if patch.seen_by else budget, modules_of(files))
            return seen if seen.caught or patch.laws else _tested(seen, tree, files, budget)
        except Invalid as invalid:
            return Verdict(patch, Catch.INVALID, str(invalid))


def simulated(patch: Patch, tree: Tree, budget: Budget, modules: Iterable[str] = ()) -> Verdict:
    """Simulate worlds on this tree until a law is broken, or the budget is over. Raises `Invalid` if these do not import."""
    flags = [f"--seed={seed}" for seed in budget.seeds] + [f"--law={words}" for words in patch.laws]
    flags += [f"--steps={budget.steps}", f"--seconds={budget.seeds_s}"]
    done = said([tree.python, "-m", "tests.mutants.hunt", *flags, *modules], tree.root, budget.seeds_s + HANG_S)
    told = [json.loads(line) for line in done.out.splitlines() if line.startswith("{")]
    if not told:
        raise Invalid(f"does not even run: {done.last_word}")
    begun = [each["seed"] for each in told if "seed" in each]
    seeds = len(begun)
    laws, crashes = ([each[by] for each in told if by in each] for by in (Catch.LAW, Catch.CRASH))
    for law in laws:
        if not patch.laws or any(words in law for words in patch.laws):
            return Verdict(patch, Catch.LAW, law, seeds)
    for by, found in ((Catch.OTHER, laws), (Catch.CRASH, crashes)):
        if found:
            return Verdict(patch, by, found[0], seeds)
    if done.code is None:
        return Verdict(patch, Catch.HANG, f"seed {begun[-1]} does not end" if begun else "does not begin", seeds)
    if done.code != 0:
        return Verdict(patch, Catch.CRASH, done.last_word, seeds)
    return Verdict(patch, Catch.NOTHING, "", seeds)


def _checked(tree: Tree, modules: Sequence[str], cache: Path) -> None:
    """Raise `Invalid` where types do not fit: such a patch fails by itself, and proves no law."""
    if not modules:
        return
    argv = [tree.python, "-m", "mypy", f"--cache-dir={cache}", "--follow-imports=silent", "--no-error-summary"]
    done = said([*argv, *(f"--module={module}" for module in modules)], tree.root, TYPES_S)
    if done.code != 0:
        raise Invalid(f"its types do not fit: {next(iter(done.out.splitlines()), done.last_word)}")


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
