"""Child processes with a time limit: what they are of themselves, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 20.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a child printed; `code` None: it had to be ended."""

    code: int | None
    out: str
    errors: str

    @property
    def last_word(self) -> str:
        """The last line that it said, of its errors first."""
        return next((line for line in reversed((self.out + self.errors).splitlines()) if line.strip()), "nothing")


def said(argv: Sequence[str | Path], folder: Path, seconds: float) -> Said:
    """Run a child in a session of its own. Past its time it is asked to end, as by Ctrl-C, and then it is killed."""
    child = subprocess.Popen(
        list(map(str, argv)),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        out, errors = child.communicate(timeout=seconds)
        return Said(child.returncode, out, errors)
    except subprocess.TimeoutExpired:
        return Said(None, *_made_to_end(child))


def _made_to_end(child: subprocess.Popen[str]) -> tuple[str, str]:
    os.killpg(child.pid, signal.SIGINT)
    try:
        return child.communicate(timeout=GRACE_S)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        return child.communicate()
