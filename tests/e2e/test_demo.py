"""The demo tells the truth: it checks its own claims, and it leaves nothing behind, also when it is broken off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

DEMO = Path(__file__).resolve().parents[2] / "docs" / "demo" / "demo.py"


def play(folder: Path) -> subprocess.Popen[str]:
    environ = {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, str(DEMO)],
        env=environ,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def of_demo(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR", "").startswith(str(folder)):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_the_story_is_true(tmp_path: Path) -> None:
    with play(tmp_path) as demo:
        said, _ = demo.communicate(timeout=300)
    assert demo.returncode == 0, said
    for part in ("asked to stop: checkpoint saved", "resuming after step", "reclaimed for vision/eval", "SUCCEEDED"):
        assert part in said
    assert os.listdir(tmp_path) == []
    assert of_demo(tmp_path) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_broken_off_it_leaves_nothing(tmp_path: Path, number: int, code: int) -> None:
    with play(tmp_path) as demo:
        assert demo.stdout is not None
        assert any("step 3/" in line for line in demo.stdout)
        demo.send_signal(number)
        said, _ = demo.communicate(timeout=300)
    assert demo.returncode == code, said
    assert os.listdir(tmp_path) == []
    assert of_demo(tmp_path) == []
