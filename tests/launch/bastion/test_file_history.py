"""Who changed an admin's file, when and how: from the journal of a real bastion that is moved by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from bastion.cli.bastion.parts.admin_file_history import changes
from bastion.cli.bastion.parts.quota_edit import QUOTA_FILE
from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal.main import run
from bastion.model import layout
from bastion.model.layout import CONFIG, QUOTA
from bastion.model.stored.journal_object import Gaps
from bastion.stores.counting import CountingBucket
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.bench import QUOTA as GOOD
from tests.support.bench import Said
from tests.support.town import Town

LOOK_S = 11.0
"""So long that the bastion looks for new files."""


@dataclass
class Office:
    """A bastion on a folder, and admins with their files."""

    folder: Path
    town: Town

    def bastion(self, *words: str, user: str = "alice") -> Said:
        """`bastion` with these words."""
        out, err = StringIO(), StringIO()
        place = {"BASTION_NAME": "team", "BASTION_BUCKET": f"file://{self.folder}/bucket"}
        environ = {**place, "XDG_CONFIG_HOME": str(self.folder), "BASTION_USER": user}
        code = run(TOOL, words, environ=environ, out=out, err=err)
        return Said(code, out.getvalue(), err.getvalue())

    def sets(self, text: str, user: str) -> None:
        """Somebody puts a quota in force, and the bastion reads it."""
        file = self.folder / "quota.toml"
        file.write_text(text)
        assert self.bastion("quota", "set", str(file), "--yes", user=user).code == 0
        self.looks()

    def looks(self) -> None:
        """The bastion looks for new files."""
        self.town.ticks(4, every=LOOK_S)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    part = PrefixedBucket(LocalBucket(f"file://{tmp_path}/bucket", create=True), "team")
    part.write(CONFIG, b"poll = 1.0\n")
    return Office(tmp_path, Town(bucket=part))


def test_every_change_is_told_with_its_author_its_time_and_what_it_was(office: Office) -> None:
    office.sets(GOOD, "alice")
    office.sets(GOOD.replace("v4 = 8", "v4 = 4"), "bob")
    office.sets(f"# smaller, for winter\n{GOOD.replace('v4 = 8', 'v4 = 4')}", "bob")
    first, second, third = office.bastion("quota", "history", "--json").json["changes"]
    assert [each["who"] for each in (first, second, third)] == ["alice", "bob", "bob"]
    assert first["changes"][0] == "total v4: 0 -> 8"
    assert second["changes"] == ["total v4: 8 -> 4", *second["changes"][1:]]
    assert third["changes"] == ["words and comments only"]
    assert "+# smaller, for winter" in third["diff"]
    assert first["time"] < second["time"] < third["time"]
    lines = office.bastion("quota", "history", "--limit=2").out.splitlines()
    assert [line.split()[1] for line in lines] == ["WHO", "bob", "bob"]
    pages = office.bastion("quota", "history", "--diff", "-n1").out.splitlines()
    assert pages == [f"{third['time']}  bob", "  words and comments only", "", *pages[3:]]
    assert "    +# smaller, for winter" in pages


def test_settings_have_a_history_too(office: Office) -> None:
    office.looks()
    assert office.bastion("config", "set", "poll=0.5", "--yes", user="bob").code == 0
    office.looks()
    found = office.bastion("config", "history", "--json").json
    assert found["file"] == "config"
    assert [(each["who"], each["changes"]) for each in found["changes"]] == [
        (None, ["words and comments only"]),
        ("bob", ["poll: 1.0 -> 0.5"]),
    ]


def test_what_the_bastion_has_not_read_or_cannot_use_is_told(office: Office) -> None:
    office.sets(GOOD, "alice")
    office.town.bucket.inner.write(QUOTA, b"what is this")
    office.looks()
    file = office.folder / "quota.toml"
    file.write_text(GOOD.replace("v4 = 8", "v4 = 2"))
    assert office.bastion("quota", "set", str(file), "--yes", user="bob").code == 0
    broken, waiting = office.bastion("quota", "history", "--json").json["changes"][1:]
    assert (broken["who"], broken["changes"][0][:28]) == (None, "not put in force: line 1: no")
    assert (waiting["who"], waiting["seq"]) == ("bob", None)
    assert waiting["changes"][0] == "total v4: 8 -> 2"
    assert waiting["changes"][-1] == "not read by the bastion yet"


def test_a_change_by_other_means_names_nobody(office: Office) -> None:
    office.sets(GOOD, "alice")
    data = office.town.bucket.inner.read(QUOTA).data
    office.town.bucket.inner.write(QUOTA, data.replace(b"v4 = 8", b"v4 = 6"))
    office.looks()
    assert office.bastion("quota", "history", "--json").json["changes"][-1]["who"] is None


def test_a_journal_object_that_cannot_be_read_is_a_named_hole(office: Office) -> None:
    """The state comes from a snapshot, as it does in a journal that is long."""
    office.sets(GOOD, "alice")
    office.sets(GOOD.replace("v4 = 8", "v4 = 4"), "bob")
    office.town.doors().snapshot()
    first, second = (each["seq"] for each in office.bastion("quota", "history", "--json").json["changes"])
    office.town.bucket.inner.write(layout.journal(first), b'{"schema": 1, "seq"')
    told = office.bastion("quota", "history", "--json").json
    assert [(change["who"], change["seq"]) for change in told["changes"]] == [("bob", second)]
    assert [(hole["first"], hole["last"]) for hole in told["holes"]] == [(first, first)]
    office.town.bucket.inner.delete([layout.journal(first)])
    assert f"journal object {first} is missing" in office.bastion("quota", "history").out


def test_what_was_never_changed_says_so(office: Office) -> None:
    assert office.bastion("quota", "history").out == "the quota of bastion team was never changed\n"
    assert json.loads(office.bastion("quota", "history", "--json").out)["changes"] == []


def test_a_change_costs_one_read_however_long_the_journal_is(office: Office) -> None:
    office.sets(GOOD, "alice")
    for number in range(30):
        office.town.submits(name=f"j{number}", user="alice", project="nlp", resources={"v4": 1})
        office.town.ticks(1)
    office.sets(GOOD.replace("v4 = 8", "v4 = 4"), "bob")
    office.town.doors().snapshot()
    assert office.town.bastion.journal.state.seq > 30
    counting = CountingBucket(office.town.bucket.inner)
    assert [change.who for change in changes(counting, QUOTA_FILE, Gaps())] == ["alice", "bob"]
    assert counting.counts == {"read": 4, "list": 2}, "the file, the snapshot, and two of the journal"
