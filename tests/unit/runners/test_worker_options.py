"""A worker's command line: what is there, what has a default, and what must never count as left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.model.interfaces import AttemptKey
from bastion.runners.programs.worker_options import NEEDED, WorkerOptions
from bastion.runners.worker.interfaces import WorkerPace
from bastion.runners.worker.linux.bounds import Bounds

FLAGS = {
    "job": "train-1", "task": "2", "attempt": "0", "worker": "1", "machine": "m", "address": "10.0.0.1",
    "bucket": "file:///b", "folder": "/work", "cache": "/cache",
}  # fmt: skip


def test_the_flags_that_are_needed_are_enough() -> None:
    assert FLAGS.keys() == NEEDED
    options = WorkerOptions.parse(FLAGS)
    assert (options.key, options.worker) == (AttemptKey("train-1", 2, 0), 1)
    assert (options.folder, options.cache, options.buckets) == (Path("/work"), Path("/cache"), {})
    assert (options.run_as, options.parent, options.entry, options.secrets, options.private) == (None,) * 4 + (False,)
    assert (options.bounds, options.pace) == (Bounds(), WorkerPace())


def test_numbers_and_buckets_are_read_by_their_names() -> None:
    options = WorkerOptions.parse(
        {
            **FLAGS,
            "memory": "4",
            "flush_s": "0.5",
            "spool_bytes": "9",
            "ttl_bucket": "gs://t",
            "parent": "7",
            "asked": "1",
        }
    )
    assert options.bounds == Bounds(memory=4)
    assert (options.pace.flush_s, options.pace.spool_bytes, options.parent) == (0.5, 9, 7)
    assert options.buckets == {"ttl": "gs://t"}


def test_an_empty_account_is_an_account_and_not_the_workers_own() -> None:
    """An unset variable in a runner's script must not have a job run as root."""
    assert WorkerOptions.parse({**FLAGS, "run_as": ""}).run_as == ""


def test_a_wrong_number_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        WorkerOptions.parse({**FLAGS, "task": "x"})
