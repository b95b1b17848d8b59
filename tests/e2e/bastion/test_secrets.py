"""A secret reaches the process that it is for, and is nowhere else: no object, no command line, no answer of a command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from tests.support.fleet import Fleet, files, until

VALUE = "hf-0Kz9Qw7LmN3xYv5T"
OF_ALICE = "wandb-77aa55cc33ee11"
READS = (["show"], ["history"], ["why"], ["logs", "--no_follow"], ["diff"])


def secret(fleet: Fleet, name: str, value: str, mode: int = 0o600) -> None:
    path = fleet.folder / "secrets" / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(f"{value}\n")
    path.chmod(mode)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A bastion that was itself started with credentials in its environment."""
    here = Fleet(tmp_path_factory.mktemp("secrets"))
    (here.folder / "secrets").mkdir(mode=0o700)
    here.environ |= {
        "BASTION_SECRETS": str(here.folder / "secrets"),
        "AWS_SECRET_ACCESS_KEY": "of-the-bastion",
        "GOOGLE_APPLICATION_CREDENTIALS": "/of-the-bastion.json",
        "HF_TOKEN": "of-the-bastion",
        "LD_PRELOAD": "",
        "PYTHONPATH": "/of-the-bastion",
        "BASTION_ANYTHING": "of-the-bastion",
    }
    secret(here, "HF_TOKEN", VALUE)
    here.create()
    yield here
    here.close()


def plain(data: bytes) -> bytes:
    """What an object holds, unpacked if it is packed."""
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


def holders(folder: Path, value: str) -> list[str]:
    """The files below a folder whose content or name holds the value."""
    found = list(files(folder))
    assert len(found) > 10
    return [str(path) for path in found if value.encode() in plain(content(path)) or value in str(path)]


def content(path: Path) -> bytes:
    """What is in a file; nothing, if it is gone by now: the bastion writes on."""
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return b""


def command_lines() -> bytes:
    lines = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines.append((folder / "cmdline").read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


def test_it_reaches_the_process_and_nothing_else(fleet: Fleet) -> None:
    run = (
        'cd "$BASTION_OUTPUT_DIR"; printf %s "$HF_TOKEN" >seen; env; printf "%s" "${HF_TOKEN%???}"; touch half;'
        " while [ ! -e more ]; do sleep 0.05; done;"
        ' echo "${HF_TOKEN#????????????????}"; touch printed; while [ ! -e go ]; do sleep 0.05; done;'
        ' echo "Error: bad token $HF_TOKEN" >&2; exit 3'
    )
    job = fleet.submit("uses", "--env=HF_TOKEN=secret:HF_TOKEN", run=run)
    outputs = fleet.root / "outputs" / job / "0"
    until((outputs / "half").exists)
    until(lambda: "BASTION_JOB=" in fleet.log(job))
    assert VALUE[:16] not in fleet.log(job)
    (outputs / "more").touch()
    until((outputs / "printed").exists)
    assert VALUE.encode() not in command_lines()
    assert (outputs / "seen").read_text() == VALUE
    (outputs / "seen").unlink()
    (outputs / "go").touch()
    assert fleet.wait(job) == 3
    other = fleet.submit("other", run="true")
    fleet.wait(other)
    for command, *more in READS:
        words = [command, job, *more, *([other] if command == "diff" else [])]
        for form in ([], ["--json"]):
            said = fleet.run("launch", *words, *form)
            assert said.returncode == (3 if command == "logs" else 0), said
            assert VALUE not in said.stdout + said.stderr
    log = fleet.log(job)
    assert log.count("*" * len(VALUE)) == 3  # of env, in two pieces, and in the error
    assert f"HF_TOKEN={'*' * len(VALUE)}\n" in log
    assert f"Error: bad token {'*' * len(VALUE)}" in fleet.job(job)["reason"]
    assert fleet.ask("launch", "show", job)["spec"]["env"]["HF_TOKEN"] == "secret:HF_TOKEN"
    snapshot = [sys.executable, "-I", "-m", "bastion", "snapshot"]
    place = ["--bastion=demo", f"--bucket=file://{fleet.bucket}"]
    assert subprocess.run([*snapshot, *place], check=False).returncode == 0
    assert list((fleet.root / "snapshots").iterdir())
    assert holders(fleet.bucket, VALUE) == []
    workers = [path for path in holders(fleet.folder, VALUE) if not path.startswith(str(fleet.folder / "secrets"))]
    assert [Path(path).name for path in workers] == ["output.log"]  # the machine's own file, which nobody else may read
    assert Path(workers[0]).stat().st_mode & 0o077 == 0


def test_nothing_of_the_bastions_environment_reaches_a_job(fleet: Fleet) -> None:
    job = fleet.submit("bare", "--env=MINE=yes", run="env")
    assert fleet.wait(job) == 0
    log = fleet.log(job)
    assert "of-the-bastion" not in log
    assert "MINE=yes" in log
    ours = {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "LANG",
        "TMPDIR",
        "PYTHONUNBUFFERED",
        "MINE",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }
    known = ("BASTION_", "CUDA_", "NCCL_", "TORCH", "JAX_", "LOCAL_", "GROUP_", "ROLE_", "MASTER_", "NODE_", "TPU_")
    names = {line.partition("=")[0] for line in log.splitlines() if "=" in line}
    assert {name for name in names - ours if not name.startswith(known)} <= {"RANK", "WORLD_SIZE", "NNODES"}


def test_a_setup_knows_secrets_and_its_failure_does_not_tell_them(fleet: Fleet) -> None:
    job = fleet.submit(
        "sets", "--env=T=secret:HF_TOKEN", '--setup=echo "no such index: https://u:$T@host"; exit 7', run="true"
    )
    assert fleet.wait(job) == 100
    reason = fleet.job(job)["reason"]
    assert f"no such index: https://u:{'*' * len(VALUE)}@host" in reason
    assert holders(fleet.bucket, VALUE) == []


@pytest.mark.parametrize(("mode", "complaint"), [(None, "is not on this machine"), (0o644, "chmod 600")])
def test_a_secret_that_cannot_be_had_fails_the_attempt_and_is_named(
    fleet: Fleet, mode: int | None, complaint: str
) -> None:
    if mode is not None:
        secret(fleet, "LOST", "never-to-be-shown", mode)
    job = fleet.submit("lost", "--env=X=secret:LOST", "--max_tries=2", "--retry_interval=0s", run="true")
    assert fleet.wait(job) == 100
    shown = fleet.job(job)
    assert (shown["state"], [attempt["cause"] for attempt in shown["attempts"]]) == ("FAILED", ["setup", "setup"])
    assert "secret LOST" in shown["reason"]
    assert complaint in shown["reason"]
    assert complaint in fleet.log(job)
    assert holders(fleet.bucket, "never-to-be-shown") == []


def test_a_secret_of_google_on_a_machine_without_its_credentials_is_named(fleet: Fleet) -> None:
    job = fleet.submit("clouds", "--env=X=secret:projects/acme/secrets/T", run="true")
    assert fleet.wait(job) == 100
    assert "this machine has no credentials of Google" in fleet.job(job)["reason"]


def test_a_users_secret_is_for_that_users_jobs(fleet: Fleet) -> None:
    secret(fleet, "users/alice/WANDB", OF_ALICE)
    theirs = fleet.submit("theirs", "--user_id=bob", "--env=W=secret:WANDB", run="true")
    assert fleet.wait(theirs) == 100
    mine = fleet.submit("mine", "--user_id=alice", "--env=W=secret:WANDB", run=f'[ "$W" = {OF_ALICE} ]')
    assert fleet.wait(mine) == 0


def test_here_and_now_a_secret_is_this_accounts(fleet: Fleet) -> None:
    said = fleet.run(
        "launch", "run", "--bundler_type=none", "--env=T=secret:HF_TOKEN", "--", "/bin/sh", "-c", "echo [$T]"
    )
    assert (said.returncode, said.stdout) == (0, f"[{'*' * len(VALUE)}]\n"), said


def test_a_secret_in_plain_is_warned_of_and_a_bad_reference_refused(fleet: Fleet) -> None:
    words = ("launch", "--dry_run", "--bundler_type=none", "--resources=v4=1")
    said = fleet.run(*words, "--env=HF_TOKEN=hf_abc", "--", "true")
    assert said.returncode == 0
    assert "warning: env HF_TOKEN looks like a secret" in said.stderr
    said = fleet.run(*words, "--env=T=secret:a/b", "--", "true")
    assert said.returncode == 1
    assert "env 'T' is secret: without a valid name" in said.stderr
    file = fleet.folder / "spec.json"
    file.write_text(json.dumps({"env": {"API_KEY": "abcdefgh"}, "command": ["true"], "resources": {"v4": 1}}))
    said = fleet.run("launch", "--dry_run", f"--spec={file}")
    assert "warning: env API_KEY" in said.stderr
    assert os.path.exists(file)


def test_work_folders_are_closed_to_others_and_temporary_ones_are_removed(fleet: Fleet) -> None:
    run = 'stat -c %a "$TMPDIR" .. ../../../../../..; touch "$TMPDIR/x"; echo "$TMPDIR"; ulimit -c; cat /proc/self/oom_score_adj'
    job = fleet.submit("modes", run=run)
    assert fleet.wait(job) == 0
    *modes, tmp, cores, score = fleet.log(job).splitlines()
    assert modes == ["700", "700", "700"]
    assert (cores, score) == ("0", "500")
    until(lambda: not Path(tmp).exists())
    assert Path(tmp).parent.is_dir()
