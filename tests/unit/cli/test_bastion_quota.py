"""`bastion quota` on a bucket in a folder: strict about the file, plain about the change, never over somebody else's."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bastion.cli.bastion.tool import TOOL
from bastion.cli.common.compare_and_swap import exchange
from bastion.cli.terminal.main import run
from bastion.model import layout
from bastion.model.errors import BastionError
from bastion.model.job.audit_line import split
from bastion.model.layout import CONFIG, QUOTA
from bastion.model.settings.config import Config, render
from bastion.model.stored.events import FileChanged
from bastion.model.stored.requests import Cancel
from bastion.model.stored.requests import parse as parse_request
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.world import World

GOOD = """[toml-schema]
version = "1"

[total_resources]
v4 = 8

[project_membership]
nlp = ["alice"]
vision = ["bob"]

[project_resources.nlp]
v4 = 0.5

[project_resources.vision]
v4 = 0.5
"""


@dataclass(frozen=True)
class Said:
    """What a command line answered."""

    code: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def bucket(tmp_path: Path) -> PrefixedBucket:
    part = PrefixedBucket(LocalBucket(f"file://{tmp_path}/bucket", create=True), "demo")
    part.write(CONFIG, render(Config()).encode())
    return part


@pytest.fixture
def bastion(bucket: PrefixedBucket, tmp_path: Path) -> Command:
    def command(*words: str, name: str = "demo") -> Said:
        out, err = io.StringIO(), io.StringIO()
        environ = {
            "BASTION_NAME": name,
            "BASTION_BUCKET": f"file://{tmp_path}/bucket",
            "XDG_CONFIG_HOME": str(tmp_path),
        }
        return Said(run(TOOL, words, environ=environ, out=out, err=err), out.getvalue(), err.getvalue())

    return command


def text_in(bucket: PrefixedBucket) -> str:
    """The quota file in the bucket, without the line that says who put it there."""
    text, byline = split(bucket.read(QUOTA).data.decode())
    assert byline
    return text


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "quota.toml"
    path.write_text(GOOD)
    return path


def test_the_first_set_creates_the_object(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    said = bastion("quota", "set", str(file), "--yes")
    assert said.code == 0
    assert text_in(bucket) == GOOD


def test_a_set_shows_what_changes(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    bucket.write(QUOTA, GOOD.encode())
    file.write_text(GOOD.replace("v4 = 8", "v4 = 16").replace('["bob"]', '["bob", "carol"]'))
    said = bastion("quota", "set", str(file), "--yes")
    assert said.code == 0
    assert "total v4: 8 -> 16" in said.err
    assert "vision: members added: carol" in said.err
    assert text_in(bucket) == file.read_text()


def inbox(bucket: PrefixedBucket) -> list[str]:
    asked = [parse_request(bucket.read(stat.key).data) for stat in bucket.list(layout.INBOX)]
    return sorted(one.job for one in asked if isinstance(one, Cancel))


@pytest.mark.parametrize("again", [False, True], ids=["at once", "once the file is in force"])
def test_jobs_of_those_who_left_are_stopped_where_it_is_asked(
    bastion: Command, bucket: PrefixedBucket, file: Path, *, again: bool
) -> None:
    world = World(bucket)
    jobs = [world.submitted(f"{name:032}", name=f"job{name}", user="alice", project="nlp") for name in range(2)]
    world.submitted("b" * 32, name="other", user="bob", project="vision")
    bucket.write(CONFIG, render(Config(admins=["root"])).encode())
    world.happens(FileChanged(file="config", version="1", text=render(Config(admins=["root"]))))
    bucket.write(QUOTA, GOOD.encode())
    file.write_text(GOOD.replace('["alice"]', '["carol"]'))
    first = bastion("quota", "set", str(file), "--yes", "--user_id=root", *([] if again else ["--stop_affected"]))
    assert first.err.count("no longer a member of nlp; it stays waiting; --stop_affected ends it") == 2
    if again:
        assert inbox(bucket) == []
        bastion("quota", "set", str(file), "--yes", "--user_id=root", "--stop_affected")
    assert inbox(bucket) == sorted(jobs)


def test_who_may_not_stop_them_changes_nothing(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    World(bucket).submitted(user="alice", project="nlp")
    file.write_text(GOOD.replace('["alice"]', '["carol"]'))
    said = bastion("quota", "set", str(file), "--yes", "--user_id=bob", "--stop_affected")
    assert said.code != 0
    assert "only alice and admins may stop it" in said.err
    assert not list(bucket.list("project-quotas/"))
    assert inbox(bucket) == []


def test_nobody_is_stopped_unasked(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    World(bucket).submitted(user="alice", project="nlp")
    file.write_text(GOOD.replace('["alice"]', '["carol"]'))
    said = bastion("quota", "set", str(file), "--user_id=alice", "--stop_affected")
    assert said.code != 0
    assert "are no longer members of their projects; stop these jobs? use --yes" in said.err
    assert not list(bucket.list("project-quotas/"))


def test_setting_the_same_again_writes_nothing(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    bastion("quota", "set", str(file), "--yes")
    version = bucket.read(QUOTA).version
    said = bastion("quota", "set", str(file))
    assert (said.code, bucket.read(QUOTA).version) == (0, version)
    assert "nothing changes" in said.err


def test_a_broken_file_is_refused_with_every_line(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    file.write_text(GOOD.replace("v4 = 8", "v4 = -8").replace("vision]\nv4 = 0.5", "vision]\nv4 = 1.5"))
    said = bastion("quota", "set", str(file), "--yes")
    assert (said.code, said.out) == (1, "")
    assert said.err.count("\n") == 1
    assert f"{file}: line 5: " in said.err
    assert "line 15: " in said.err
    assert not list(bucket.list("project-quotas/"))


def test_bytes_that_are_no_text_are_refused_with_their_line(bastion: Command, file: Path) -> None:
    file.write_bytes(b'[toml-schema]\nversion = "\xff"\n')
    said = bastion("quota", "check", str(file))
    assert said.code == 1
    assert "line 2: not UTF-8" in said.err


def test_a_huge_file_is_refused(bastion: Command, file: Path) -> None:
    file.write_bytes(b"#" * (1024 * 1024 + 1))
    assert "has more than 1048576 bytes" in bastion("quota", "check", str(file)).err


def test_a_missing_file_is_one_line(bastion: Command, tmp_path: Path) -> None:
    said = bastion("quota", "check", str(tmp_path / "nowhere.toml"))
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "nowhere.toml" in said.err


def test_check_warns_and_writes_nothing(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    file.write_text(GOOD.replace("nlp = [", "nlpp = ["))
    said = bastion("quota", "check", str(file))
    assert said.code == 0
    assert "warning: nlp: has shares but no members (did you mean nlpp?)" in said.err
    assert not list(bucket.list("project-quotas/"))


def test_a_set_that_nobody_can_confirm_needs_yes(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    said = bastion("quota", "set", str(file))
    assert said.code == 2
    assert "--yes" in said.err
    assert not list(bucket.list("project-quotas/"))


def test_a_broken_file_in_the_bucket_can_be_replaced(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    bucket.write(QUOTA, b"what is this")
    said = bastion("quota", "set", str(file), "--yes")
    assert said.code == 0
    assert "the file in force now is broken: line 1" in said.err
    assert text_in(bucket) == GOOD


def test_show_prints_the_file_and_every_share(bastion: Command, bucket: PrefixedBucket) -> None:
    bucket.write(QUOTA, GOOD.encode())
    said = bastion("quota", "show")
    assert said.code == 0
    assert said.out.startswith(GOOD.rstrip())
    assert [line.split() for line in said.out.splitlines()[-3:]] == [
        ["PROJECT", "KIND", "SHARE", "USED", "BORROWED"],
        ["nlp", "v4", "4", "0", "0"],
        ["vision", "v4", "4", "0", "0"],
    ]


def test_show_without_a_file_says_that_there_is_none(bastion: Command) -> None:
    said = bastion("quota", "show")
    assert (said.code, said.out.splitlines()[0]) == (0, "there is no quota file: everybody may use everything")


def test_show_of_a_broken_file_says_so(bastion: Command, bucket: PrefixedBucket) -> None:
    bucket.write(QUOTA, b"[")
    said = bastion("quota", "show")
    assert said.code == 0
    assert "the file is broken" in said.err


def test_json_is_one_object(bastion: Command, bucket: PrefixedBucket, file: Path) -> None:
    found = json.loads(bastion("quota", "set", str(file), "--yes", "--json").out)
    assert found["affected"] == []
    assert "total v4: 0 -> 8" in found["diff"]
    shown = json.loads(bastion("quota", "show", "--json").out)
    assert shown["text"] == GOOD
    assert shown["usage"][0] == {"project": "nlp", "kind": "v4", "share": 4, "used": 0, "borrowed": 0}


def test_an_unknown_action_is_wrong_usage_and_names_the_nearest(bastion: Command) -> None:
    said = bastion("quota", "shwo")
    assert said.code == 2
    assert "did you mean show?" in said.err
    assert bastion("quota", "set").code == 2
    assert bastion("quota", "show", "x").code == 2


def test_an_unknown_bastion_is_answered_with_the_nearest(bastion: Command) -> None:
    said = bastion("quota", "show", name="dmeo")
    assert said.code == 1
    assert "there is no bastion dmeo" in said.err
    assert "did you mean demo?" in said.err


def test_somebody_elses_change_is_never_overwritten(bucket: PrefixedBucket) -> None:
    version = bucket.write(QUOTA, b"ours")
    bucket.write(QUOTA, b"theirs")
    with pytest.raises(BastionError, match="somebody else changed"):
        exchange(bucket, QUOTA, b"new", version)
    with pytest.raises(BastionError, match="somebody else changed"):
        exchange(bucket, QUOTA, b"new", None)
    assert bucket.read(QUOTA).data == b"theirs"


class Forgetful(PrefixedBucket):
    """A bucket whose answers to writes are lost: the client asks again, and its own object refuses it."""

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        super().replace(key, data, version)
        return super().replace(key, data, version)


def test_a_lost_answer_is_no_conflict(bucket: PrefixedBucket, tmp_path: Path) -> None:
    version = bucket.write(QUOTA, b"old")
    exchange(Forgetful(LocalBucket(f"file://{tmp_path}/bucket"), "demo"), QUOTA, b"new", version)
    assert bucket.read(QUOTA).data == b"new"
