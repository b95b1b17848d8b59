"""Garbage at every kind of key, under a bastion at work: it ticks on, others' jobs end, and it says what it found."""

from __future__ import annotations

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.settings.config import Config, render
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.records import Claim
from tests.support.clients import Asked
from tests.support.town import Town

GARBAGE = (
    b"", b"\0", b"\xff\xfe", b"null", b"[]", b"{}", b"[" * 5_000, b'{"a":' * 5_000, b"9" * 5_000,
    b'"\\ud800"', b"{" + b" " * 70_000,
    b'{"schema": 99}', b'{"kind":"submit","spec":{"name":"\\n\\u001b[2J"}}', encode(Claim(machine="", nonce="n")),
    b'{"phase":"ended","machine":"m","cause":"ok","exit_code":99999999999999999999}', b'{"machine":"m","nonce":"n","port":1e9}',
    b'{"phase":"running","machine":"m","checkpoint_at":"2026-01-31T12:00:00"}',
    b'{"phase":"running","machine":"m","checkpoint_at":"0001-01-01T00:00:00+23:59"}',
)  # fmt: skip
NAMES = (
    "x",
    "x.json",
    "..json",
    "-1",
    "99999999999999999999",
    "a b",
    "\u202ex",
    "é",
    "x" * 200,
    "a/b/c/d/e/f",
    "%2F",
    "!x",
)
OTHERS = (
    layout.INBOX, f"{layout.INBOX}eve/", f"{layout.INBOX}e ve/", layout.JOURNAL, layout.SNAPSHOTS, layout.ENDED, layout.ATTEMPTS,
    layout.CLAIMS, layout.BEATS, layout.FACTS, layout.LOGS, layout.BUNDLES, layout.BASTION_LOG, layout.WATCH, layout.OUTPUTS,
)  # fmt: skip


def thrown(town: Town, prefix: str) -> int:
    """Every garbage below every odd name of a prefix. How many objects that is."""
    number = 0
    for name in NAMES:
        for data in GARBAGE:
            number += bool(town.bucket.inner.create(f"{prefix}{number}{name}", data))
    return number


@pytest.mark.parametrize("prefix", OTHERS)
def test_below_any_prefix_it_harms_nobody(prefix: str) -> None:
    town = Town(("config.toml", render(Config(admins=["root"]))))
    before = town.submits(name="before")
    town.ticks(3)
    key = town.runs(before)
    assert thrown(town, prefix) == len(NAMES) * len(GARBAGE)
    town.ticks(3)
    after = town.submits(name="after", user="bob")
    town.ticks(30)
    town.ends(key, Cause.OK, 0)
    town.ends(town.runs(after), Cause.OK, 0)
    assert [town.job(job).state for job in (before, after)] == [JobState.SUCCEEDED] * 2
    town.begin()
    assert [town.job(job).state for job in (before, after)] == [JobState.SUCCEEDED] * 2
    assert town.status().problems == []
    if prefix.startswith(layout.INBOX):
        rejected = [event for event in town.journal() if type(event).__name__ == "RequestRejected"]
        assert town.inbox() == []
        assert len(rejected) > len(NAMES)
        assert all("\n" not in event.reason and 0 < len(event.reason) < 2_100 for event in rejected)  # type: ignore[union-attr]


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_as_the_claim_of_one_attempt_it_is_said_and_the_others_go_on(data: bytes) -> None:
    town = Town()
    bad, good = town.submits(name="bad"), town.submits(name="good", user="bob")
    town.ticks(3)
    at = AttemptKey(bad, 0, 0)
    town.runner.has("m", at, 0, town.bastion.journal.epoch)
    town.bucket.inner.create(layout.claim(at, 0), data)
    town.ends(town.runs(good), Cause.OK, 0)
    assert town.job(good).state is JobState.SUCCEEDED
    assert town.job(bad).state is JobState.PROVISIONING
    (said,) = [problem for problem in town.status().problems if "claim" in problem]
    assert f"{layout.claim(at, 0)}" in said
    town.cancels(bad)
    town.ticks(5)
    assert town.job(bad).state is not JobState.RUNNING


@pytest.mark.parametrize("data", GARBAGE, ids=range(len(GARBAGE)))
def test_as_the_facts_of_one_worker_it_is_as_if_nothing_were_said(data: bytes) -> None:
    town = Town()
    job, other = town.submits(name="a"), town.submits(name="b", user="bob")
    town.ticks(3)
    key, theirs = town.runs(job), town.runs(other)
    town.bucket.inner.write(layout.facts(key, 0), data)
    town.bucket.inner.write(layout.beat(key, 0), data)
    town.ends(theirs, Cause.OK, 0)
    assert [town.job(name).state for name in (job, other)] == [JobState.RUNNING, JobState.SUCCEEDED]
    assert town.status().problems == []
    town.ends(key, Cause.OK, 0)
    assert town.job(job).state is JobState.SUCCEEDED


FILES = [
    (file, data) for file in (layout.CONFIG, layout.QUOTA) for data in GARBAGE if (file, data) != (layout.CONFIG, b"")
]
"""Settings that say nothing are the defaults."""


@pytest.mark.parametrize(("file", "data"), FILES, ids=range(len(FILES)))
def test_as_an_admins_file_the_last_good_one_stays_and_it_is_said(file: str, data: bytes) -> None:
    good = {
        layout.CONFIG: render(Config(admins=["root"])),
        layout.QUOTA: '[toml-schema]\nversion = "1"\n[total_resources]\ncpu = 4\n',
    }
    town = Town(*good.items())
    town.bucket.inner.write(file, data)
    town.ticks(30)
    assert [problem for problem in town.status().problems if "the last good one stays in force" in problem]
    assert all("\n" not in problem for problem in town.status().problems)


NO_SIGNS = [data for data in GARBAGE if b"99}" not in data]
"""Before a newer bastion's sign of life an older one gives way."""


@pytest.mark.parametrize("data", NO_SIGNS, ids=range(len(NO_SIGNS)))
def test_as_the_sign_of_life_the_bastion_writes_its_own_over_it(data: bytes) -> None:
    town = Town()
    town.bucket.inner.write(layout.STATUS, data)
    town.ticks(30)
    assert town.status().state == "running"


def test_what_was_found_is_told_by_status_and_by_the_doctor() -> None:
    town = Asked()
    job = town.submits()
    town.ticks(3)
    at = AttemptKey(job, 0, 0)
    town.runner.has("m", at, 0, town.bastion.journal.epoch)
    town.bucket.inner.create(layout.claim(at, 0), b"\x1b[2J garbage")
    town.ticks(20)
    status = town.run("bastion", "status")
    doctor = town.run("bastion", "doctor", "--user_id=root")
    for said in (status, doctor):
        assert f"{layout.claim(at, 0)} cannot be read" in said.out
        assert "\x1b" not in said.out
    assert doctor.code == 1
