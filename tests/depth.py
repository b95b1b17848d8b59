"""How deep tests look: `check` is the loop of a developer, `test` is for every change, `night` for what is rare.

`make check`, `make test` and `make night` set it. What runs at which depth stands in docs/explanation/proof.md.
"""

from __future__ import annotations

import os

NAME = "TEST_DEPTH"
DEPTH = os.environ.get(NAME, "test")
DEPTHS = ("check", "test", "night")
NIGHT_MIN = 2_000


def examples(often: int) -> int:
    """How many examples a property gets that has so many in `make test`: a tenth in `make check`, 2,000 and more at night."""
    if DEPTH not in DEPTHS:
        raise ValueError(f"{NAME} is {DEPTH!r}; use one of {', '.join(DEPTHS)}")
    return {"check": max(5, often // 10), "test": often, "night": max(NIGHT_MIN, 10 * often)}[DEPTH]
