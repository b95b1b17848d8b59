"""20 kill -9 and 5 long pauses of real processes, on a folder and on a real storage server in bad weather."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import psutil
import pytest

from tests.chaos.acts import is_alive
from tests.support.fleet import until

ROUNDS = {
    "--store=folder --kills=12 --pauses=3 --seed=1": "12 kill -9 and 3 long pauses",
    "--store=gcs --kills=8 --pauses=2 --seed=2": "8 kill -9 and 2 long pauses",
}


@contextmanager
def chaos(*flags: str) -> Iterator[subprocess.Popen[str]]:
    """The chaos in a process of its own, which ends with this one, and all that it started with it."""
    argv = [sys.executable, "-m", "tests.chaos", *flags]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


def test_whatever_is_killed_or_stopped_all_promises_hold() -> None:
    """At the same time: each waits most of it, for takeovers of the one or stalls of the other."""
    with ExitStack() as stack:
        rounds = {wished: stack.enter_context(chaos(*wished.split())) for wished in ROUNDS}
        for wished, process in rounds.items():
            said, _ = process.communicate()
            assert process.returncode == 0, said
            assert ROUNDS[wished] in said.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_what_the_chaos_started_ends_with_it(number: int) -> None:
    with chaos("--store=folder", "--kills=1000") as process:
        guard = psutil.Process(process.pid)
        until(lambda: any("--machine=" in word for child in guard.children(recursive=True) for word in _argv(child)))
        below = guard.children(recursive=True)
        victim = below[0] if number == signal.SIGKILL else guard
        os.kill(victim.pid, number)
        process.communicate()
    until(lambda: not any(is_alive(each) for each in below))


def _argv(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
