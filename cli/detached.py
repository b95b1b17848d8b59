"""A bastion in the background: its loop in a session of its own, its output in a file of the state folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bastion.errors import BastionError
from bastion.ports import Clock
from cli.here import log_file
from cli.place import Place

UP_S = 60.0
END_S = 5.0
LOOK_S = 0.05
LAST_LINES = 20
_READ_MAX = 64 * 1024


def come_up(place: Place, environ: Mapping[str, str], clock: Clock) -> None:
    """Start the loop and return when the bastion ticks: this one, or another that was faster.

    Raises `BastionError` with the last lines of its output if it ends instead, or says nothing for `UP_S` seconds.
    """
    log = log_file(place.name, place.bucket.url, environ)
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    start = log.stat().st_size if log.exists() else 0
    process = _spawn(place, log)
    deadline = clock.monotonic() + UP_S
    while process.poll() is None and clock.monotonic() < deadline:
        if place.is_up(clock):
            return
        clock.sleep(LOOK_S)
    _end(process)
    raise BastionError(f"bastion {place.name} did not come up: {_last_words(log, start)} (all of it: {log})")


def _spawn(place: Place, log: Path) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-m", "bastion_entry", "bastion", "start", *place.flags()]
    with log.open("ab") as out:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=log.parent, start_new_session=True
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End one that hangs: left alone, it would take over long after its failure was told, and then stop as asked."""
    process.terminate()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _last_words(log: Path, start: int) -> str:
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - _READ_MAX))
        lines = file.read().decode("utf-8", "replace").splitlines()
    return " | ".join(lines[-LAST_LINES:]) or "it said nothing"
