"""What strangers' processes do to the worker on a real machine: fork, flood, lie, hide and outlive."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.bundler.tar import TarBundler
from bastion.journal import logs
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, MachineExistence, Placement
from bastion.model.job.spec import BundleRef
from bastion.model.state.state import Cause
from bastion.model.stored.gpu_facts import Gpu as GpuFacts
from bastion.platform import host
from bastion.platform.system import SystemClock
from bastion.runners.local import process_marks
from bastion.runners.local.gpus import LocalGpu
from bastion.testing.stage import (
    COUNTS,
    ENVIRONMENT,
    HELLO,
    KEY,
    LOST_FOR_GOOD,
    OTHER,
    STUBBORN,
    Stage,
    order,
    placement,
)
from tests.contract.local_fleet import LocalFleet


def pid_in(stage: Stage) -> int:
    """The number that the program printed."""
    stage.fleet.until(lambda: stage.log().endswith("\n"), "a process number")
    return int(stage.log().split()[-1])


def waits_for(path: Path | str) -> str:
    """A shell text that ends when there is such a file."""
    return f"while [ ! -e {path} ]; do sleep 0.05; done"


UP, UNTIL_UP = "touch up", waits_for("up")
"""What a daemon does when it is as the test wants it, and how its job waits for that."""


def test_a_daemon_ends_with_its_job(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start(f"(setsid sh -c 'echo $$; {UP}; exec sleep 600' &) & {UNTIL_UP}; exit 4")
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.CODE, 4)
    assert not host.is_alive(pid_in(stage))


def test_a_daemon_that_ignores_the_notice_is_killed(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start(
        f"(setsid sh -c 'trap \"\" TERM; echo $$; {UP}; while :; do sleep 0.1; done' &) & {UNTIL_UP}", grace_s=0.2
    )
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.OK, 0)
    assert not host.is_alive(pid_in(stage))


SLOW_TO_SAVE = """
import signal, time
def told(*_):
    print("told", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: print("told again", flush=True))
    time.sleep(1)
    print("saved", flush=True)
    raise SystemExit(0)
signal.signal(signal.SIGTERM, told)
print("started", flush=True)
time.sleep(600)
"""


def test_a_child_that_saves_has_its_grace_when_its_shell_is_gone(fleet: LocalFleet, tmp_path: Path) -> None:
    (tmp_path / "save.py").write_text(SLOW_TO_SAVE)
    stage = Stage(fleet)
    stage.running(f"{sys.executable} {tmp_path}/save.py; echo never")
    stage.stop(Cause.PREEMPTED, grace_s=60)
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.PREEMPTED, 143)
    assert stage.log() == "started\ntold\nsaved\n"


def test_a_job_that_removes_its_own_folder_keeps_its_log(fleet: LocalFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    stage.start(f'rm -rf "$(dirname "$PWD")"; echo removed; {waits_for(tmp_path / "go")}; echo here still; exit 5')
    fleet.until(lambda: stage.log() == "removed\n", "its first word")
    (tmp_path / "go").touch()
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.CODE, 5)
    assert stage.log() == "removed\nhere still\n"


def test_a_notice_goes_to_the_worker_and_not_to_the_users_processes() -> None:
    mark = {**os.environ, "BASTION_MACHINE": f"test-{os.getpid()}|j-1/0/0/0@1.n"}
    sleep = ["sleep", "600"]
    with (
        subprocess.Popen(sleep, env=mark, start_new_session=True) as worker,
        subprocess.Popen(sleep, env=mark | {"BASTION_JOB": "j-1"}, start_new_session=True) as users,
        subprocess.Popen(sleep, env=mark) as helper,
    ):
        marked = [process for process in process_marks.scan() if process.machine == mark["BASTION_MACHINE"]]
        assert {process.pid for process in marked} == {worker.pid, users.pid, helper.pid}
        process_marks.notify(marked)
        assert worker.wait() == -signal.SIGTERM
        process_marks.kill(marked)
        assert (users.wait(), helper.wait()) == (-signal.SIGKILL, -signal.SIGKILL)


def test_delete_kills_a_daemon_that_cleared_its_environment(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start("setsid env -i sh -c 'echo $$; exec sleep 600' & exec sleep 600")
    pid = pid_in(stage)
    machine = stage.machine()
    stage.runner.delete(machine.id)
    fleet.until(lambda: not host.is_alive(pid), "the daemon's death")
    fleet.until(lambda: stage.runner.look(machine.id) is MachineExistence.GONE, "the machine's end")


def test_a_gigabyte_of_output_arrives_whole(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start("head -c 1000000000 /dev/zero | tr '\\0' x; echo done")
    facts = stage.ended()
    assert (facts.cause, facts.message) == (Cause.OK, "")
    extent = logs.survey(fleet.bucket, layout.log(KEY, 0))
    assert extent.size == 1_000_000_005
    last = b"".join(fleet.bucket.read(segment.key).data for segment in extent.segments[-2:])
    assert last.endswith(b"xdone\n")


def test_output_beyond_the_spool_is_dropped_and_counted_and_the_job_goes_on(fleet: LocalFleet) -> None:
    fleet.runner.flags = {"spool_bytes": 1000}
    stage = Stage(fleet)
    stage.start("head -c 100000 /dev/zero | tr '\\0' x; exec sleep 2", OTHER)
    assert stage.ended(OTHER).cause is Cause.OK
    stored = stage.log(OTHER)
    dropped = sum(map(int, re.findall(r"dropped (\d+) ", stored)))
    assert stored.count("x") + dropped == 100_000


def test_a_bundle_is_unpacked_and_is_the_working_folder(fleet: LocalFleet, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "train.sh").write_text("#!/bin/sh\necho in $(basename $PWD) with $1\n")
    (source / "train.sh").chmod(0o755)
    bundle = TarBundler(home=tmp_path / "home", clock=SystemClock()).bundle(source, fleet.bucket)
    stage = Stage(fleet)
    stage.start(["./train.sh", "a b $HOME"], bundle=BundleRef(type="tar", key=bundle.key, digest=bundle.digest))
    assert stage.ended().cause is Cause.OK
    assert stage.log() == "in code with a b $HOME\n"


@pytest.mark.parametrize("stored", [b"something else", None])
def test_a_wrong_or_missing_bundle_is_a_failed_setup(fleet: LocalFleet, stored: bytes | None) -> None:
    digest = hashlib.sha256(b"the code").hexdigest()
    key = layout.bundle(digest, "tar.zst")
    if stored is not None:
        fleet.bucket.create(key, stored)
    stage = Stage(fleet)
    stage.start(HELLO, bundle=BundleRef(type="tar", key=key, digest=digest))
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.SETUP, None)
    assert digest[:12] in facts.message
    assert facts.message in stage.log()


@pytest.mark.parametrize(("order", "told"), [(b"rubbish", "cannot be read"), (b'{"schema": 99}', "upgrade")])
def test_an_order_that_cannot_be_read_is_not_run(fleet: LocalFleet, order: bytes, told: str) -> None:
    """It is nobody's failure: the order of another attempt, or another machine's build, may be a better one."""
    stage = Stage(fleet)
    fleet.bucket.create(layout.order(KEY), order)
    stage.runner.create(placement(KEY))
    facts = stage.ended()
    assert facts.cause is Cause.LOST
    assert told in facts.message


def test_a_file_that_is_no_program_is_126(fleet: LocalFleet, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    stage = Stage(fleet)
    stage.start([str(tmp_path / "data")])
    facts = stage.ended()
    assert (facts.cause, facts.exit_code) == (Cause.CODE, 126)
    assert "cannot be executed" in facts.message


def test_a_job_outlives_a_bucket_that_is_away_and_all_arrives_later(fleet: LocalFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    machine = stage.running(f"echo started; {waits_for(tmp_path / 'go')}; {COUNTS}; touch {tmp_path}/end")
    (tmp_path / "bucket").rename(tmp_path / "away")
    (tmp_path / "go").touch()
    fleet.until((tmp_path / "end").exists, "the end of the job")
    assert stage.runner.look(machine.id) is MachineExistence.THERE
    (tmp_path / "away").rename(tmp_path / "bucket")
    assert stage.ended().cause is Cause.OK
    assert stage.log() == "started\n" + "".join(f"line {n}\n" for n in range(3000))


def test_a_process_inherits_nothing_but_the_basics(fleet: LocalFleet, tmp_path: Path) -> None:
    hostile = tmp_path / "hostile"
    for name in ("cli", "runners", "bastion", "quota"):
        (hostile / name).mkdir(parents=True)
        (hostile / name / "__init__.py").write_text("raise SystemExit('a stranger was imported')")
    secrets = {"BASTION_SECRET": "s1", "GOOGLE_APPLICATION_CREDENTIALS": "s2", "PYTHONPATH": str(hostile)}
    fleet.runner.inherited = {**os.environ, **secrets}
    stage = Stage(fleet)
    stage.start(ENVIRONMENT)
    assert stage.ended().cause is Cause.OK
    assert not set(secrets) & {line.partition("=")[0] for line in stage.log().splitlines()}


def test_default_folders_are_made_on_a_local_bucket(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start('echo 5 > "$BASTION_CHECKPOINT_DIR/step" && echo done > "$BASTION_OUTPUT_DIR/result"')
    assert stage.ended().cause is Cause.OK
    folder = Path(fleet.bucket.url.removeprefix("file://"), layout.outputs(KEY.job, KEY.task))
    assert (folder / "result").read_text() == "done\n"
    assert (folder / "checkpoints" / "step").read_text() == "5\n"


def test_every_worker_gets_its_own_devices(fleet: LocalFleet) -> None:
    fleet.runner.devices = [LocalGpu(str(n), "h200") for n in range(3)]
    stage = Stage(fleet)
    for key, amount in ((KEY, 2), (OTHER, 1)):
        stage.bucket.write(layout.order(key), encode(order(key, 'echo "$CUDA_VISIBLE_DEVICES"; exec sleep 600')))
        stage.runner.create(with_gpus(key, amount))
    fleet.until(lambda: bool(stage.log(KEY) and stage.log(OTHER)), "two sets of devices")
    assert (stage.log(KEY), stage.log(OTHER)) == ("0,1\n", "2\n")
    told = [wait_for_gpus(stage, key) for key in (KEY, OTHER)]
    assert [[gpu.index for gpu in gpus] for gpus in told] == [["0", "1"], ["2"]]
    assert all(gpu.problem for gpus in told for gpu in gpus), "this machine has no such devices, and its facts say so"
    with pytest.raises(RunnerError, match="1 h200 are needed and 0 are free"):
        stage.runner.create(with_gpus(LOST_FOR_GOOD, 1))


def wait_for_gpus(stage: Stage, key: AttemptKey) -> list[GpuFacts]:
    """What the worker says of its GPUs, once it does."""
    stage.fleet.until(lambda: bool((facts := stage.facts(key)) and facts.gpus), "a word about GPUs")
    facts = stage.facts(key)
    assert facts is not None
    return facts.gpus


def with_gpus(key: AttemptKey, amount: int) -> Placement:
    return Placement(key=key, resources={"h200": amount}, replicas=1, workers=1, tier=0, epoch=1)


def test_old_work_folders_are_swept_and_live_ones_are_not(fleet: LocalFleet) -> None:
    stage = Stage(fleet)
    stage.start(HELLO)
    stage.ended()
    stage.running(STUBBORN, OTHER)
    folders = sorted(fleet.folder.glob("work/*/*/*/*/*"))
    assert len(folders) == 2
    fleet.runner.sweep()
    assert sorted(fleet.folder.glob("work/*/*/*/*/*")) == folders
    for folder in folders:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (0, 0))
    fleet.runner.sweep()
    (left,) = fleet.folder.glob("work/*/*/*/*/*")
    assert OTHER.job in str(left)
    assert not list(fleet.folder.glob(f"work/*/{KEY.job}"))


@pytest.fixture(autouse=True)
def _no_gigabytes_left(tmp_path: Path) -> Iterator[None]:
    yield
    shutil.rmtree(tmp_path / "work", ignore_errors=True)
    shutil.rmtree(tmp_path / "bucket", ignore_errors=True)
