"""How deep tests look: `check` is the loop of a developer, `test` is for every change, `night` for what is rare.

`make check`, `make test` and `make night` set it. Apart from that, the tests of `ACCEPTANCE` are long: real engines, pages that
are played, and the two longest of all others. `make test` leaves them to `make acceptance`; CI runs both. What runs when stands
in docs/explanation/proof.md.
"""

from __future__ import annotations

import os

NAME = "TEST_DEPTH"
DEPTH = os.environ.get(NAME, "test")
DEPTHS = ("check", "test", "night")
NIGHT_MIN = 2_000

ACCEPTANCE = (
    "tests/chaos/",
    "tests/e2e/test_demo.py",
    "tests/e2e/test_gcs.py",
    "tests/e2e/bastion/test_lost_end.py::test_a_lost_end_starts_nobody_and_kills_nothing_and_its_loss_can_be_accepted",
    "tests/e2e/test_s3.py",
    "tests/google/",
    "tests/images/",
    "tests/kubernetes/",
    "tests/pages/test_play.py",
    "tests/ray/",
    "tests/sim/test_simulation.py::test_the_worlds_are_as_bad_as_they_claim",
    "tests/slurm/",
)
"""Where a test's id begins so, it is one of the long ones; apart from these."""

SHORT = (
    "tests/google/test_fake_",
    "tests/google/test_rights.py",
    "tests/google/test_auth.py",
    "tests/kubernetes/test_kueue.py",
    "tests/kubernetes/test_manifests.py",
    "tests/kubernetes/test_preview.py",
    "tests/kubernetes/test_settings.py",
    "tests/slurm/test_values.py",
)


def is_long(test: str) -> bool:
    """True for the id of a test that `make test` leaves to `make acceptance`."""
    return test.startswith(ACCEPTANCE) and not test.startswith(SHORT)


def examples(often: int) -> int:
    """How many examples a property gets that has so many in `make test`: a tenth in `make check`, 2,000 and more at night."""
    if DEPTH not in DEPTHS:
        raise ValueError(f"{NAME} is {DEPTH!r}; use one of {', '.join(DEPTHS)}")
    return {"check": max(5, often // 10), "test": often, "night": max(NIGHT_MIN, 10 * often)}[DEPTH]
