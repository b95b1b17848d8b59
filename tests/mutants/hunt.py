"""`python -m tests.mutants.hunt`: one simulated world after the other, until a law is broken. Prints what it finds, as JSON.

It runs in a process of its own, on a copy of the tree. Seeds go in the order of the flags. What it prints first is that it runs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from importlib import import_module

from tests.simulation.parts.broken import Broken, Fell
from tests.simulation.world import run


def main() -> int:
    """Always 0: what was found is what was printed. Each seed is announced before it is run."""
    flags = argparse.ArgumentParser(prog="python -m tests.mutants.hunt", description=__doc__)
    flags.add_argument("--seed", type=int, action="append", default=[], help="one of the worlds; may be repeated")
    flags.add_argument("--steps", type=int, required=True, help="how long the storm of each is")
    flags.add_argument(
        "--law", action="append", default=[], help="words of the law to look for; default: any law will do"
    )
    flags.add_argument("--seconds", type=float, required=True, help="no new seed after so many")
    flags.add_argument("modules", nargs="*", help="import these before anything else")
    asked = flags.parse_args()
    for module in asked.modules:
        import_module(module)
    _tell(runs=True)
    begun = time.monotonic()
    for seed in asked.seed:
        if time.monotonic() - begun > asked.seconds:
            break
        _tell(seed=seed)
        found = _broken(seed, asked.steps)
        if found:
            _tell(**found)
        if "law" in found and (not asked.law or any(words in found["law"] for words in asked.law)):
            return 0
        if found and not asked.law:
            return 0
    _tell(over=True)
    return 0


def _broken(seed: int, steps: int) -> dict[str, str]:
    """What went wrong in the world of this seed: a law that was broken, or a crash; empty if nothing did."""
    try:
        run(seed, steps)
    except Exception as error:
        cause = error.__cause__
        if isinstance(cause, Fell):
            return {"crash": str(cause)}
        return {"law": str(cause)} if isinstance(cause, Broken) else {"crash": _fell(error)}
    return {}


def _fell(error: Exception) -> str:
    """The exception, and the line of ours where it came from."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.name}, line {last.lineno})"


def _tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
