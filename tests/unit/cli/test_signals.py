"""A program that is asked to end does, whatever it hangs in."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

HANGS = {
    "in a store that never answers": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "in a loop that tries on": "import time\nwhile True: time.sleep(0.01)",
    "in a task that is waited for": "import threading; threading.Event().wait()",
}
START = "from cli.signals import Stopping; import sys; stopping = Stopping(limit_s=1); print('up', flush=True)\n"
PATIENT = START.replace("limit_s=1", "limit_s=600")


@pytest.mark.parametrize("how", HANGS.values(), ids=HANGS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_without_a_last_word_and_says_so(how: str, number: signal.Signals) -> None:
    argv = [sys.executable, "-c", START + how]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "up\n"
        program.send_signal(number)
        _, said = program.communicate(timeout=180)
    assert program.returncode == 1
    assert said == "error: no last word in 1 s, the bucket does not answer: ended without it; what runs goes on\n"


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
        assert program.returncode == -signal.SIGTERM
