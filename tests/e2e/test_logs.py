"""`launch logs`: every choice of lines, following, and leaving without harm."""

from __future__ import annotations

import signal

import pytest

from tests.support.fleet import PATIENCE_S, Fleet, until

COUNT = "for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i of $BASTION_ATTEMPT; done"


@pytest.fixture(scope="module")
def twice(shared: Fleet) -> str:
    """A job that printed ten lines in each of two attempts."""
    job = shared.submit(
        "twice", "--max_tries=2", "--retry_interval=0s", run=f"{COUNT}; exit $((3 - BASTION_ATTEMPT * 3))"
    )
    assert shared.wait(job) == 0
    return job


@pytest.mark.parametrize(
    ("choice", "lines"),
    [
        ([], [f"line {i} of 1" for i in range(1, 11)]),
        (["--attempt=0"], [f"line {i} of 0" for i in range(1, 11)]),
        (["--tail=2"], ["line 9 of 1", "line 10 of 1"]),
        (["--tail=0"], []),
        (["--since=1h", "--tail=1"], ["line 10 of 1"]),
        (["--since=2199-01-01T00:00:00Z"], []),
        (["--grep=^line [17] "], ["line 1 of 1", "line 7 of 1"]),
        (["--worker=0", "--tail=1"], ["line 10 of 1"]),
        (["--worker=1"], []),
        (["--no-follow", "--tail=1"], ["line 10 of 1"]),
    ],
)
def test_the_chosen_lines_are_shown(shared: Fleet, twice: str, choice: list[str], lines: list[str]) -> None:
    said = shared.run("launch", "logs", twice, *choice)
    assert (said.returncode, said.stdout.splitlines()) == (0, lines)


def test_the_bastions_side_is_shown_on_demand(shared: Fleet, twice: str) -> None:
    def said() -> str:
        return shared.run("launch", "logs", twice, "--provisioning").stdout

    for part in ("submitted to", "task 0 attempt 1", "exit code 3"):
        assert part in said()
    until(lambda: f"Started job={twice}" in said())  # the bastion's own log comes every few seconds


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--grep=("], "--grep is '('"),
        (["--worker=x"], "--worker is 'x'"),
        (["--since=yesterday"], "--since is 'yesterday'"),
        (["--tail=-1"], "--tail is -1"),
    ],
)
def test_a_senseless_choice_is_wrong_usage(shared: Fleet, twice: str, words: list[str], complaint: str) -> None:
    said = shared.run("launch", "logs", twice, *words)
    assert said.returncode == 2
    assert complaint in said.stderr


def test_an_attempt_that_never_was_fails(shared: Fleet, twice: str) -> None:
    assert shared.run("launch", "logs", twice, "--attempt=2").returncode == 1


def test_following_shows_lines_as_they_come_and_ctrl_c_leaves_the_job(shared: Fleet) -> None:
    go = shared.folder / "go-follow"
    job = shared.submit("followed", run=f"echo one; while [ ! -e {go} ]; do sleep 0.05; done; echo two")
    with shared.running("launch", "logs", job, start_new_session=True) as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert follower.stdout.readline() == "one\n"
        follower.send_signal(signal.SIGINT)
        last = follower.stderr.read()
        assert follower.wait(timeout=PATIENCE_S) == 130
        assert f"launch logs {job}" in last
    shared.await_state(job, "RUNNING")
    with shared.running("launch", "logs", job) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "one\n"
        go.touch()
        assert follower.stdout.readline() == "two\n"
        assert follower.wait(timeout=PATIENCE_S) == 0


def test_following_goes_on_into_the_next_attempt(shared: Fleet) -> None:
    go, twice = shared.folder / "go-again", ["--max_tries=2", "--retry_interval=1s"]
    waits = f"until [ -e {go} ]; do sleep 0.05; done"
    job = shared.submit("again", *twice, run=f"echo try $BASTION_ATTEMPT; {waits}; exit $((4 - 4 * BASTION_ATTEMPT))")
    with shared.running("launch", "logs", job) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "try 0\n"
        go.touch()
        told, *_, last = follower.stdout.read().splitlines()
        assert follower.wait(timeout=PATIENCE_S) == 0
    assert "attempt 0 ended: exit code 4" in told
    assert last == "try 1"


def test_an_interrupted_wait_leaves_the_job(shared: Fleet) -> None:
    job = shared.submit("waited", run="sleep 1000")
    with shared.running("launch", "wait", job, start_new_session=True) as waiter:
        assert waiter.stderr is not None
        waiter.stderr.readline()
        waiter.send_signal(signal.SIGINT)
        assert waiter.wait(timeout=PATIENCE_S) == 130
    until(lambda: shared.job(job)["state"] == "RUNNING")
    assert shared.run("launch", "stop", job, "--wait").returncode == 0
