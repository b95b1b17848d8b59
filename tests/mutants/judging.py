"""Plants a bug in a copy of the tree, and looks who catches it: the simulation, or else the tests that load what it touches."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import dropwhile
from pathlib import Path

from tests.house.source import ROOT
from tests.mutants.children import said
from tests.mutants.patches import Invalid, Patch, apply, changed_code
from tests.mutants.suites import RAY, modules_of, seers_of
from tests.mutants.trees import Tree, lend, plant
from tests.mutants.unplanted import Unplanted, first_failure

FIRST = 8
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
    TYPES = "types"
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
    """Judge each, some at a time, in their order. What is known of the code as it is serves all of them."""
    with tempfile.TemporaryDirectory(prefix="unplanted-") as folder, ThreadPoolExecutor(workers) as pool:
        unplanted = Unplanted(Path(folder))
        yield from pool.map(lambda patch: judge(patch, budget, unplanted, types=True), patches)


def judge(patch: Patch, budget: Budget, unplanted: Unplanted | None = None, *, types: bool = False) -> Verdict:
    """Plant one bug, and look for who catches it. With `types`, those of the planted tree are checked first."""
    with tempfile.TemporaryDirectory(prefix="planted-") as folder:
        tree, unplanted = plant(Path(folder)), unplanted or Unplanted(Path(folder))
        try:
            files = apply(patch, tree.root)
            if not list(changed_code(files, ROOT, tree.root)):
                raise Invalid("changes no code")
            modules = modules_of(files)
            if types and (told := unplanted.complaints(tree)):
                return _ill_typed(patch, tree, modules, told[0])
            seen = simulated(patch, tree, replace(budget, seeds=()) if patch.seen_by else budget, modules)
            return seen if seen.caught or patch.laws else _tested(seen, tree, files, budget, unplanted)
        except Invalid as invalid:
            return Verdict(patch, Catch.INVALID, str(invalid))


def _ill_typed(patch: Patch, tree: Tree, modules: Sequence[str], told: str) -> Verdict:
    """A bug that `make lint` sees. One that says who has to catch it fails by its own patch, and proves nothing of that."""
    if patch.laws or patch.seen_by:
        raise Invalid(f"its types do not fit: {told}")
    simulated(patch, tree, Budget(seeds=()), modules)  # what does not even start is told as that
    return Verdict(patch, Catch.TYPES, told)


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


def _tested(seen: Verdict, tree: Tree, files: Iterable[str], budget: Budget, unplanted: Unplanted) -> Verdict:
    """Run the tests that may see it, until one fails that does not fail without it: a few first, then as many more each time.

    To load all of them takes longer than most bugs live.
    """
    patch, until = seen.patch, time.monotonic() + budget.tests_s
    tests = list(patch.seen_by) or seers_of(files)
    if any(test.startswith("tests/ray/") for test in tests):
        lend(RAY, tree)
    row = [test for test in tests if test not in unplanted.failing]
    while row and (seconds := until - time.monotonic()) > 0:
        batch = row[: max(FIRST, len(tests) - len(row))]
        failed, over = first_failure(tree, batch, unplanted.failing, seconds)
        if over:
            break
        if failed and not unplanted.fails(failed):
            return Verdict(patch, Catch.TEST, failed, seen.seeds)
        row = [*(_but_for(batch, failed) if failed else ()), *row[len(batch) :]]
    late = ", not all of them in time" if row else ""
    return Verdict(patch, Catch.NOTHING, f"{seen.seeds} seeds, {len(tests)} files of tests{late}", seen.seeds)


def _but_for(tests: Sequence[str], failed: str) -> list[str]:
    """The files still to be run: from that of this test on; or all but one that cannot be loaded, as none was run then."""
    file, _, name = failed.partition("::")
    if not name:
        return [test for test in tests if test != file]
    return list(dropwhile(lambda test: test.partition("::")[0] != file, tests))
