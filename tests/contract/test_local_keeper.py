"""kill -9 of a worker on a real machine: its keeper ends in its place, and not a line that was printed is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bastion.journal import logs
from bastion.model import layout
from bastion.model.interfaces import MachineExistence
from bastion.model.state.state import Cause
from bastion.platform import host
from bastion.testing.fleets import workers
from bastion.testing.stage import KEY, SAVES, Stage
from tests.contract.local_fleet import LocalFleet

DAY_S = 86_400
DAEMON = "(setsid sh -c 'echo $$; touch up; exec sleep 600' &) & while [ ! -e up ]; do sleep 0.05; done"


def counts(folder: Path) -> str:
    """A program that prints numbered lines, and notes elsewhere what it has printed, until there is a file `go`."""
    return f"i=0; while [ ! -e {folder}/go ]; do i=$((i+1)); echo line $i; echo $i >> {folder}/printed; done; exit 7"


def couple(fleet: LocalFleet, machine: str) -> tuple[int, int]:
    """The keeper and its worker."""
    fleet.until(lambda: len(workers(machine)) == 2, "a worker with its keeper")
    one, other = workers(machine)
    return (one, other) if psutil.Process(other).ppid() == one else (other, one)


def test_what_was_printed_is_in_the_log_of_a_worker_that_was_killed(fleet: LocalFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    machine = stage.running(f"{DAEMON}; {counts(tmp_path)}")
    fleet.until((tmp_path / "printed").exists, "the program's first number")
    # The log and the facts are written side by side: either may be in the bucket first.
    fleet.until(lambda: (told := stage.facts()) is not None and told.started is not None, "the time of its start")
    os.kill(couple(fleet, machine.id)[1], signal.SIGKILL)
    facts = stage.ended()
    assert (facts.phase, facts.cause, facts.exit_code) == ("ended", Cause.LOST, None)
    assert facts.message == "the worker crashed by signal 9; the processes that it had started were ended"
    assert facts.started is not None
    daemon, *lines, note = stage.log().splitlines()
    assert note == f"[bastion] {facts.message}"
    printed = len((tmp_path / "printed").read_text().splitlines())
    assert len(lines) in (printed, printed + 1)
    assert lines == [f"line {i + 1}" for i in range(len(lines))]
    assert logs.survey(fleet.bucket, layout.log(KEY, 0)).ended
    assert not host.is_alive(int(daemon))
    assert stage.runner.look(machine.id) is MachineExistence.GONE


def test_a_worker_without_its_keeper_goes_on_and_hears_a_notice(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    machine = stage.running(SAVES)
    os.kill(couple(fleet, machine.id)[0], signal.SIGKILL)
    fleet.until(lambda: len(workers(machine.id)) == 1, "the keeper's end")
    stage.stop(Cause.PREEMPTED, grace_s=60)
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.PREEMPTED, 9)


@pytest.mark.parametrize(("is_there", "shown"), [(True, "token ************\n"), (False, "******************\n")])
def test_what_a_fallen_worker_hid_stays_hidden(fleet: LocalFleet, tmp_path: Path, is_there: bool, shown: str) -> None:
    (tmp_path / "secrets").mkdir(mode=0o700)
    token = tmp_path / "secrets" / "TOKEN"
    token.write_text("s3cret-value")
    token.chmod(0o600)
    waits = f"while [ ! -e {tmp_path}/go ]; do sleep 0.05; done"
    stage = Stage(fleet)
    stage.start(
        f"echo up; {waits}; echo token $TOKEN; touch {tmp_path}/printed; sleep 600", env={"TOKEN": "secret:TOKEN"}
    )
    fleet.until(lambda: stage.log() == "up\n", "the program's first word")
    _, worker = couple(fleet, stage.machine().id)
    os.kill(worker, signal.SIGSTOP)
    (tmp_path / "go").touch()
    fleet.until((tmp_path / "printed").exists, "its last word")
    if not is_there:
        token.unlink()
    os.kill(worker, signal.SIGKILL)
    facts = stage.ended()
    assert stage.log() == f"up\n{shown}[bastion] {facts.message}\n"


FALLS = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
RAISES = "raise ValueError('ours')"
RETURNS = "pass"


@pytest.mark.parametrize(("worker", "code", "said"), [(FALLS, 5, "crashed"), (RAISES, 5, "crashed"), (RETURNS, 3, "")])
def test_an_error_of_our_own_is_a_fall_and_an_exit_code_is_none(worker: str, code: int, said: str) -> None:
    program = f"""
from bastion.runners.worker.linux.keeper import keep
def worker():
    {worker}
    return 3
def stand_in(why):
    print(why)
    return 5
raise SystemExit(keep(worker, stand_in))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == code
    assert said in done.stdout
    assert ("ValueError: ours" in done.stderr) == (worker == RAISES)


def test_a_worker_whose_bucket_is_gone_for_good_ends_and_leaves_the_output_where_it_says(
    fleet: LocalFleet, tmp_path: Path
) -> None:
    fleet.runner.flags = {**fleet.runner.flags, "give_up_s": 0.5}
    stage = Stage(fleet)
    machine = stage.running(f"echo begun; until [ -e {tmp_path}/go ]; do sleep 0.05; done; echo the last words")
    (tmp_path / "bucket").rename(tmp_path / "away")
    (tmp_path / "go").touch()
    fleet.until(lambda: not workers(machine.id), "the end of worker and keeper")
    (said,) = (tmp_path / "work").rglob("worker.log")
    output = said.with_name("output.log")
    assert output.read_text().startswith("begun\nthe last words\n")
    assert f"the end of the job is not stored; its output stays in {output}" in said.read_text()
    old = time.time() - 3 * DAY_S
    for path in (*output.parent.iterdir(), output.parent):
        os.utime(path, (old, old))
    (tmp_path / "away").rename(tmp_path / "bucket")
    stage.runner.sweep()
    assert output.exists(), "what no bucket has is not swept away"
