"""Progress that a job writes, and the verdict on its end: pure readings of what strangers wrote."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.state.state import Cause
from bastion.model.wording import TEXT_BYTES_MAX
from bastion.runners.worker.exit_reason import cause_of, fatal_line, short
from bastion.runners.worker.progress import Progress

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def test_the_last_step_counts() -> None:
    assert Progress().after(b'{"step": 1}\n{"step": 7, "loss": 0.1}\n', NOW) == Progress(step=7)


def test_one_object_without_a_line_end_counts() -> None:
    assert Progress().after(b'{"step": 7}', NOW).step == 7


def test_a_line_that_is_being_written_does_not_count_yet() -> None:
    assert Progress().after(b'{"step": 7}\n{"step": 1', NOW).step == 7


def test_the_time_of_a_checkpoint_is_when_it_was_first_seen() -> None:
    first = Progress().after(b'{"step": 5, "checkpoint": true}\n{"step": 6}\n', NOW)
    assert (first.step, first.checkpoint_at) == (6, NOW)
    same = first.after(b'{"step": 5, "checkpoint": true}\n{"step": 9}\n', LATER)
    assert (same.step, same.checkpoint_at) == (9, NOW)
    next_one = same.after(b'{"step": 10, "checkpoint": "gs://b/10"}\n', LATER)
    assert (next_one.step, next_one.checkpoint_at) == (10, LATER)


@pytest.mark.parametrize(
    "line",
    [
        b"step=5",
        b'{"step": "5"}',
        b'{"step": -1}',
        b'{"step": true}',
        b'{"step": 1e400}',
        b'{"step": 99999999999999999999}',
        b"[5]",
        b"null",
        b"\xff",
        b"[" * 5000,
    ],
)
def test_what_is_no_progress_is_passed_over(line: bytes) -> None:
    known = Progress(step=3)
    assert known.after(line + b"\n", NOW) == known


@given(st.binary(max_size=300))
def test_no_bytes_can_break_the_reading(data: bytes) -> None:
    Progress().after(data, NOW)
    assert len(fatal_line(data).encode()) <= TEXT_BYTES_MAX


@pytest.mark.parametrize(
    ("code", "halted", "oom", "cause"),
    [
        (0, None, False, Cause.OK),
        (0, Cause.PREEMPTED, False, Cause.OK),
        (1, None, False, Cause.CODE),
        (1, Cause.CANCELLED, False, Cause.CANCELLED),
        (143, Cause.PREEMPTED, False, Cause.PREEMPTED),
        (143, Cause.TIME_LIMIT, False, Cause.TIME_LIMIT),
        (137, None, True, Cause.OOM),
        (137, None, False, Cause.SIGNAL),
        (139, None, True, Cause.SIGNAL),
        (255, None, False, Cause.CODE),
        (128, None, False, Cause.CODE),
    ],
)
def test_the_cause_of_an_end(code: int, halted: Cause | None, oom: bool, cause: Cause) -> None:
    assert cause_of(code, halted, out_of_memory=oom) is cause


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (b"", ""),
        (b"\n\n", ""),
        (b"step 1\nstep 2\nbye\n\n", "bye"),
        (b"a\nError: no such bucket\nbye\n", "Error: no such bucket"),
        (b'Traceback (most recent call last):\n  File "a.py"\nValueError: no\nbye\n', "ValueError: no"),
        (b"RuntimeError: CUDA error: out of memory\nterminating\n", "RuntimeError: CUDA error: out of memory"),
        (b"ok\nSegmentation fault (core dumped)\n", "Segmentation fault (core dumped)"),
        (b"fatal: not a git repository\nx\n", "fatal: not a git repository"),
        (b"its own word\n[bastion] the clock is wrong: an error of ours\n", "its own word"),
    ],
)
def test_the_line_that_tells_most(output: bytes, line: str) -> None:
    assert fatal_line(output) == line


def test_a_message_is_one_short_line() -> None:
    assert short("a\nb") == "a b"
    assert len(short("ü" * 5000).encode()) <= TEXT_BYTES_MAX
