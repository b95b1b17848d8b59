"""A job spec in a file: JSON or TOML, read strictly, with every complaint at once."""

from __future__ import annotations

import re

import pytest

from bastion.launcher.submit.spec_file import fields_of
from bastion.model.errors import SpecError
from bastion.model.job.spec import SPEC_BYTES_MAX, BundleRef

HOME = "gs://bucket/b"
TOML = b"""
name = "train"          # what people call it
command = ["python", "train.py"]
time_limit_s = 3600
env = {SPLIT = "test"}
[resources]
v4 = 8
"""


def test_toml_and_json_say_the_same() -> None:
    as_json = b'{"name": "train", "command": ["python", "train.py"], "time_limit_s": 3600, "env": {"SPLIT": "test"}, "resources": {"v4": 8}}'  # fmt: skip # noqa: E501
    expected = {
        "name": "train", "command": ["python", "train.py"], "time_limit_s": 3600.0, "env": {"SPLIT": "test"},
        "resources": {"v4": 8},
    }  # fmt: skip
    assert fields_of(TOML, HOME) == fields_of(b"\n " + as_json, HOME) == expected


def test_what_is_not_said_is_not_there() -> None:
    assert fields_of(b"{}", HOME) == {}
    assert fields_of(b"", HOME) == {}


def test_all_complaints_come_at_once_and_name_the_nearest_field() -> None:
    with pytest.raises(SpecError) as caught:
        fields_of(
            b'{"comand": ["x"], "priority": 9, "count": "many", "project_id": "p", "instance_type": "tpu-v4-x"}', HOME
        )
    told = str(caught.value)
    for part in (
        "'comand' is not a field of a job spec; did you mean command?",
        "'project_id' is not a field of a job spec; did you mean project?",
        "priority is 9; use 1 to 5",
        "count is 'many'",
    ):
        assert part in told


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"{", "neither JSON nor TOML"),
        (b"[1, 2]", "neither JSON nor TOML"),
        (b"name = ", "neither JSON nor TOML"),
        (b"\xff", "neither JSON nor TOML"),
        (b"x = " + b"[" * 100_000, "neither JSON nor TOML"),
        (b'{"a":' * 30_000, "neither JSON nor TOML"),
        (b"x = " + b"9" * 5_000, "neither JSON nor TOML"),
        (b" " * (SPEC_BYTES_MAX + 1), "more than"),
        (b'{"name": "../x"}', "name is '../x'"),
        (b'{"resources": {"v4": 0.5}}', "resources is"),
        (b'{"instance_type": "tpu-v9-8", "resources": {"v9": 8}}', "did you mean tpu-v4-8?"),
        (b'{"bundle": {"type": "tar"}}', "bundle has type 'tar' and key ''"),
        (b'{"schema": 99}', "schema is 99"),
    ],
)
def test_what_makes_no_sense_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(SpecError, match=re.escape(told)):
        fields_of(data, HOME)


def test_what_an_instance_type_gives_is_not_said_twice() -> None:
    found = fields_of(b'{"instance_type": "tpu-v4-8", "resources": {"v4": 8, "cpu": 2}}', HOME)
    assert found == {"instance_type": "tpu-v4-8", "resources": {"cpu": 2}}


@pytest.mark.parametrize(
    ("outputs", "kept"),
    [
        (f"{HOME}/outputs/train-12345678/0", False),
        (f"{HOME}/outputs/shared", True),
        ("gs://elsewhere/b/outputs/train-12345678/0", True),
        ("/data/run", True),
    ],
)
def test_folders_that_were_another_jobs_alone_are_left_out(outputs: str, kept: bool) -> None:
    text = f'output_dir = "{outputs}"\ncheckpoint_dir = "{outputs}/checkpoints"\n[provenance]\nhost = "h"\n'
    assert fields_of(text.encode(), HOME) == ({"output_dir": outputs} if kept else {})
    own = fields_of(f'output_dir = "{outputs}"\ncheckpoint_dir = "/ckpt"\n'.encode(), HOME)
    assert own.get("checkpoint_dir") == "/ckpt"


def test_code_that_is_in_the_bucket_is_kept() -> None:
    bundle = BundleRef(type="tar", key="bundles/x.tar.zst", digest="a" * 64)
    text = f'[bundle]\ntype = "tar"\nkey = "{bundle.key}"\ndigest = "{bundle.digest}"\n'
    assert fields_of(text.encode(), HOME) == {"bundle": bundle}
