"""A program that is asked to end does, whatever it hangs in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

HANGS = {
    "in a store that never answers": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "in a loop that tries on": "import time\nwhile True: time.sleep(0.01)",
    "in a task that is waited for": "import threading; threading.Event().wait()",
}
HANDLED = (
    "from bastion.cli.terminal.signals import StopSignals; import sys; "
    "stopping = StopSignals(limit_s=1); print('up', flush=True)\n"
)
START = HANDLED.replace("print(", "stopping.watch(); print(")
PATIENT = START.replace("limit_s=1", "limit_s=600")


@pytest.mark.parametrize("how", HANGS.values(), ids=HANGS)
@pytest.mark.parametrize(
    ("number", "start"), [(signal.SIGTERM, START), (signal.SIGINT, START), (signal.SIGTERM, HANDLED)]
)
def test_it_ends_without_a_last_word_and_says_so(how: str, number: signal.Signals, start: str) -> None:
    argv = [sys.executable, "-c", start + how]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        program.send_signal(number)
        _, said = program.communicate(timeout=180)
    assert program.returncode == 1
    assert said == "error: the bucket did not answer within 1 s; the last status is lost, and running jobs continue\n"


def test_who_ends_in_time_ends_as_it_likes() -> None:
    loop = "import time\nwhile not stopping(): time.sleep(0.01)\nsys.exit(7)"
    with subprocess.Popen([sys.executable, "-c", PATIENT + loop], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.terminate()
        assert program.wait(timeout=180) == 7


def test_a_second_signal_has_its_rude_effect() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PATIENT + HANGS["in a loop that tries on"]],
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.terminate()
        while program.poll() is None:
            program.terminate()
        assert program.returncode == 128 + signal.SIGTERM


LOGS = "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(message)s', stream=sys.stdout)\n"
LOOP = "import time\nwhile not stopping(): time.sleep(0.01)\n"


def test_who_asked_is_logged() -> None:
    with subprocess.Popen([sys.executable, "-c", LOGS + PATIENT + LOOP], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.terminate()
        said = program.communicate(timeout=180)[0]
    me = psutil.Process()
    assert said == f"asked to stop: SIGTERM from pid {me.pid} ({me.name()}) of {me.username()} (uid {os.getuid()})\n"


def test_what_it_starts_has_its_signals_as_they_usually_are() -> None:
    child = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    starts = f"import subprocess, threading\nrun = lambda: subprocess.run([sys.executable, '-c', {child!r}])\n"
    beside = "thread = threading.Thread(target=run); thread.start(); thread.join()\nrun()\n"
    argv = [sys.executable, "-c", PATIENT + starts + beside]
    assert subprocess.run(argv, capture_output=True, text=True, check=True, timeout=180).stdout == "up\n[]\n[]\n"


def test_a_signal_that_comes_to_a_thread_that_has_started_something_stops_it_all_the_same() -> None:
    spawns = "import subprocess; subprocess.run(['true'])\n"
    argv = [sys.executable, "-c", PATIENT + spawns + "print('again', flush=True)\n" + LOOP + "sys.exit(7)"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert [program.stdout.readline() for _ in range(2)] == ["up\n", "again\n"]
        program.terminate()
        assert program.wait(timeout=180) == 7
