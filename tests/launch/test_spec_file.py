"""`launch --spec=FILE`: what `--dry_run` prints is the same job again, and flags are laid over a file."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench import Bench

WORDS = (
    "--user_id=alice", "--name=j", "--instance_type=tpu-v5litepod-4", "--resources=cpu=2", "--num_replicas=2", "--count=3",
    "--priority=2", "--max_tries=4", "--retry_interval=0.1s", "--grace=90s", "--time_limit=1h", "--env=A=b=c",
    "--env=X=\n",
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "job.json"


def spec_of(bench: Bench, name: str) -> Any:
    shown = bench.launch("show", name, "--json").json["spec"]
    del shown["provenance"]
    return shown


@pytest.mark.parametrize("bundler", ["none", "tar"])
@pytest.mark.parametrize("command", [["python", "a b.py", "$HOME"], ["echo $HOME | cat"]])
@pytest.mark.parametrize("outputs", [(), ("--output_dir=/data/x",)])
def test_a_dry_run_is_the_same_job_again(
    bench: Bench, file: Path, bundler: str, command: list[str], outputs: tuple[str, ...],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("")
    monkeypatch.chdir(tmp_path / "code")
    words = [*WORDS, *outputs, f"--bundler_type={bundler}"]
    dry = bench.launch(*words, "--dry_run", "--", *command)
    file.write_text(dry.out)
    again = bench.launch(f"--spec={file}", "--dry_run").json
    assert again == {**dry.json, "provenance": again["provenance"]}
    assert bench.launch(*words, "--", *command).code == 0
    direct = spec_of(bench, "j")
    said = bench.launch(f"--spec={file}")
    assert (said.code, said.out) == (0, "j\n")
    assert f"submitting as user alice, as {file} says" in said.err
    assert spec_of(bench, "j") == direct


def test_flags_and_a_command_override_the_file(bench: Bench, file: Path) -> None:
    file.write_text(json.dumps({
        "user": "alice", "name": "j", "command": "old one", "priority": 2, "env": {"A": "1", "B": "2"},
        "instance_type": "tpu-v5litepod-4", "resources": {"v5litepod": 4, "cpu": 1}, "output_dir": "/data/x",
        "checkpoint_dir": "/data/x/checkpoints", "bundle": {"type": "none"},
    }))  # fmt: skip
    said = bench.launch(
        f"--spec={file}", "--user_id=bob", "--project_id=nlp", "--priority=5", "--env=B=3", "--instance_type=tpu-v4-8",
        "--output_dir=/data/y", "--dry_run", "--", "new",
    )  # fmt: skip
    assert said.err == ""
    found = said.json
    assert (found["user"], found["project"], found["name"], found["priority"]) == ("bob", "nlp", "j", 5)
    assert (found["command"], found["env"]) == (["new"], {"A": "1", "B": "3"})
    assert (found["instance_type"], found["resources"]) == ("tpu-v4-8", {"v4": 8, "cpu": 1})
    assert (found["output_dir"], found["checkpoint_dir"]) == ("/data/y", "/data/y/checkpoints")


def test_toml_from_standard_input(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    text = b'name = "t"\nuser = "alice"\ncommand = "echo hi"\ngrace_s = 5\nbundle = {type = "none"}\n'
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert bench.launch("--spec=-").out == "t\n"
    assert spec_of(bench, "t")["grace_s"] == 5


def test_code_that_the_file_names_is_used_as_it_is_unless_flags_say_how(
    bench: Bench, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("")
    monkeypatch.chdir(tmp_path / "code")
    assert bench.launch("--user_id=alice", "--name=first", "--", "x").code == 0
    shown = bench.launch("show", "first", "--json").json["spec"]
    file.write_text(json.dumps({**shown, "name": "second"}))
    (tmp_path / "code" / "train.py").write_text("changed")
    assert bench.launch(f"--spec={file}").code == 0
    second = spec_of(bench, "second")
    assert second["bundle"] == shown["bundle"]
    assert second["output_dir"].split("/")[-2].startswith("second-"), "not the first one's folder"
    assert bench.launch(f"--spec={file}", "--bundler_type=tar", "--name=third").code == 0
    assert spec_of(bench, "third")["bundle"]["digest"] != shown["bundle"]["digest"]


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ('{"name": "j"}', 1, "has no command; add one there, or after --"),
        ('{"comand": "x", "priority": 0}', 1, "did you mean command?; priority is 0"),
        ("{", 1, "is neither JSON nor TOML"),
        ('{"command": "x", "user": "mallory", "project": "nlp"}', 1, "mallory is not a member of nlp"),
        ('{"command": "x", "user": "alice", "resources": {"v4": 99}}', 1, "more than the fleet has, v4=8"),
        (None, 1, "no such file"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_and_nothing_is_written(
    bench: Bench, file: Path, text: str | None, code: int, told: str
) -> None:
    if text is not None:
        file.write_text(text)
    before = bench.objects()
    said = bench.launch(f"--spec={file}", "--json")
    assert (said.code, said.out) == (code, "")
    assert told in said.error
    assert bench.objects() == before
