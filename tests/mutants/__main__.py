"""`python -m tests.mutants`: plant bugs in copies of the tree, one at a time, and say who catches each.

The exit code is 1 if one survives, or is no bug at all; or if the code as it is breaks a law on the same seeds.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.mutants import table
from tests.mutants.judging import Budget, Catch, Verdict, judge_all, simulated
from tests.mutants.patches import Invalid, Patch, read
from tests.mutants.trees import plant

OWN = Path(__file__).parent


def main(argv: Sequence[str] | None = None) -> int:
    """0 if every planted bug was caught."""
    plain = Budget()
    flags = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    flags.add_argument("--patches", type=Path, default=OWN, help="a folder of *.patch or *.diff; default: our own")
    flags.add_argument("--seeds", type=int, default=len(plain.seeds), help="simulated worlds for each, at most")
    flags.add_argument("--steps", type=int, default=plain.steps, help="how long the storm of each world is")
    flags.add_argument("--seeds_s", type=float, default=plain.seeds_s, help="seconds for them")
    flags.add_argument("--tests_s", type=float, default=plain.tests_s, help="seconds for the tests, where no law broke")
    flags.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="so many at a time")
    flags.add_argument("--write", action="store_true", help=f"put the table of our own into {table.PAGE.name}")
    asked = flags.parse_args(argv)
    budget = Budget(seeds=range(asked.seeds), steps=asked.steps, seeds_s=asked.seeds_s, tests_s=asked.tests_s)
    try:
        patches = read(asked.patches)
    except Invalid as invalid:
        print(invalid)
        return 1
    verdicts = []
    for verdict in judge_all(patches, budget, asked.workers):
        print(_line(verdict), flush=True)
        verdicts.append(verdict)
    print("\n" + table.rendered(verdicts))
    if asked.write and asked.patches == OWN:
        table.write(table.rendered(verdicts))
    return _sum(verdicts, _control(verdicts, budget.steps))


def _line(verdict: Verdict) -> str:
    seeds = f" in {verdict.seeds} seeds" if verdict.by is Catch.LAW else ""
    words = {Catch.INVALID: "INVALID", Catch.NOTHING: "SURVIVED"}
    word = "caught" if verdict.caught else words.get(verdict.by, "MISSED")
    return f"{word:9}{verdict.patch.name}: {table.caught_by(verdict)}{seeds}{verdict.told_apart}"


def _control(verdicts: Iterable[Verdict], steps: int) -> Verdict:
    """The code as it is, on as many seeds as any planted bug took."""
    seeds = max((verdict.seeds for verdict in verdicts if verdict.by is not Catch.NOTHING), default=1)
    with tempfile.TemporaryDirectory(prefix="unplanted-") as folder:
        nothing = Patch("nothing", "no bug at all", "")
        return simulated(nothing, plant(Path(folder)), Budget(seeds=range(max(1, seeds)), steps=steps, seeds_s=600.0))


def _sum(verdicts: Sequence[Verdict], control: Verdict) -> int:
    """The last lines, and the exit code."""
    if control.caught:
        print(f"without any planted bug: {control.by}: {control.told}; mend that first")
    else:
        print(f"without any planted bug {control.seeds} seeds keep every law")
    bugs = [verdict for verdict in verdicts if verdict.by is not Catch.INVALID]
    caught, none = sum(verdict.caught for verdict in bugs), len(verdicts) - len(bugs)
    more = f"; {none} of the patches plant none" if none else ""
    print(f"{caught} of {len(bugs)} planted bugs caught{more}")
    return int(control.caught or caught < len(bugs) or none > 0)


if __name__ == "__main__":
    sys.exit(main())
