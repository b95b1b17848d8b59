"""`make night`: what is too rare or too long for every change, each kind told with its time and its own last line.

`--only=NAME` runs one of them. Together with `make test` and `make acceptance` it keeps what docs/explanation/proof.md promises.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from tests import depth
from tests.support.stages import python, run

STAGES = {
    "properties": python("pytest", "-n", "logical", "tests/unit"),
    "worlds": python("tests.simulation.main", "--seeds=20000", "--from=2000", "--steps=80"),
    "storms": python("tests.simulation.main", "--seeds=240", "--from=2000", "--steps=2000"),
    "crashes": python("tests.simulation.crashes", "--pairs=30"),
    "chaos": python("tests.chaos", "--kills=2000", "--pauses=200"),
    "chaos-gcs": python("tests.chaos", "--kills=200", "--pauses=20", "--store=gcs"),
    "fuzz": python("pytest", "tests/fuzz"),
    "mutants": python("tests.mutants"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """0 if all that was asked for went well."""
    flags = argparse.ArgumentParser(prog="python -m tests.night", description=__doc__)
    flags.add_argument("--only", choices=STAGES, help="one kind alone")
    asked = flags.parse_args(argv)
    stages = {asked.only: STAGES[asked.only]} if asked.only else STAGES
    return run(stages, {**os.environ, depth.NAME: "night", "EXAMPLES": "1000000"})


if __name__ == "__main__":
    sys.exit(main())
