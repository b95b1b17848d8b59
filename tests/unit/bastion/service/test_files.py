"""The admin's files: what is good is in force, what is broken is told, and the last good one stays."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.errors import BucketError
from bastion.model.settings.config import CONFIG_BYTES_MAX, Config
from bastion.model.state.state import State
from bastion.model.stored.events import CapacityChanged, FileBroken, FileChanged, Submitted
from bastion.schedule.plan import inputs, plan
from bastion.service import admin_files
from bastion.service.admin_files import FILE_BYTES_MAX, KEYS, note, read
from bastion.service.task_results import FileRead
from tests.support.doors import FaultyBucket, fails, folded, memory
from tests.support.world import NOON, HandClock, spec

GOOD = b"""
[toml-schema]
version = "1"
[total_resources]
v4 = 8
"""


def content(_config: Config) -> tuple[str, ...]:
    return ()


def noted(state: State, data: bytes | None, version: str = "1", file: str = "quota") -> list[FileChanged | FileBroken]:
    events = list(note(state, FileRead(file, version if data is not None else "", data), content))
    folded(*events, state=state)
    assert list(note(state, FileRead(file, version if data is not None else "", data), content)) == [], "said once"
    return events


def test_a_file_that_is_too_large_is_not_read_and_said_once() -> None:
    bucket, state = memory(), folded(FileChanged(file="quota", version="1", text=GOOD.decode()))
    bucket.write(KEYS["quota"], b"#" * (FILE_BYTES_MAX + 1))
    seen = read(bucket, HandClock()).files[0]
    [event] = note(state, seen, content)
    assert event.problem == f"{KEYS['quota']} is too large; at most 1048576 bytes are allowed"
    folded(event, state=state)
    assert list(note(state, seen, content)) == []
    assert state.files["quota"].text == GOOD.decode()


def test_a_good_file_is_in_force_and_the_journal_holds_its_text() -> None:
    state = folded()
    [event] = noted(state, GOOD)
    assert event == FileChanged(file="quota", version="1", text=GOOD.decode())
    quota = inputs(state).quota
    assert quota is not None
    assert quota.total() == {"v4": 8}


def test_no_files_is_a_single_users_fleet_with_plain_settings() -> None:
    state = folded()
    assert noted(state, None) == []
    assert noted(state, None, file="config") == []
    quota = inputs(state).quota
    assert quota is not None
    assert quota.is_open
    assert inputs(state).config == Config()


BROKEN = [
    (b"rubbish", "not TOML"),
    (b"", "toml-schema is missing"),
    (b"\xff", "not UTF-8"),
    (b"a = " + b"[" * 10_000, "nested"),
    (b"a = " + b"9" * 5_000, "not TOML"),
]


@pytest.mark.parametrize(("data", "problem"), BROKEN, ids=[problem for _, problem in BROKEN])
def test_a_broken_quota_is_told_and_the_last_good_one_stays(data: bytes, problem: str) -> None:
    state = folded()
    noted(state, GOOD)
    [event] = noted(state, data, "2")
    assert isinstance(event, FileBroken)
    assert problem in event.problem
    assert len(event.problem) <= 4096
    assert inputs(state).quota == inputs(folded(FileChanged(file="quota", version="1", text=GOOD.decode()))).quota


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"poll = -1", "poll"),
        (b"polls = 1", "did you mean poll"),
        (b"#" * (CONFIG_BYTES_MAX + 1), "longer"),
        (b"schema = 2", "upgrade"),
    ],
)
def test_broken_settings_leave_the_last_good_ones(data: bytes, problem: str) -> None:
    state = folded()
    noted(state, b"poll = 7.0", file="config")
    [event] = noted(state, data, "2", file="config")
    assert isinstance(event, FileBroken)
    assert problem in event.problem
    assert inputs(state).config.poll == 7


def test_a_quota_that_was_broken_from_the_start_starts_nothing_and_says_why() -> None:
    state = folded(CapacityChanged(runner="local", resources={"cpu": 9}), Submitted(request="r", job="j", spec=spec()))
    noted(state, b"rubbish")
    assert inputs(state).quota is None
    answer = plan(state, inputs(state), NOON)
    assert not answer.schedule.starts
    assert "the quota file is broken" in answer.reasons["j"]


def test_a_deleted_file_leaves_the_last_good_one() -> None:
    state = folded()
    noted(state, GOOD)
    [event] = noted(state, None)
    assert isinstance(event, FileBroken)
    assert "was deleted" in event.problem
    quota = inputs(state).quota
    assert quota is not None
    assert not quota.is_open


def test_a_deleted_file_that_never_was_good_is_no_file() -> None:
    state = folded()
    noted(state, b"rubbish")
    noted(state, None)
    quota = inputs(state).quota
    assert quota is not None
    assert quota.is_open
    assert state.files["quota"].problem == ""


def test_a_repaired_file_is_in_force_again() -> None:
    state = folded()
    noted(state, GOOD)
    noted(state, b"rubbish", "2")
    noted(state, GOOD, "3")
    assert state.files["quota"].problem == ""


def test_both_files_are_read_and_a_store_that_fails_is_an_error() -> None:
    bucket = FaultyBucket()
    bucket.inner.write(layout.QUOTA, GOOD)
    reading = admin_files.read(bucket, HandClock(now=7))
    assert reading.at == 7
    assert [(read.file, read.data) for read in reading.files] == [("quota", GOOD), ("config", None)]
    bucket.faults = [fails]
    with pytest.raises(BucketError):
        admin_files.read(bucket, HandClock())


def test_settings_that_no_runner_here_understands_leave_the_last_good_ones_in_force() -> None:
    state = folded()
    noted(state, b"poll = 2", file="config")
    seen = FileRead("config", "2", b"poll = 3")
    [event] = note(state, seen, lambda config: [f"poll {config.poll:g} is odd", "so is all else"])
    assert event == FileBroken(file="config", version="2", problem="config.toml: poll 3 is odd; so is all else")
    folded(event, state=state)
    assert state.files["config"].text == "poll = 2"
