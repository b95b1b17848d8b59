"""`launch run`: the fleet's worker without a fleet. No bastion, no bucket, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import psutil
import pytest

from tests.support.fleet import PATIENCE_S, TOOLS, until

Process = subprocess.Popen[str]


class Here:
    """`launch run` with a temporary folder and a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.code, self.temporary = folder, folder / "code", folder / "tmp"
        self.code.mkdir()
        self.temporary.mkdir()
        kept = {key: value for key, value in os.environ.items() if not key.startswith("BASTION_")}
        self.environ = {**kept, "TMPDIR": str(self.temporary), "XDG_STATE_HOME": str(folder / "state"), "SECRET": "s"}

    def start(self, *words: str) -> Process:
        return subprocess.Popen(
            [str(TOOLS / "launch"), "run", *words],
            env=self.environ,
            cwd=self.code,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        self.check_clean()
        return process.returncode, out, err

    def quick_python(self) -> Path:
        """The folder of a `python3` that makes empty environments at once."""
        program = self.folder / "bin" / "python3"
        program.parent.mkdir()
        program.write_text('#!/bin/sh\nmkdir -p "$4/bin"\n')
        program.chmod(0o755)
        return program.parent

    def check_clean(self) -> None:
        """No folder and no process is left."""
        assert list(self.temporary.iterdir()) == []
        until(lambda: not self.processes())  # who was killed may be on its way out when `launch run` has ended

    def processes(self) -> list[psutil.Process]:
        found = []
        for process in psutil.process_iter():
            try:
                if self.environ["XDG_STATE_HOME"] in str(process.environ()) or str(self.folder) in str(
                    process.environ()
                ):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def until_said(self, stream: IO[str] | None, text: str) -> None:
        assert stream is not None
        line = ""
        while text not in line:
            line = stream.readline()
            assert line, "the output ended"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Here]:
    here = Here(tmp_path)
    yield here
    for process in here.processes():
        with suppress(psutil.Error):  # it is ending by itself
            process.kill()


def test_the_code_travels_and_the_exit_code_is_the_commands(here: Here) -> None:
    (here.code / "train.py").write_text("import os, sys\nprint(os.getcwd())\nsys.exit(int(sys.argv[1]))\n")
    code, out, _ = here.run("--", "python3", "train.py", "7")
    assert code == 7
    assert out.startswith(str(here.temporary))
    assert here.run("--", "python3", "train.py", "0")[0] == 0
    assert here.run("--", "python3", "train.py", "120")[0] == 100


def test_it_sees_what_a_job_sees_and_nothing_of_the_shell(here: Here) -> None:
    flags = ["--name=train", "--env=A=1", "--bundler_type=none", "--num_replicas=2"]
    code, out, _ = here.run(*flags, "--", "env")
    assert code == 0
    for worker in (0, 1):
        marked = f"[w{worker:03d}] "
        env = dict(line[len(marked) :].split("=", 1) for line in out.splitlines() if line.startswith(marked))
        assert (env["A"], env["BASTION_JOB_NAME"], env["BASTION_ATTEMPT"]) == ("1", "train", "0")
        assert (env["RANK"], env["WORLD_SIZE"], env["MASTER_ADDR"]) == (str(worker), "2", "127.0.0.1")
        assert env["BASTION_JOB"].startswith("train-")
        assert {"BASTION_OUTPUT_DIR", "BASTION_CHECKPOINT_DIR", "BASTION_PROGRESS_FILE"} <= env.keys()
        assert "SECRET" not in env


def test_one_of_a_gang_that_fails_ends_the_others_and_is_the_exit_code(here: Here) -> None:
    command = '[ "$RANK" = 1 ] && exit 9; exec sleep 600'
    assert here.run("--bundler_type=none", "--num_replicas=3", "--grace=5s", "--", command)[0] == 9


def test_outputs_stay_where_they_are_told_to(here: Here) -> None:
    command = 'echo kept > "$BASTION_OUTPUT_DIR/result"'
    code, _, err = here.run("--bundler_type=none", "--", command)
    assert code == 0
    assert "--output_dir=FOLDER keeps it" in err
    assert here.run("--bundler_type=none", "--output_dir=out", "--", command)[0] == 0
    assert (here.code / "out" / "result").read_text() == "kept\n"


def test_a_setup_a_time_limit_and_a_command_that_is_not_there(here: Here) -> None:
    quick = ["--bundler_type=none", f"--env=PATH={here.quick_python()}:{os.environ['PATH']}"]
    setup = [*quick, "--setup=echo made > made", "--", "cat made"]
    first, second = here.run(*setup), here.run(*setup)
    assert (first[0], second[0]) == (0, 0)
    assert second[1] == "[bastion] the setup was run before on this machine, for this code\nmade\n"
    code, _, err = here.run("--bundler_type=none", "--time_limit=1s", "--grace=1s", "--", "sleep", "600")
    assert code == 124
    assert "the time limit of 1 s is over" in err
    code, out, _ = here.run("--bundler_type=none", "--", "no-such-program")
    assert code == 100
    assert "'no-such-program' was not found" in out
    assert here.run(*quick, "--setup=exit 3", "--", "true")[0] == 100


def test_with_json_every_line_is_an_object(here: Here) -> None:
    code, out, err = here.run("--bundler_type=none", "--json", "--name=j", "--", "echo hello; exit 3")
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[0] == {"line": "hello"}
    assert (lines[-1]["schema"], lines[-1]["name"], lines[-1]["exit_code"], code) == (1, "j", 3, 3)
    assert err == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_it_with_grace(here: Here, number: int) -> None:
    saves = "trap 'echo saved; exit 0' TERM; echo started; while :; do sleep 0.05; done"
    with here.start("--bundler_type=none", "--", saves) as process:
        here.until_said(process.stdout, "started")
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, out.splitlines()[-1]) == (0, "saved")
    assert "Traceback" not in err
    here.check_clean()


def test_what_ignores_the_grace_is_103_and_a_second_signal_kills(here: Here) -> None:
    stubborn = "trap '' TERM; (setsid sleep 600 &); echo started; while :; do sleep 0.05; done"
    with here.start("--bundler_type=none", "--grace=10m", "--", stubborn) as process:
        here.until_said(process.stdout, "started")
        process.send_signal(signal.SIGINT)
        here.until_said(process.stderr, "a second signal kills it")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 103
    assert "Traceback" not in err
    here.check_clean()


def test_ctrl_c_while_it_prepares_leaves_nothing(here: Here) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"git://127.0.0.1:{silent.getsockname()[1]}/code.git"
        with here.start("--bundler_type=git", f"--bundler_spec=repo={url}", "--", "true") as process:
            connection, _ = silent.accept()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE_S)
        connection.close()
    assert (process.returncode, out, err) == (130, "", "")
    here.check_clean()


def test_a_kill_of_the_command_itself_ends_its_workers(here: Here) -> None:
    with here.start("--bundler_type=none", "--grace=1s", "--", "echo started; exec sleep 600") as process:
        here.until_said(process.stdout, "started")
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    until(lambda: not here.processes())


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        ([], 2, "there is no command"),
        (["--num_replicas=0", "--", "true"], 1, "replicas is 0"),
        (["--grace=soon", "--", "true"], 2, "--grace is 'soon'"),
        (["--bundler_type=gti", "--", "true"], 2, "did you mean git?"),
        (["--priority=1", "--", "true"], 2, "--priority is not a flag of launch run"),
    ],
)
def test_what_makes_no_sense_is_told(here: Here, words: list[str], code: int, complaint: str) -> None:
    said = here.run(*words)
    assert said[0] == code
    assert complaint in said[2]


def test_elsewhere_than_on_linux_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.support.bench import Bench

    monkeypatch.setattr(sys, "platform", "darwin")
    said = Bench(tmp_path).launch("run", "--", "true")
    assert (said.code, "needs Linux" in said.err) == (1, True)
