"""`launch` as a process: quick to help, deaf to the user's folders, quiet when cut off."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.bench import Bench
from tests.support.terminal import PATIENCE_S, terminal

BASTION = [sys.executable, "-c", "import sys; from bastion.__main__ import bastion; sys.exit(bastion())"]
LAUNCH = [sys.executable, "-c", "import sys; from bastion.__main__ import launch; sys.exit(launch())"]


def imported(code: str) -> set[str]:
    """The modules that a fresh interpreter imports for this."""
    done = subprocess.run([sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_help_imports_at_most_as_much_again_as_absl_does() -> None:
    bare = imported("")
    absl = imported("import absl.app") - bare
    launch = (
        imported("import sys; sys.argv = ['launch', '--help']; from bastion.__main__ import launch; launch()") - bare
    )

    assert len(launch) <= 2 * len(absl)
    assert not launch & {"msgspec", "rich", "google", "google.cloud", "zstandard", "psutil", "tenacity", "asyncio"}


@pytest.fixture
def environ(bench: Bench) -> dict[str, str]:
    return {**os.environ, **bench.environ}


@pytest.mark.parametrize("by", ["working folder", "PYTHONPATH"])
def test_a_users_own_cli_runners_and_quota_are_theirs(tmp_path: Path, environ: dict[str, str], by: str) -> None:
    for name in ("cli", "runners", "quota", "launcher", "bundler"):
        (tmp_path / "code" / name).mkdir(parents=True)
        (tmp_path / "code" / name / "__init__.py").write_text("raise SystemExit('the wrong package')\n")
    elsewhere = environ | {"PYTHONPATH": str(tmp_path / "code")} if by == "PYTHONPATH" else environ
    folder = tmp_path / "code" if by == "working folder" else tmp_path

    script = Path(sys.executable).with_name("launch")
    done = subprocess.run([script, "ls"], cwd=folder, env=elsewhere, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no jobs.")


def test_a_closed_pipe_ends_it_without_a_traceback(environ: dict[str, str]) -> None:
    with subprocess.Popen([*LAUNCH, "--help"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_ctrl_c_leaves_the_job_and_says_how_to_come_back(bench: Bench, environ: dict[str, str]) -> None:
    bench.submit("--name=j", "--", "x")
    before = bench.objects()

    with subprocess.Popen(
        [*LAUNCH, "logs", "j"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"j is PENDING")
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read().decode()
        assert process.wait() == 130

    assert "launch logs j-" in rest
    assert "launch stop j-" in rest
    assert "Traceback" not in rest
    assert bench.objects() == before


def test_watching_on_a_narrow_terminal_ends_with_a_clean_screen(bench: Bench, environ: dict[str, str]) -> None:
    bench.submit("--name=j", "--", "x")

    with terminal([*LAUNCH, "ls", "--all", "--watch=0.5"], environ, columns=40, lines=10) as screen:
        screen.until("j-", times=2)
        screen.process.send_signal(signal.SIGINT)
        assert screen.end() == 130

    before, drawn = screen.raw.split("\x1b[?1049h")
    drawn, after = drawn.split("\x1b[?1049l")
    assert before == ""
    assert "the scheduler has not picked it up yet" in drawn
    assert "\x1b[?25h" in drawn + after
    assert screen.raw.count("Traceback") == 0
    assert after.replace("\x1b[?25h", "").strip() == ""


def test_watching_ends_when_nobody_reads_any_more(environ: dict[str, str]) -> None:
    argv = [*LAUNCH, "ls", "--watch=0.5"]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"no jobs.")
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_what_a_terminal_cannot_show_is_no_reason_to_fail(bench: Bench, environ: dict[str, str]) -> None:
    bench.submit("--name=j", "--env=A=jj\u00fcjj", "--", "x")
    with terminal([*LAUNCH, "show", "j"], {**environ, "PYTHONIOENCODING": "ascii"}, columns=40, lines=10) as screen:
        assert screen.end() == 0
    assert "jj?jj" in screen.text


@pytest.mark.parametrize(("size", "end", "code"), [((80, 24), "q", 0), ((40, 10), "\x03", 130)])
def test_the_live_view_draws_on_a_real_terminal_and_gives_it_back(
    bench: Bench, environ: dict[str, str], size: tuple[int, int], end: str, code: int
) -> None:
    bench.submit("--name=j", "--", "x")

    with terminal([*BASTION, "top"], environ, columns=size[0], lines=size[1]) as screen:
        screen.until("bastion b: stopped, never seen")
        screen.until("PENDING")
        bench.submit("--name=later", "--", "x")
        screen.until("later-")
        screen.press(end)
        assert screen.end() == code

    assert "Traceback" not in screen.raw
    assert screen.raw.count("\x1b[?1049h") == screen.raw.count("\x1b[?1049l") == 1
    assert screen.raw.rindex("\x1b[?25h") > screen.raw.rindex("PENDING")


def test_the_live_view_ends_by_a_signal_as_by_the_key(bench: Bench, environ: dict[str, str]) -> None:
    with terminal([*BASTION, "top"], environ, columns=80, lines=24) as screen:
        screen.until("no jobs")
        screen.process.send_signal(signal.SIGINT)
        assert screen.end() == 130

    assert "Traceback" not in screen.raw
    assert screen.raw.count("\x1b[?1049l") == 1


def test_the_live_view_needs_a_terminal_for_errors_too(environ: dict[str, str]) -> None:
    done = subprocess.run([*BASTION, "top"], env=environ, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: bastion top draws on a terminal; use bastion status")
