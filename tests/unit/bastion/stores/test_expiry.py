"""What may leave a bucket because it is old, and the rules by which clouds do it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from bastion.model.errors import UsageError
from bastion.model.interfaces import Stat
from bastion.model.settings.config import Config
from bastion.model.state.state import Job, State
from bastion.stores.expiry import RetentionDays, is_old, old_bundles, old_logs, old_outputs, term
from bastion.stores.lifecycle_rules import LifecycleRule, for_google, for_s3, to_google, to_s3, wanted

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def stat(key: str, days: float, size: int = 10) -> Stat:
    return Stat(key, "1", size, NOW - timedelta(days=days))


def job(name: str, *, ended: bool) -> Job:
    at = NOW - timedelta(days=90)
    return Job(
        id=name, name=name, user="ann", project="nlp", priority=5, resources={}, replicas=1, count=1, max_tries=1,
        retry_interval_s=1.0, grace_s=1.0, seq=0, index=0, request="ann/r", submitted=at, since=at, ended=at if ended else None,
    )  # fmt: skip


def state() -> State:
    jobs = {each.id: each for each in (job("over-1", ended=True), job("live-1", ended=False))}
    return State(epoch=7, jobs=jobs)


@pytest.mark.parametrize(("days", "age", "old"), [(30, 31, True), (30, 29, False), (0, 9999, False), (1, 1, False)])
def test_what_is_kept_for_ever_is_never_old(days: int, age: float, old: bool) -> None:
    assert is_old(stat("x", age), days, NOW) is old
    assert bool(old_bundles([stat("x", age)], days, NOW)) is old


def test_logs_of_jobs_that_live_stay_and_the_others_go() -> None:
    listed = [
        stat("bastion-log/000006/00000000.log", 90),
        stat("bastion-log/000007/00000000.log", 90),
        stat("logs/forgotten-1/0/0/0/00000000.log", 90),
        stat("logs/live-1/0/0/0/00000000.log", 90),
        stat("logs/over-1/0/0/0/00000000.log", 90),
        stat("logs/over-1/0/0/0/00000001.log", 60),
    ]
    assert [each.key for each in old_logs(listed, 30, NOW, state())] == [
        "bastion-log/000006/00000000.log",
        "logs/forgotten-1/0/0/0/00000000.log",
        "logs/over-1/0/0/0/00000000.log",
        "logs/over-1/0/0/0/00000001.log",
    ]
    assert list(old_logs(listed, 0, NOW, state())) == []


def test_output_folders_go_as_a_whole_unless_a_job_works_there() -> None:
    listed = [
        stat("outputs/forgotten-1/0/a", 90),
        stat("outputs/gone-on-1/0/checkpoints/step-1", 90),
        stat("outputs/live-1/0/a", 90),
        stat("outputs/over-1/0/a", 90),
        stat("outputs/over-1/0/deep/b", 90),
        stat("outputs/over-1/1/a", 90),
        stat("outputs/over-1/1/b", 3),
        stat("outputs/over-2/0/a", 90),
    ]
    in_use = {"outputs/gone-on-1/0/checkpoints/", "outputs/over-2/"}
    assert [each.key for each in old_outputs(listed, 30, NOW, state(), in_use)] == [
        "outputs/forgotten-1/0/a",
        "outputs/over-1/0/a",
        "outputs/over-1/0/deep/b",
    ]
    assert list(old_outputs(listed, 0, NOW, state(), in_use)) == []


def test_a_log_goes_as_a_whole_or_not_at_all() -> None:
    listed = [stat("logs/over-1/0/0/0/00000000.log", 90), stat("logs/over-1/0/0/0/00000001.log", 3)]
    assert list(old_logs(listed, 30, NOW, state())) == []


@pytest.mark.parametrize(
    ("retention", "said", "want"),
    [
        ({}, {}, RetentionDays(bundles_days=30, logs_days=0)),
        ({"bundles_days": 10, "logs_days": 99}, {}, RetentionDays(bundles_days=10, logs_days=99)),
        ({}, {"bundles_days": 15, "logs_days": 5}, RetentionDays(bundles_days=15, logs_days=5)),
        ({"bundles_days": 0}, {}, RetentionDays(bundles_days=0, logs_days=0)),
        ({}, {"bundles_days": 0}, RetentionDays(bundles_days=0, logs_days=0)),
    ],
)
def test_days_are_those_of_the_settings_unless_said(
    retention: Mapping[str, int], said: Mapping[str, int], want: RetentionDays
) -> None:
    assert term(Config(retention=dict(retention)), **said) == want


@pytest.mark.parametrize(
    ("retention", "days", "complaint"),
    [
        ({}, 14, "kept for 30 days; first run: bastion config set retention.bundles_days=14"),
        ({"bundles_days": 0}, 400, "kept for ever; first run"),
        ({}, -1, "use a whole number of days"),
        ({}, 40_000, "use a whole number of days"),
    ],
)
def test_a_bundle_that_launches_count_on_is_not_removed_by_a_flag(
    retention: dict[str, int], days: int, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        term(Config(retention=retention), bundles_days=days)


def test_a_days_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="--logs_days is -5"):
        term(Config(), logs_days=-5)


TERM = RetentionDays(bundles_days=30, logs_days=0)
RULES = [rule for _, rule in wanted(TERM, lambda prefix: f"some/team/{prefix}")]


def test_only_bundles_and_logs_have_rules() -> None:
    assert [
        LifecycleRule("some/team/bundles/", 30),
        LifecycleRule("some/team/logs/", 0),
        LifecycleRule("some/team/bastion-log/", 0),
    ] == RULES


def test_googles_words() -> None:
    condition = {"age": 30, "matchesPrefix": ["some/team/bundles/"]}
    assert for_google(to_google(RULES)) == {"rule": [{"action": {"type": "Delete"}, "condition": condition}]}


def test_the_words_of_s3() -> None:
    (rule,) = for_s3(to_s3(RULES))["Rules"]
    assert rule == {
        "ID": "bastion: some/team/bundles/",
        "Status": "Enabled",
        "Filter": {"Prefix": "some/team/bundles/"},
        "Expiration": {"Days": 30},
    }


@pytest.mark.parametrize("words", [to_google, to_s3])
def test_others_rules_stay_and_ours_are_there_once(words: type) -> None:
    others = {
        to_google: {"action": {"type": "SetStorageClass"}, "condition": {"age": 3, "matchesPrefix": ["x/"]}},
        to_s3: {"ID": "mine", "Status": "Enabled", "Filter": {"Prefix": "x/"}, "Expiration": {"Days": 3}},
    }[words]
    once = words(RULES, [others])
    assert once[0] == others
    assert len(once) == 2
    assert words(RULES, once) == once
    none = [
        rule for _, rule in wanted(RetentionDays(bundles_days=0, logs_days=0), lambda prefix: f"some/team/{prefix}")
    ]
    assert words(none, once) == [others]
