"""What a bastion's last sign of life means, and how it is shown."""

from __future__ import annotations

import os
import resource
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from msgspec.structs import replace

from bastion.cli.bastion.status import page
from bastion.model.errors import StoreFull
from bastion.model.stored.status import Status, accounts, problems, summary, word
from bastion.platform import host
from bastion.stores.folder_identity import FULL, FULL_S, ROOM_BYTES, is_full
from bastion.stores.local import LocalBucket

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
STATUS = Status(
    name="demo", state="running", epoch=3, nonce="n", pid=71, host="tower", boot="b", version="0.1.0", seq=9, ticks=12,
    written=NOW - timedelta(seconds=2), last_tick=NOW - timedelta(seconds=1.5), poll_s=0.5,
    counts={"RUNNING": 2, "PENDING": 1, "FAILED": 0}, capacity={"v4": 8}, problems=["the quota file is broken"],
)  # fmt: skip


@pytest.mark.parametrize(
    ("silent_s", "poll_s", "expected"),
    [(29, 0.5, "running"), (31, 0.5, "unknown"), (31, 60, "running"), (599, 60, "running"), (601, 60, "unknown")],
)
def test_a_long_silence_makes_it_unknown(silent_s: float, poll_s: float, expected: str) -> None:
    status = replace(STATUS, written=NOW - timedelta(seconds=silent_s), poll_s=poll_s)
    assert word(status, now=NOW, died=False) == expected


def test_a_stopped_one_stays_stopped_however_old_it_is() -> None:
    old = replace(STATUS, state="stopped", written=NOW - timedelta(days=9))
    assert word(old, now=NOW, died=False) == "stopped"


def test_one_that_died_is_stopped_and_that_is_a_problem() -> None:
    assert word(STATUS, now=NOW, died=True) == "stopped"
    assert "pid 71 ended without a last status" in problems(STATUS, now=NOW, died=True)[0]


def test_one_that_never_started_is_stopped() -> None:
    shown = summary("demo", None, now=NOW, died=False)
    assert (shown["state"], shown["pid"], shown["last_tick_age_s"]) == ("stopped", None, None)


def test_a_silent_one_says_where_to_look() -> None:
    status = replace(STATUS, written=NOW - timedelta(seconds=45))
    first, *rest = problems(status, now=NOW, died=False)
    assert "pid 71 on tower has been silent for 45 s" in first
    assert rest == ["the quota file is broken"]


def test_a_silent_one_whose_disk_is_full_says_that() -> None:
    status = replace(STATUS, written=NOW - timedelta(seconds=45))
    first, *_ = problems(status, now=NOW, died=False, full=True)
    assert first == (
        "pid 71 on tower has been silent for 45 s: no room is left on the disk of the bucket, or in the disk quota of the "
        "bastion's account; make some, and the bastion goes on by itself"
    )


def test_a_full_disk_is_a_problem_at_once_also_of_one_that_has_just_given_a_sign_of_life() -> None:
    first, *rest = problems(STATUS, now=NOW, died=False, full=True)
    assert first.startswith(
        "no room is left on the disk of the bucket, or in the disk quota of the bastion's account; "
    )
    assert rest == STATUS.problems
    stopped = replace(STATUS, state="stopped")
    assert problems(stopped, now=NOW, died=False, full=True) == STATUS.problems, "it does not go on"


@pytest.mark.parametrize(("free", "full"), [(0, True), (ROOM_BYTES - 1, True), (ROOM_BYTES, False)])
def test_a_folder_is_full_when_no_sign_of_life_fits(
    free: int, full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    assert is_full(f"file://{tmp_path}") is full
    assert is_full("gs://bucket/part") is False


def test_who_is_refused_says_so_in_the_folder_and_takes_it_back_when_there_is_room(tmp_path: Path) -> None:
    """As at the end of an account's quota: the disk has room, and only whoever is refused can know. Its word takes no room."""
    url = f"file://{tmp_path}"
    bucket = LocalBucket(url)
    bucket.create("demo/status.json", b"x")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (99, hard))
    try:
        with pytest.raises(StoreFull):
            bucket.create("demo/journal/1", b"x" * 100)
        bucket.delete(["demo/nothing"])  # what takes no room is no sign that there is some
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert is_full(url)
    assert [stat.key for stat in bucket.list("")] == ["demo/status.json"]
    bucket.create("demo/journal/1", b"x")
    assert not is_full(url)


def test_a_refusal_of_long_ago_counts_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was refused may have been killed before there was room again."""
    (tmp_path / os.fsdecode(FULL)).touch()
    assert is_full(f"file://{tmp_path}")
    later = time.time() + FULL_S + 1
    monkeypatch.setattr("time.time", lambda: later)
    assert not is_full(f"file://{tmp_path}")


def test_a_folder_that_is_not_there_is_not_full(tmp_path: Path) -> None:
    assert is_full(f"file://{tmp_path}/none") is False
    assert is_full(f"file://{tmp_path}") is False


def test_the_summary_keeps_the_words_that_scripts_build_on() -> None:
    shown = summary("demo", STATUS, now=NOW, died=False)
    assert {key: shown[key] for key in ("name", "state", "epoch", "pid", "host", "ticks", "version")} == {
        "name": "demo", "state": "running", "epoch": 3, "pid": 71, "host": "tower", "ticks": 12, "version": "0.1.0",
    }  # fmt: skip
    assert shown["last_tick_age_s"] == 1.5
    assert shown["counts"]["RUNNING"] == 2
    assert shown["problems"] == ["the quota file is broken"]


def test_a_tick_of_the_future_is_no_negative_age() -> None:
    ahead = replace(STATUS, last_tick=NOW + timedelta(hours=1))
    assert summary("demo", ahead, now=NOW, died=False)["last_tick_age_s"] == 0


def test_the_page_names_what_is_there_and_every_problem() -> None:
    lines = page(summary("demo", STATUS, now=NOW, died=False), "file:///b/demo", "")
    assert lines[0].split() == ["bastion", "demo", "in", "file:///b/demo"]
    assert "state      running, epoch 3" in lines
    assert "jobs       2 RUNNING, 1 PENDING" in lines
    assert "capacity   v4=8" in lines
    assert lines[-1] == "problem    the quota file is broken"


@pytest.mark.parametrize(
    ("account", "jobs_as", "told"),
    [
        ("", "", ""),
        ("root", "bastion-job", "bastion-job, and the bastion as root"),
        ("root", "root", "root, as the bastion itself: a job can do everything on the machine"),
        ("ada", "ada", "ada, as the bastion itself: a job can read its files and its credentials"),
    ],
)
def test_whose_account_jobs_run_under_is_said(account: str, jobs_as: str, told: str) -> None:
    status = replace(STATUS, account=account, jobs_as=jobs_as)
    assert accounts(status) == told
    shown = summary("demo", status, now=NOW, died=False)
    assert (shown["account"], shown["jobs_as"]) == (account, jobs_as)
    lines = [line for line in page(shown, "file:///b/demo", accounts(status)) if line.startswith("jobs as")]
    assert lines == ([f"jobs as    {told}"] if told else [])


def here(pid: int, written: datetime) -> Status:
    return replace(STATUS, pid=pid, host=host.name(), boot=host.boot(), written=written)


def test_a_live_process_of_this_machine_runs_here() -> None:
    assert host.runs_here(here(os.getpid(), datetime.now(UTC)))
    assert not host.died(here(os.getpid(), datetime.now(UTC)))


def test_a_later_process_with_the_same_id_is_not_the_bastion() -> None:
    before_birth = datetime.fromtimestamp(psutil.Process().create_time(), UTC) - timedelta(seconds=60)
    assert host.died(here(os.getpid(), before_birth))


def test_nothing_is_known_of_a_process_on_another_machine_or_boot() -> None:
    for other in (replace(here(os.getpid(), NOW), host="elsewhere"), replace(here(os.getpid(), NOW), boot="before")):
        assert not host.runs_here(other)
        assert not host.died(other)
