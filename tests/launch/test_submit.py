"""Submitting writes one request, after all checks, and the job is visible at once; refused jobs leave no trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bastion.launcher.submit.sending import send
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError
from bastion.model.stored.requests import Submit, parse
from tests.support.bench import QUOTA, Bench
from tests.support.world import NOON, spec, status

NO_COMMIT = {"repo": "", "commit": "", "folder": "", "submodules": None, "image": "", "build": ""}


def test_the_last_line_is_the_jobs_name_and_every_command_sees_the_job(bench: Bench) -> None:
    said = bench.submit("--name=train", "--", "python", "train.py")

    assert (said.code, said.out) == (0, "train\n")
    (row,) = bench.launch("ls", "--user_id=alice", "--json").json["jobs"]
    assert (row["name"], row["state"], row["reason"]) == (
        "train",
        "PENDING",
        "the scheduler has not picked it up yet (never active)",
    )
    assert "train" in bench.launch("ls", "--user_id=alice").out
    assert "the scheduler has not picked it up yet" in bench.launch("why", "train").out
    assert bench.launch("show", "train", "--json").json["spec"]["command"] == ["python", "train.py"]
    assert bench.launch("wait", "train", "--timeout=0").code == 101
    assert bench.launch("logs", "train", "--no_follow").code == 101
    assert bench.launch("logs", "train", "--provisioning").code == 101


def test_with_json_it_prints_id_and_name(bench: Bench) -> None:
    said = bench.submit("--name=train", "--json", "--", "x").json

    assert said == {"id": said["id"], "name": "train"}
    assert bench.launch("show", said["id"], "--json").json["id"] == said["id"]


def test_every_flag_arrives_in_the_spec(bench: Bench) -> None:
    bench.submit(
        "--name=j", "--project-id=nlp", "--resources=v4=2,cpu=1", "--num_replicas=2", "--count=1", "--priority=2",
        "--max_tries=3", "--retry_interval=1m", "--grace=5s", "--time_limit=1h", "--finish_timeout=5m", "--no_crash_guard",
            "--env=A=1", "--env", "B=x=y",
        "--output_dir=gs://o/run", "--outputs=*.txt", "--outputs=r/*", "--setup=make",
        "--begin=2090-01-31T09:30:00Z", "--deadline=2090-01-31T11:30:00+01:00",
        "--max_parallel=3", "--class=scavenger", "--max_tier=2", "--label=team=rl", "--label", "note=", "--", "echo hi | cat",
    )  # fmt: skip

    found = bench.launch("show", "j", "--json").json["spec"]

    assert {name: found[name] for name in found if name != "provenance"} == {
        "schema": 3, "name": "j", "user": "alice", "project": "nlp", "command": "echo hi | cat",
        "env": {"A": "1", "B": "x=y"}, "resources": {"v4": 2, "cpu": 1}, "instance_type": "", "replicas": 2, "count": 1,
        "priority": 2, "max_tries": 3, "retry_interval_s": 60.0, "grace_s": 5.0, "time_limit_s": 3600.0,
            "finish_timeout_s": 300.0, "crash_guard": False,
        "bundle": {**NO_COMMIT, "type": "none", "key": "", "digest": ""}, "setup": "make", "shell": "", "output_dir": "gs://o/run",
        "outputs": ["*.txt", "r/*"], "checkpoint_dir": "gs://o/run/checkpoints", "after": [], "begin": "2090-01-31T09:30:00Z",
        "deadline": "2090-01-31T10:30:00Z", "max_parallel": 3, "job_class": "scavenger", "max_tier": 2,
            "alternatives": [], "labels": {"team": "rl", "note": ""},
    }  # fmt: skip
    assert found["provenance"]["host"]
    assert found["provenance"]["client_version"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--project_id=vision"], "alice is not a member of vision (alice belongs to nlp)"),
        (["--project_id=visoin"], "there is no project visoin; did you mean vision?"),
        (["--project_id=NLP"], "there is no project NLP; did you mean nlp?"),
        (["--user_id=eve"], "eve is a member of no project"),
        (["--user_id=bob"], "bob is a member of nlp, vision; choose one with --project_id"),
        (["--user_id=a/../b", "--project_id=nlp"], "user is 'a/../b'"),
        (["--resources=v44=1"], "this fleet has no v44; it has v4="),
        (["--resources=v4=9"], "v4=9 is more than the fleet has, v4=8; ask for less"),
        (["--resources=v4=4", "--num_replicas=3"], "v4=12 is more than the fleet has"),
        (["--resources=v4=-1"], "resources v4 is -1"),
        (["--resources=v4=0"], "resources v4 is 0"),
        (["--resources=v4=0.5"], "--resources has 'v4=0.5'"),
        (["--resources=v4=10000000"], "resources v4 is 10000000"),
        (["--instance_type=tpu-v44-8"], "instance_type is 'tpu-v44-8'; did you mean tpu-v4-8?"),
        (["--instance_type=tpu-v5p-8"], "this fleet has no v5p; it has "),
        (["--name=a/b"], "name is 'a/b'"),
        (["--name=a..b"], "name is 'a..b'"),
        (["--name=a\nb"], "name is"),
        ([f"--name={'n' * 200}"], "name is"),
        (["--priority=0"], "priority is 0; use 1 to 5"),
        (["--count=0"], "count is 0"),
        (["--env=RANK=1"], "env sets RANK"),
        (["--output_dir=relative"], "output_dir is 'relative'; use a URL or an absolute path"),
    ],
)  # fmt: skip
def test_a_refused_job_exits_1_and_writes_nothing(bench: Bench, words: list[str], complaint: str) -> None:
    before = bench.objects()

    said = bench.launch("--user_id=alice", "--json", *words, "--", "x")

    assert said.code == 1
    assert complaint in said.error
    assert said.out == ""
    assert bench.objects() == before


@pytest.mark.parametrize(
    "words",
    [
        ["--"],
        [],
        ["--priority=high", "--", "x"],
        ["--grace=soon", "--", "x"],
        ["--bundler_type=zip", "--", "x"],
        ["--bundler_spec=color=red", "--", "x"],
        ["--no_such_flag", "--", "x"],
        ["train.py"],
    ],
)
def test_wrong_usage_exits_2_and_writes_nothing(bench: Bench, words: list[str]) -> None:
    before = bench.objects()

    said = bench.launch("--json", *words)

    assert said.code == 2
    assert said.error
    assert bench.objects() == before


def test_the_pool_that_runners_report_bounds_what_the_quota_promises(bench: Bench) -> None:
    bench.bucket.write(layout.STATUS, _status(capacity={"v4": 4, "cpu": 4}))

    assert "more than the fleet has, v4=4" in bench.submit("--resources=v4=8", "--", "x").err
    assert bench.submit("--resources=v4=4", "--", "x").code == 0


def test_a_dry_run_prints_the_spec_and_writes_nothing(bench: Bench) -> None:
    before = bench.objects()

    said = bench.launch("--user_id=alice", "--dry_run", "--", "python", "x.py")

    assert said.code == 0
    assert said.json["command"] == ["python", "x.py"]
    assert bench.objects() == before


def test_the_code_of_the_folder_travels_and_is_stored_once(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print('hi')\n")
    monkeypatch.chdir(tmp_path / "code")

    for _ in range(2):
        assert bench.launch("--user_id=alice", "--name=j", "--", "python", "train.py").code == 0

    (bundle,) = [key for key in bench.objects() if key.startswith(layout.BUNDLES)]
    found = bench.launch("show", "j", "--json").json["spec"]["bundle"]
    assert found == {**NO_COMMIT, "type": "tar", "key": bundle, "digest": bundle.split("/")[1].split(".")[0]}


def test_a_source_that_cannot_be_packed_is_refused_before_the_request(bench: Bench) -> None:
    before = bench.objects()

    said = bench.launch("--user_id=alice", "--bundler_spec=source=/", "--", "x")

    assert said.code == 1
    assert "start from the folder of your code" in said.err
    assert bench.objects() == before


def test_the_same_request_twice_is_one_job(bench: Bench) -> None:
    request = Submit(spec=spec(project="nlp"))
    for _ in range(2):
        send(bench.bucket, user="alice", request_id="r" * 32, request=request)

    assert len(bench.launch("ls", "--user_id=alice", "--json").json["jobs"]) == 1
    with pytest.raises(BastionError, match="in the inbox with another content"):
        send(bench.bucket, user="alice", request_id="r" * 32, request=Submit(spec=spec(project="other")))


def test_a_request_lies_below_its_users_name(bench: Bench) -> None:
    bench.submit("--name=j", "--", "x")

    (key,) = [key for key in bench.objects() if key.startswith(layout.INBOX)]

    assert layout.request_of(key) == ("alice", key.split("/")[2].removesuffix(".json"))
    assert isinstance(parse(bench.bucket.read(key).data), Submit)


def test_a_bastion_that_never_was_is_not_submitted_to(bench: Bench) -> None:
    before = bench.objects()

    said = bench.submit("--bastion=bb", "--", "x")

    assert said.code == 1
    assert "there is no bastion bb" in said.err
    assert "did you mean b?" in said.err
    assert bench.objects() == before


def test_a_quota_file_that_was_never_good_refuses_everything(bench: Bench) -> None:
    bench.bucket.write(layout.QUOTA, b"[total_resources")

    said = bench.submit("--", "x")

    assert said.code == 1
    assert "the quota file cannot be used: line 1" in said.err


def test_without_a_quota_file_everything_goes(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "open", quota=None)

    assert bench.submit("--resources=v9=1", "--", "x").code == 0


def test_which_bastion_is_asked_for_by_name(bench: Bench) -> None:
    del bench.environ["BASTION_NAME"]

    said = bench.launch("ls", "--json")

    assert said.code == 2
    assert said.error == (
        "no bastion is named; use --bastion=NAME or set BASTION_NAME, or make a profile with bastion config add"
    )


def _status(*, capacity: dict[str, int]) -> bytes:
    return encode(status(NOON, capacity=capacity))


def test_the_json_of_a_spec_is_one_line(bench: Bench) -> None:
    bench.submit("--name=j", "--", "x")

    assert len(bench.launch("show", "j", "--json").out.splitlines()) == 1
    assert json.loads(bench.launch("show", "j", "--json").out)["schema"] == 1


def test_a_job_without_a_gpu_is_told_where_there_are_some(bench: Bench) -> None:
    bench.bucket.write(layout.QUOTA, QUOTA.replace("v4 = 8", "v4 = 8\nh100 = 8").encode())
    said = bench.launch("--user_id=alice", "--resources=cpu=1", "--bundler_type=none", "--", "x")
    assert "no GPU asked for; add --gpus=1" in said.err
    for flag in ("--gpus=1", "--gpus=0", "--resources=v4=1"):
        said = bench.launch("--user_id=alice", flag, "--bundler_type=none", "--", "x")
        assert (said.code, "no GPU" in said.err) == (0, False), said
