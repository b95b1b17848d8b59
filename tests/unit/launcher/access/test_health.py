"""What a doctor makes of what was gathered: level, what was found, what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from bastion.launcher.access import health_checks
from bastion.launcher.access.health_checks import ClockFacts, HealthLevel, Probe
from bastion.model import layout
from bastion.model.clocks import WriteTime, offset
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Attempt, AttemptState, Job, State, Task, Worker
from bastion.model.stored.status import Status

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
STATUS = Status(
    name="demo", state="running", epoch=1, nonce="n", pid=7, host="vm", boot="b", version="1.0", seq=1, ticks=9,
    written=NOW, last_tick=NOW, poll_s=1.0, counts={}, capacity={}, problems=[],
)  # fmt: skip
KEY = AttemptKey("live-1", 0, 0)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def job(name: str, attempt: Attempt, *, ended: datetime | None = None) -> Job:
    return Job(
        id=name, name=name, user="ann", project="nlp", priority=5, resources={}, replicas=1, count=1, max_tries=1,
        retry_interval_s=1.0, grace_s=1.0, seq=0, index=0, request="ann/r", submitted=NOW, since=NOW, ended=ended,
        tasks={0: Task(attempts=[attempt])},
    )  # fmt: skip


def state() -> State:
    live = Attempt(number=0, runner="local", started=ago(500), running=ago(400), workers=[Worker(machine="m")])
    live.state = AttemptState.RUNNING
    over = Attempt(number=0, runner="local", started=ago(900), ended=ago(600), workers=[Worker(machine="m")])
    over.state = AttemptState.ENDED
    jobs = {"live-1": job("live-1", live), "over-1": job("over-1", over, ended=ago(600))}
    return State(now=NOW, jobs=jobs, live={"live-1": {0: None}})


def probe(prefix: str = "logs/", **refused: str) -> Probe:
    return Probe(prefix=prefix, url="s3://b/demo", refused=refused)


def test_all_rights_are_well_for_everybody() -> None:
    for admin in (True, False):
        assert health_checks.rights(probe(), user="ann", admin=admin).level is HealthLevel.OK


def test_a_right_that_only_the_bastion_needs_is_missed_by_admins_only() -> None:
    tried = probe(create="cannot write: 403")
    assert health_checks.rights(tried, user="ann", admin=False).level is HealthLevel.OK
    check = health_checks.rights(tried, user="ann", admin=True)
    assert (check.level, check.name) == (HealthLevel.FAILED, "rights on logs/")
    assert check.found == "may not create: cannot write: 403"
    assert check.advice == "ask for the right of ann to create below s3://b/demo/logs/"


def test_a_user_needs_to_create_in_his_own_inbox() -> None:
    check = health_checks.rights(probe("inbox/ann/", create="no", delete="no"), user="ann", admin=False)
    assert (check.level, check.found) == (HealthLevel.FAILED, "may not create: no")


@pytest.mark.parametrize("prefix", health_checks.PREFIXES)
def test_every_prefix_of_the_layout_has_its_needs(prefix: str) -> None:
    assert health_checks.rights(probe(prefix), user="ann", admin=False).level is HealthLevel.OK


def test_no_prefix_of_the_layout_is_forgotten() -> None:
    known = {v for n, v in vars(layout).items() if n.isupper() and n[0] != "_" and v.endswith("/")}
    assert set(health_checks.PREFIXES) == known


def test_a_file_that_may_not_be_read() -> None:
    assert health_checks.readable("config.toml", "").level is HealthLevel.OK
    assert health_checks.readable("config.toml", "403").level is HealthLevel.FAILED


def test_exclusive_create() -> None:
    assert health_checks.exclusive("s3://b", (), tried=True).level is HealthLevel.OK
    assert health_checks.exclusive("s3://b", (), tried=False).level is HealthLevel.OK
    assert "another store" in health_checks.exclusive("s3://b", ("two won",), tried=True).advice


@pytest.mark.parametrize(
    ("stored", "off", "level"),
    [
        (NOW, 0, HealthLevel.OK),
        (ago(-1), 0, HealthLevel.OK),
        (ago(1), 0, HealthLevel.OK),
        (ago(4), -3, HealthLevel.OK),
        (ago(61), -60, HealthLevel.WARNING),
        (ago(-32), 30, HealthLevel.WARNING),
        (ago(-2000), 1998, HealthLevel.FAILED),
    ],
)
def test_a_clock_is_compared_with_the_stores(stored: datetime, off: float, level: HealthLevel) -> None:
    moment = WriteTime(NOW, stored, ago(-2))
    assert offset(moment) == off
    assert health_checks.clock(moment).level is level


def test_a_clock_that_is_behind_is_told_so() -> None:
    assert health_checks.clock(WriteTime(NOW, ago(-100), NOW)).found == "this machine's is 1m40s behind the store's"
    assert health_checks.clock(WriteTime(NOW, ago(101), NOW)).found == "this machine's is 1m40s ahead of the store's"
    assert health_checks.clock(None).level is HealthLevel.OK


AHEAD, BEHIND = WriteTime(NOW, ago(101), NOW), WriteTime(NOW, ago(-100), NOW)
RIGHT = WriteTime(NOW, NOW, NOW)


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        (ClockFacts(ours=RIGHT, host="a"), ["within 5 s of the store's"]),
        (ClockFacts(ours=RIGHT, host="a", theirs=(NOW, ago(-20)), their_host="b"), ["within 5 s of the store's"]),
        (
            ClockFacts(ours=AHEAD, host="a", theirs=(NOW, NOW), their_host="b"),
            ["this machine's is 1m40s ahead of the store's"],
        ),
        (
            ClockFacts(ours=RIGHT, host="a", theirs=(NOW, ago(100)), their_host="b"),
            ["within 5 s of the store's", "the bastion's on b is 1m40s ahead of the store's"],
        ),
        (
            ClockFacts(ours=AHEAD, host="a", theirs=(NOW, ago(100)), their_host="b"),
            ["the store's is 1m40s behind this machine's and the bastion's on b, which agree"],
        ),
        (
            ClockFacts(ours=AHEAD, host="a", theirs=(NOW, ago(100)), their_host="a"),
            ["this machine's is 1m40s ahead of the store's"],
        ),
        (
            ClockFacts(ours=RIGHT, host="a", journalled=ago(-3 * 86_400)),
            ["within 5 s of the store's", "the journal's time is 3d ahead of the store's"],
        ),
        (
            ClockFacts(ours=BEHIND, host="a", folder_s=100.0),
            ["the folder dates 1m40s ahead of its file system: a clock was ahead when it was written"],
        ),
    ],
)
def test_the_clock_that_is_wrong_is_named_and_no_other(seen: ClockFacts, found: list[str]) -> None:
    assert [check.found for check in health_checks.clocks(seen, NOW)] == found


@pytest.mark.parametrize(
    ("status", "died", "level"),
    [
        (STATUS, False, HealthLevel.OK),
        (STATUS, True, HealthLevel.WARNING),
        (msgspec.structs.replace(STATUS, written=ago(840)), False, HealthLevel.WARNING),
        (msgspec.structs.replace(STATUS, state="stopped"), False, HealthLevel.WARNING),
        (None, False, HealthLevel.FAILED),
    ],
)
def test_the_age_of_the_bastion(status: Status | None, died: bool, level: HealthLevel) -> None:
    check = health_checks.age(status, now=NOW, died=died)
    assert check.level is level
    assert (check.advice == "") is (level is HealthLevel.OK)


def test_what_the_bastion_complains_of() -> None:
    sick = msgspec.structs.replace(STATUS, problems=["the runner is blind"])
    assert [check.found for check in health_checks.troubles(sick, now=NOW, died=False)] == ["the runner is blind"]
    assert list(health_checks.troubles(STATUS, now=NOW, died=False)) == []
    assert list(health_checks.troubles(None, now=NOW, died=False)) == []


@pytest.mark.parametrize(
    ("client", "workers", "level"),
    [
        ("1.0", ["1.0"], HealthLevel.OK),
        ("1.0", [], HealthLevel.OK),
        ("1.1", ["1.0"], HealthLevel.WARNING),
        ("1.0", [""], HealthLevel.WARNING),
    ],
)
def test_versions(client: str, workers: list[str], level: HealthLevel) -> None:
    assert health_checks.versions(client, STATUS, workers).level is level
    assert health_checks.versions("9.9", None, []).level is HealthLevel.OK


def test_files_that_make_no_sense() -> None:
    assert health_checks.file("quota", "", "makes sense").level is HealthLevel.OK
    check = health_checks.file("quota", "line 3: nonsense.", "the last good one")
    assert (check.level, check.advice) == (HealthLevel.FAILED, "correct it: bastion quota edit")


@pytest.mark.parametrize(
    ("beat", "level"), [(ago(10), HealthLevel.OK), (ago(90), HealthLevel.WARNING), (None, HealthLevel.WARNING)]
)
def test_a_worker_that_is_silent(beat: datetime | None, level: HealthLevel) -> None:
    silent, strays = health_checks.workers(state(), {(KEY, 0): beat} if beat else {}, NOW)
    assert silent.level is level
    assert strays.level is HealthLevel.OK
    assert ("live-1/0/0, worker 0" in silent.found) is (level is HealthLevel.WARNING)


def test_a_worker_that_should_not_be_at_work() -> None:
    beats = {(KEY, 0): NOW, (AttemptKey("over-1", 0, 0), 0): NOW, (AttemptKey("unknown-1", 0, 0), 3): NOW}
    _, strays = health_checks.workers(state(), beats, NOW)
    assert strays.level is HealthLevel.WARNING
    assert strays.found.startswith("over-1/0/0, worker 0, unknown-1/0/0, worker 3: still at work")


def test_a_worker_whose_job_has_just_ended_is_no_stray() -> None:
    now = ago(500)
    _, strays = health_checks.workers(state(), {(KEY, 0): now, (AttemptKey("over-1", 0, 0), 0): now}, now)
    assert strays.level is HealthLevel.OK


def test_claims_of_jobs_that_nobody_knows() -> None:
    keys = [AttemptKey(f"unknown-{n}", 0, 0) for n in range(5)]
    old = {(key, 0): ago(9999) for key in keys}
    check = health_checks.claims(state(), {**old, (KEY, 0): ago(9999)}, NOW)
    assert (check.level, "and 2 more" in check.found) == (HealthLevel.WARNING, True)
    assert health_checks.claims(state(), {(keys[0], 0): NOW, (KEY, 0): ago(9999)}, NOW).level is HealthLevel.OK


def test_what_is_damaged_is_named() -> None:
    check = health_checks.damaged("journal/", "object 7 is missing")
    assert (check.level, check.name, check.found) == (HealthLevel.FAILED, "journal", "object 7 is missing")


def test_a_check_says_what_to_do_unless_it_is_well() -> None:
    checks = [
        health_checks.rights(replace(probe(), refused={"list": "no"}), user="u", admin=False),
        health_checks.clock(None),
    ]
    assert [bool(check.advice) for check in checks] == [True, False]


@pytest.mark.parametrize(
    ("account", "jobs_as", "url", "level"),
    [
        ("root", "root", "gs://b", HealthLevel.WARNING),
        ("ada", "ada", "s3://b", HealthLevel.WARNING),
        ("root", "bastion-job", "gs://b", HealthLevel.OK),
        ("ada", "ada", "file:///b", HealthLevel.OK),
    ],
)
def test_jobs_of_others_as_the_bastions_own_account_are_warned_of(
    account: str, jobs_as: str, url: str, level: HealthLevel
) -> None:
    (check,) = health_checks.accounts(msgspec.structs.replace(STATUS, account=account, jobs_as=jobs_as), url)
    assert check.level is level
    assert check.found.startswith(f"{jobs_as}, ")
    assert bool(check.advice) is (level is HealthLevel.WARNING)
    assert list(health_checks.accounts(STATUS, url)) == list(health_checks.accounts(None, url)) == []
