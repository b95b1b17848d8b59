"""A job spec says all that is wrong with it in one message, and survives the way to JSON and back."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.model.codec import encode
from bastion.model.errors import NewerVersion, SpecError
from bastion.model.job.command_rules import IDENTITY
from bastion.model.job.spec import (
    COUNT_MAX,
    SPEC,
    SPEC_BYTES_MAX,
    BundleRef,
    JobSpec,
    Provenance,
    check,
    deserialize_jobspec,
    new_jobspec,
    serialize_jobspec,
)

SMALL: dict[str, Any] = {"name": "j", "user": "alice", "project": "p", "command": ["true"]}
HUGE = 10**400
GIT = {"type": "git", "repo": "https://host/x.git", "commit": "0123456789" * 4}

BROKEN: list[tuple[str, Any, str]] = [
    ("schema", 0, "use 1"),
    ("name", "", "use 1 to 63"),
    ("name", "a/b", "use 1 to 63"),
    ("name", "a..b", "use 1 to 63"),
    ("name", "a\n", "use 1 to 63"),
    ("name", "a" * 200, "use 1 to 63"),
    ("name", "-a", "use 1 to 63"),
    ("name", 7, "expected `str`"),
    ("user", "a/b", "use 1 to 64"),
    ("user", "..", "use 1 to 64"),
    ("project", "p q", "use 1 to 63"),
    ("command", [], "is empty"),
    ("command", "  ", "is empty"),
    ("command", ["a\0b"], "NUL"),
    ("command", ["x" * 200_000], "128 KiB"),
    ("command", [1], "expected `str`"),
    ("env", {"1A": "x"}, "not beginning with a digit"),
    ("env", {"BASTION_JOB": "x"}, "which the worker sets itself"),
    ("env", {"RANK": "0"}, "which the worker sets itself"),
    ("env", {"A": "\0"}, "NUL"),
    ("env", {"A": "x" * 40_000}, "32 KiB"),
    ("env", {f"A{i}": "" for i in range(1001)}, "at most 1000"),
    ("labels", {"": "x"}, "has '=x'; for names and values use 1 to 63 letters"),
    ("labels", {"team": "r l"}, "team=r l"),
    ("labels", {"a" * 64: ""}, "for names and values use"),
    ("labels", {"team": "rl\n"}, "for names and values use"),
    ("labels", {f"a{i}": "" for i in range(33)}, "at most 32"),
    ("labels", {"team": 1}, "expected `str`"),
    ("resources", {"v4": 0}, "whole number from 1"),
    ("resources", {"v4": -1}, "whole number from 1"),
    ("resources", {"v4": 1.5}, "expected `int`"),
    ("resources", {"v4": HUGE}, "a very large number"),
    ("resources", {"v 4": 1}, "names the kind"),
    ("resources", {f"k{i}": 1 for i in range(17)}, "at most 16"),
    ("instance_type", "tpu v4", "use letters"),
    ("instance_type", "t" * 100, "use letters"),
    ("replicas", 0, "use 1 to"),
    ("replicas", HUGE, "a very large number"),
    ("count", COUNT_MAX + 1, "use 1 to"),
    ("priority", "high", "expected `int`"),
    ("priority", 0, "1 is the highest"),
    ("priority", 6, "1 is the highest"),
    ("priority", True, "expected `int`"),
    ("max_tries", 0, "use 1 to"),
    ("retry_interval_s", -1, "seconds"),
    ("grace_s", float("nan"), "is nan"),
    ("grace_s", float("inf"), "is inf"),
    ("time_limit_s", 0, "seconds"),
    ("bundle", {"type": "tar"}, "name both"),
    ("bundle", {"type": "tar", "key": "k", "digest": "X"}, "SHA-256"),
    ("bundle", {"type": "none", "extra": 1}, "unknown field"),
    ("bundle", {**GIT, "commit": "main"}, "40 hexadecimal digits"),
    ("bundle", {**GIT, "repo": "https://ada:secret@host/x"}, "deploy key"),
    ("bundle", {**GIT, "repo": "ext::sh -c evil"}, "use https://"),
    ("bundle", {**GIT, "folder": "../.."}, "within the repository"),
    ("bundle", {**GIT, "folder": "a/.git/b"}, "within the repository"),
    ("bundle", {**GIT, "key": "k"}, "SHA-256"),
    ("setup", "  ", "is blank"),
    ("setup", "a\0b", "NUL"),
    ("setup", "x" * 40_000, "32 KiB"),
    ("output_dir", "relative", "a URL or an absolute path"),
    ("checkpoint_dir", "relative", "a URL or an absolute path"),
    ("provenance", {"host": "h" * 300}, "256"),
    ("surprise", 1, "is not a field"),
]


@pytest.mark.parametrize(("field", "value", "complaint"), BROKEN, ids=[f"{row[0]}{n}" for n, row in enumerate(BROKEN)])
def test_a_broken_rule_names_its_field(field: str, value: object, complaint: str) -> None:
    with pytest.raises(SpecError, match=field) as raised:
        new_jobspec(**{**SMALL, field: value})
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_all_complaints_come_in_one_message() -> None:
    with pytest.raises(SpecError) as raised:
        new_jobspec(name="a/b", user="alice", command="", priority=9, wrong=1)
    text = str(raised.value)
    for field in ("name", "project is missing", "command", "priority", "'wrong'"):
        assert field in text


@pytest.mark.parametrize(
    ("field", "value"),
    [("command", ["\udc80"]), ("env", {"A": "\udc80"}), ("output_dir", "/\udc80"), ("provenance", {"host": "\udc80"})],
)
def test_what_no_json_can_carry_is_a_complaint_about_its_field(field: str, value: object) -> None:
    with pytest.raises(SpecError, match=f"{field} holds text that is not UTF-8"):
        new_jobspec(**{**SMALL, field: value})


@pytest.mark.parametrize("name", sorted(IDENTITY))
def test_nobody_sets_who_the_process_is(name: str) -> None:
    with pytest.raises(SpecError, match=name):
        new_jobspec(**SMALL, env={name: "x"})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("null", "not a JSON object"),
        (b"\xff", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"replicas": ' + "9" * 5000 + "}", "not JSON"),
        ('{"replicas": ' + "9" * 400 + "}", "a very large number"),
        ("x" * (SPEC_BYTES_MAX + 1), "at most"),
    ],
)
def test_text_that_is_no_spec_is_refused(text: str | bytes, complaint: str) -> None:
    with pytest.raises(SpecError, match=complaint):
        deserialize_jobspec(text)


def test_a_newer_spec_asks_for_an_upgrade_whatever_else_it_holds() -> None:
    with pytest.raises(NewerVersion, match="upgrade"):
        deserialize_jobspec(f'{{"schema": {SPEC + 1}, "unheard": "of"}}')


def test_a_spec_that_says_a_later_schema_is_refused_though_all_of_it_is_known() -> None:
    with pytest.raises(NewerVersion, match="upgrade"):
        deserialize_jobspec(json.dumps({**SMALL, "schema": SPEC + 1}))


def test_a_spec_is_of_the_schema_of_the_latest_field_that_it_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bastion.model.job.spec.SINCE", {"setup": 2})
    assert new_jobspec(**SMALL, schema=2).schema == 1
    assert new_jobspec(**SMALL, setup="make").schema == 2
    assert deserialize_jobspec(json.dumps({**SMALL, "setup": "make"})).schema == 2


def test_a_spec_that_grows_over_the_limit_is_refused() -> None:
    env = {f"A{i}": "x" * 30_000 for i in range(8)}
    with pytest.raises(SpecError, match="put data into files"):
        new_jobspec(**SMALL, env=env)


def test_demand_counts_all_replicas() -> None:
    assert new_jobspec(**SMALL, resources={"v4": 8, "cpu": 1}, replicas=3).demand == {"v4": 24, "cpu": 3}


def test_check_finds_what_a_lying_client_built_without_the_rules() -> None:
    assert check(JobSpec(**SMALL)) == []
    [complaint] = check(JobSpec(**{**SMALL, "priority": 7}))
    assert complaint.startswith("priority is 7")


_names = st.from_regex(r"[a-z0-9]{1,20}", fullmatch=True)
_texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
_specs = st.builds(
    new_jobspec,
    name=_names,
    user=_names,
    project=_names,
    command=st.lists(_texts, max_size=4).map(lambda rest: ["run", *rest]) | _texts.map(lambda text: f"run {text}"),
    env=st.dictionaries(st.from_regex(r"E[A-Z0-9_]{0,8}", fullmatch=True), _texts, max_size=4),
    resources=st.dictionaries(_names, st.integers(1, 1_000_000), max_size=4),
    replicas=st.integers(1, 10_000),
    count=st.integers(1, COUNT_MAX),
    priority=st.integers(1, 5),
    max_tries=st.integers(1, 1_000),
    retry_interval_s=st.floats(0, 1e7),
    grace_s=st.floats(0, 86_400),
    time_limit_s=st.none() | st.floats(1, 1e7),
    bundle=st.sampled_from([BundleRef(), BundleRef(type="tar", key="bundles/x", digest="0" * 64), BundleRef(**GIT)]),
    output_dir=st.sampled_from(["", "gs://b/x", "/x"]),
    provenance=st.builds(Provenance, submitted=st.none() | st.just(datetime(2026, 1, 1, tzinfo=UTC))),
)


@given(_specs)
def test_the_way_to_json_and_back_changes_nothing(spec: JobSpec) -> None:
    assert deserialize_jobspec(serialize_jobspec(spec)) == spec
    assert encode(deserialize_jobspec(encode(spec))) == encode(spec)
