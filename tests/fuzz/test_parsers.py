"""20,000 bad inputs: each is refused by one line of ours, whatever it is, or is no bad one after all."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from bastion.model.errors import BastionError
from bastion.quota.quota import QuotaError
from tests.fuzz.kinds import KINDS, Kind
from tests.fuzz.mutate import spoiled

BAD_MIN = 20_000
CPU_S_MAX = 10.0
"""One input takes milliseconds; one that takes this long would not end."""

ASKED = int(os.environ.get("EXAMPLES", 0))
TIMES = ASKED / sum(kind.tries for kind in KINDS) if ASKED else 1.0
"""`make fuzz EXAMPLES=1000000`: so many times more than every change has to pass, and other ones each night."""

A_ROUND = 1_000
"""The inputs of one search: it keeps all that it has tried, and 4,000 archives were 6 GB."""


def test_they_are_as_many_as_was_promised() -> None:
    assert sum(kind.bad for kind in KINDS) >= BAD_MIN


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_bad_input_is_refused_by_a_line_of_ours(kind: Kind) -> None:
    tries = round(kind.tries * TIMES)
    least, bad = kind.bad * min(1.0, TIMES), 0
    for begin in range(0, tries, A_ROUND):
        bad += _round(kind, min(A_ROUND, tries - begin))
    assert bad >= least


def _round(kind: Kind, tries: int) -> int:
    """How many bad inputs were refused. Each round is a search of its own."""
    refused: set[bytes] = set()

    @settings(
        max_examples=tries, derandomize=not ASKED, database=None, deadline=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(spoiled(kind.samples, kind.form))
    def play(data: bytes) -> None:
        with _that_ends():
            said = _refusal(kind, data)
        if said is not None:
            refused.add(data)
            assert said
            assert "\n" not in said

    play()
    return len(refused - set(kind.samples))


def _refusal(kind: Kind, data: bytes) -> str | None:
    """What is said against it; None if it is as good as any."""
    try:
        kind.parse(data)
    except (BastionError, QuotaError) as error:
        return str(error)
    return None


@contextmanager
def _that_ends() -> Iterator[None]:
    """Falls where it stands if it computes for too long: a parser that hangs is found by its traceback."""

    def fall(*_: Any) -> None:
        raise AssertionError(f"an input of this kind took more than {CPU_S_MAX:g} s")

    before = signal.signal(signal.SIGVTALRM, fall)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
