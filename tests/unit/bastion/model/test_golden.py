"""What any version wrote is read for ever, and means what it meant; who writes otherwise says so by the number."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from bastion.journal import recover
from bastion.model.codec import encode
from bastion.model.stored import events
from bastion.model.stored.requests import Request
from bastion.model.version import VERSION
from bastion.runners.local.render import LocalMachineName, parse
from tests.golden.forms import Form, Forms, forms, unannounced
from tests.golden.meaning import FORMS, MEANING, found, fresh, lost, meaning, recordings
from tests.golden.story import MACHINE, REQUESTS, tell

AGAIN = "; if that is meant, and released versions read it as they should: python -m tests.golden"


def stored(folder: Path) -> Forms:
    return msgspec.convert(json.loads((folder / FORMS).read_text()), Forms)


@pytest.mark.parametrize("folder", recordings(), ids=lambda folder: folder.name)
def test_what_a_version_wrote_means_what_it_meant(folder: Path) -> None:
    before = json.loads((folder / MEANING).read_text())
    assert lost(before, meaning(found(folder))) == []


@pytest.mark.parametrize("folder", recordings(), ids=lambda folder: folder.name)
def test_the_journal_alone_tells_the_same_as_with_its_snapshot(folder: Path) -> None:
    with_it, without = (recover.load(found(folder, snapshots=there)) for there in (True, False))
    before = json.loads((folder / MEANING).read_text())["state"]
    assert lost(before, json.loads(encode(without))) == lost(before, json.loads(encode(with_it))) == []


def test_this_version_is_recorded_as_it_writes() -> None:
    newest = recordings()[-1]
    assert newest.name == VERSION, f"version {VERSION} is not recorded: python -m tests.golden"
    assert stored(newest) == forms(), f"the form has changed{AGAIN}"
    bucket = fresh()
    tell(bucket)
    kept = found(newest)
    assert meaning(bucket) == meaning(kept), f"what is written has changed{AGAIN}"
    journals = [stat.key for stat in bucket.list("journal/")]
    assert [bucket.read(key).data for key in journals] == [kept.read(key).data for key in journals], AGAIN


def test_versions_that_write_a_kind_differently_have_different_numbers_for_it() -> None:
    told = [stored(folder) for folder in recordings()]
    for old, new in pairwise(told):
        assert unannounced(old, new) == [], "raise the number in bastion/model/version.py"


def test_everything_that_can_happen_is_recorded() -> None:
    bucket = found(recordings()[-1])
    journal = list(recover.objects(bucket, 0))
    assert {type(event) for record in journal for event in record.events} == set(get_args(events.AnyEvent))
    assert {type(request) for request in REQUESTS.values()} == set(get_args(Request))
    assert {record.version for record in journal} == {VERSION}


def test_the_name_of_a_machine_is_read_by_whoever_lists_it() -> None:
    claim = json.loads((recordings()[0] / MEANING).read_text())["claims/gang-22222222/0/0/1"]
    name = parse(claim["machine"])
    assert isinstance(name, LocalMachineName)
    assert (name.scope, str(name.key), name.worker, name.epoch) == ("demo|1", "gang-22222222/0/0", 1, 1)
    assert claim["machine"] == MACHINE


# The comparison itself


def changed(table: str, *, spare: bool | None = None, drop: str = "", **fields: Any) -> list[str]:
    """What is said when one table of today's has these fields, too."""
    now = forms()
    form = now.tables[table]
    kept = {name: text for name, text in form.fields.items() if name != drop}
    other = Form(fields={**kept, **fields}, spare=form.spare if spare is None else spare)
    return unannounced(now, Forms(now.numbers, now.kinds, {**now.tables, table: other}))


def test_a_field_that_is_left_out_where_it_says_nothing_may_come() -> None:
    assert changed("JobSpec", colour="str = ''") == []
    assert changed("Started", colour="str = ''") == []


@pytest.mark.parametrize(
    ("table", "how", "kinds"),
    [
        ("StopOrder", {"colour": "str = ''"}, ["STOP"]),
        ("JobSpec", {"priority": "int = 4"}, ["JOURNAL", "REQUEST", "SPEC"]),
        ("Exited", {"drop": "step"}, ["JOURNAL"]),
        ("Job", {"spare": False}, ["SNAPSHOT", "TRACE"]),
        ("JobState", {"PENDING": "WAITING"}, ["JOURNAL", "SNAPSHOT", "TRACE"]),
    ],
)
def test_what_older_versions_would_misread_needs_another_number(table: str, how: Any, kinds: list[str]) -> None:
    told = changed(table, **how)
    assert sorted({line.partition(":")[0] for line in told}) == kinds
    raised = {kind: number + (kind in kinds) for kind, number in forms().numbers.items()}
    now = forms()
    form = now.tables[table]
    dropped = {name: text for name, text in form.fields.items() if name != how.get("drop")}
    more = {name: text for name, text in how.items() if name not in ("drop", "spare")}
    other = Form(fields={**dropped, **more}, spare=how.get("spare", form.spare))
    assert unannounced(now, Forms(raised, now.kinds, {**now.tables, table: other})) == []


def test_what_means_something_else_now_is_found() -> None:
    before = {"state": {"jobs": {"a": {"priority": 5, "tasks": [1, 2]}}}}
    assert lost(before, {"state": {"jobs": {"a": {"priority": 5, "tasks": [1, 2], "new": 0}}, "more": {}}}) == []
    assert lost(before, {"state": {"jobs": {"a": {"priority": 4, "tasks": [1]}}}}) == [
        "/state/jobs/a/priority was 5, and is 4",
        "/state/jobs/a/tasks was [1, 2], and is [1]",
    ]
    assert lost(before, {"state": {"jobs": {}}}) == ["/state/jobs/a was {'priority': 5, 'tasks': [1, 2]}, and is None"]
