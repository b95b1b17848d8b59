"""How the suite runs itself: in which order, how deep, and what of its user's machine it sees."""

from __future__ import annotations

import os
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import depth
from tests.order import ordered
from tests.servers import Kept, server


def file_of(test: str) -> str:
    return test.partition("::")[0]


def suite(**counts: int) -> list[str]:
    return [f"tests/{name.replace('__', '/')}.py::{i}" for name, count in counts.items() for i in range(count)]


def test_each_worker_begins_with_long_ones_and_ends_with_short_ones() -> None:
    items = suite(unit__test_a=6, e2e__test_x=2, e2e__test_y=2, unit__test_b=6)
    done = ordered(items, file_of, 2)
    assert sorted(done) == sorted(items)
    for row in (done[:8], done[8:]):
        assert [each.startswith("tests/e2e") for each in row] == [True] * 2 + [False] * 6


def test_what_shares_an_engine_goes_to_one_worker() -> None:
    items = suite(slurm__test_a=3, unit__test_a=10, slurm__test_b=3)
    done = ordered(items, file_of, 2)
    rows = [{each.split("/")[1] for each in row} for row in (done[:8], done[8:])]
    assert rows == [{"slurm", "unit"}, {"unit"}]


@pytest.mark.parametrize("workers", [1, 3, 4, 7])
def test_no_test_is_lost_or_doubled_however_many_workers_there_are(workers: int) -> None:
    items = suite(images__test_a=40, e2e__test_x=5, unit__test_a=1, slurm__test_b=11, sim__test_s=3)
    assert sorted(ordered(items, file_of, workers)) == sorted(items)
    assert ordered([], file_of, workers) == []


def test_a_property_has_more_examples_at_night(monkeypatch: pytest.MonkeyPatch) -> None:
    often = {}
    for name in depth.DEPTHS:
        monkeypatch.setattr(depth, "DEPTH", name)
        often[name] = depth.examples(100)
    assert often == {"check": 10, "test": 100, "night": 2_000}
    monkeypatch.setattr(depth, "DEPTH", "deep")
    with pytest.raises(ValueError, match="TEST_DEPTH is 'deep'; use one of check, test, night"):
        depth.examples(100)


def test_a_server_that_has_ended_is_started_anew_and_told_of(tmp_path: Path) -> None:
    """It is a stranger's program, under thousands of other processes."""
    argv = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1"]
    with ExitStack() as stack:
        kept = Kept(tmp_path, lambda folder: server(argv, "", folder / "said.log"), stack)
        first = kept.address()
        assert kept.address() == first
        kept.running.kill()
        kept.running.wait()
        with pytest.warns(UserWarning, match="a server of the tests ended with -9"):
            again = kept.address()
        urllib.request.urlopen(again, timeout=60).close()


def test_tests_see_nobodys_home(pytestconfig: pytest.Config) -> None:
    """A token of the user's own cluster, say, led tests to it."""
    assert not (Path.home() / ".ray").exists()
    assert "home-" in os.environ["HOME"]
    assert not [name for name in os.environ if name.startswith(("AWS_", "KUBECONFIG", "RAY_"))]
