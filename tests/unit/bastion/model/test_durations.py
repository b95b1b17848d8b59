"""Lengths of time are read with their unit and written shortly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.durations import seconds, short
from bastion.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("1h", 3600),
        ("2d", 172_800),
        ("1h30m", 5400),
        ("0.5s", 0.5),
        ("0", 0),
        ("1d1s", 86_401),
    ],
)
def test_a_number_and_a_unit_are_seconds(text: str, expected: float) -> None:
    assert seconds(text, "--grace") == expected


@pytest.mark.parametrize("text", ["", "90", "s", "1 h", "-1s", "1h-", "1w", "inf", "1e3s", "٣s", "1h" * 40])
def test_anything_else_is_refused_by_the_flags_name(text: str) -> None:
    with pytest.raises(UsageError, match=r"--grace is .*as in 90s"):
        seconds(text, "--grace")


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, "0s"),
        (59.9, "59s"),
        (60, "1m"),
        (61, "1m1s"),
        (11_520, "3h12m"),
        (187_200, "2d4h"),
        (3605, "1h"),
        (-5, "0s"),
    ],
)
def test_people_read_the_two_largest_units(length: float, expected: str) -> None:
    assert short(length) == expected


@given(st.integers(min_value=0, max_value=10**8))
def test_what_is_written_is_read_back_to_the_second_largest_unit(length: int) -> None:
    read = seconds(short(length), "x")

    assert read <= length
    assert length - read < max(60, length / 24)
