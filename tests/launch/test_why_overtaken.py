"""`launch why` says how far a job is from its right, for whom its project keeps room, and whom no order can help."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CapacityChanged, Decided, FileChanged, Held
from bastion.quota.demand import RULES
from tests.support.bench import QUOTA, Bench
from tests.support.world import NOON, World

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOUR = 3_600.0
ALL = QUOTA.replace("nlp]\nv4 = 0.5", "nlp]\nv4 = 1.0").replace("vision]\nv4 = 0.5", "vision]\nv4 = 0.0")
"""The project nlp has all 8 units."""


class Stream:
    """Eight jobs of one unit, and eight more behind `big`, which wants 4 units: they start as soon as the first ones end."""

    def __init__(self, bench: Bench, *, waits_h: float, rules: int = RULES) -> None:
        self.there = World(bench.bucket, reported=False)
        self._begun = (datetime.now(UTC) - NOON).total_seconds() - waits_h * HOUR
        self.at(-1)
        self.there.happens(
            CapacityChanged(runner="local", resources={"v4": 8}), FileChanged(file="quota", version="1", text=ALL)
        )
        self.there.happens(Decided(rules=rules))
        first = [self.small(f"first{n}") for n in range(8)]
        keys = [self.there.runs(job) for job in first]
        self.at(0)
        self.big = self.there.submitted("b" * 32, name="big", project="nlp", resources={"v4": 4})
        self.later = [self.small(f"later{n}") for n in range(8)]
        self.at(1)
        for key in keys:
            self.there.ends(key, Cause.OK, JobState.SUCCEEDED)
        self.keys = [self.there.runs(job) for job in self.later]

    def at(self, hours: float) -> None:
        """Go to the moment so many hours after `big` was submitted."""
        self.there.clock.now = self._begun + hours * HOUR

    def small(self, name: str) -> str:
        """Somebody submits a job of one unit."""
        return self.there.submitted(name, name=name, project="nlp", resources={"v4": 1})

    def ends(self, number: int) -> None:
        """One of the later jobs ends."""
        self.there.ends(self.keys[number], Cause.OK, JobState.SUCCEEDED)


def page(bench: Bench, job: str) -> list[str]:
    said = bench.launch("why", job)
    assert said.code == 0, said
    return [
        re.sub(r"since about (\d{4}-\d\d-\d\d )?\d\d:\d\d UTC", "since about T", " ".join(line.split()))
        for line in said.out.splitlines()
    ]


def waiting(bench: Bench, job: str) -> Any:
    return bench.launch("why", job, "--json").json["waiting"]


def kept(bench: Bench) -> Stream:
    """Room is kept for `big`: all that started in 8.2 h was behind it. One unit is free, and three more jobs wait behind it."""
    stream = Stream(bench, waits_h=8.2)
    stream.at(7)
    for number in range(3):
        stream.small(f"next{number}")
    stream.at(8.2)
    stream.ends(0)
    return stream


def test_a_job_is_told_how_far_it_is_from_its_right(bench: Bench) -> None:
    Stream(bench, waits_h=4.2)

    lines = page(bench, "big")

    part = "jobs of nlp behind it got 100 % of what nlp started since it waits"
    assert f"overtaken for 4.2 of 6.0 h: {part}; beyond that, nlp keeps room for it" in lines
    assert not any(line.startswith(("reserved", "share")) for line in lines)
    found = waiting(bench, "big")
    assert found["overtaken"]["overtaken_s"] == pytest.approx(4.2 * HOUR, abs=60)
    assert found["overtaken"]["limit_s"] == 6 * HOUR
    assert found["overtaken"]["part"] == pytest.approx(1.0, abs=0.01)
    assert found["reservation"] is None


def test_a_job_that_nobody_overtook_is_told_nothing(bench: Bench) -> None:
    stream = Stream(bench, waits_h=4.2)
    stream.at(4.2)
    last = stream.small("last")

    assert not any(line.startswith(("overtaken", "reserved")) for line in page(bench, last))
    assert waiting(bench, last)["overtaken"] is None


def test_whoever_is_overtaken_for_too_long_is_told_that_room_is_kept(bench: Bench) -> None:
    kept(bench)

    lines = page(bench, "big")

    assert lines[0].endswith("; nlp keeps room for it, overtaken for 8.2 of 6.0 h")
    assert "overtaken for 8.2 of 6.0 h: jobs of nlp behind it got 100 % of what nlp started since it waits" in lines
    [told] = [line for line in lines if line.startswith("reserved")]
    assert re.fullmatch(
        "reserved nlp keeps room for it since about T, 2h12m ago: 1 of its 4 v4 free, and 3 jobs of nlp must wait until it "
        "has started",
        re.sub(r"(\dh\d+m)\d+s", r"\1", told),
    )


def test_the_jobs_behind_it_are_told_for_whom_room_is_kept(bench: Bench) -> None:
    kept(bench)

    lines = page(bench, "next1")

    assert lines[0].endswith("; nlp keeps room for alice/big-bbbbbbbb (4 v4), overtaken for 8.2 of 6.0 h")
    [told] = [line for line in lines if line.startswith("reserved")]
    assert told.startswith(
        "reserved nlp keeps room for alice/big-bbbbbbbb, overtaken for 8.2 of 6.0 h, since about T, 2h12m"
    )
    assert told.endswith("1 of its 4 v4 free, and 3 jobs of nlp must wait until it has started, this one too")
    found = waiting(bench, "next1")["reservation"]
    assert {**found, "since": None, "overtaken": None} == {
        "job": "big-bbbbbbbb", "user": "alice", "kind": "v4", "asked": 4, "free": 1, "since": None, "overtaken": None,
        "behind": 3, "is_own": False, "holds_back": True,
    }  # fmt: skip


def test_a_job_of_better_priority_is_told_that_it_may_start(bench: Bench) -> None:
    stream = kept(bench)
    stream.there.submitted(name="better", project="nlp", resources={"v4": 2}, priority=1)

    [told] = [line for line in page(bench, "better") if line.startswith("reserved")]

    assert told.endswith("and 3 jobs of nlp must wait until it has started, but not this one")


def test_a_held_job_has_no_right_and_no_room_is_kept_for_it(bench: Bench) -> None:
    stream = kept(bench)
    stream.there.happens(Held(request="h", user="alice", job=stream.big))

    for job in ("big", "next1"):
        assert not any(line.startswith(("overtaken", "reserved")) for line in page(bench, job))
    assert waiting(bench, "big")["reservation"] is None


def test_by_older_rules_nobody_is_overtaken(bench: Bench) -> None:
    """Until the first decision by the rules that count it, nothing is known of it."""
    Stream(bench, waits_h=8.2, rules=RULES - 1)

    assert not any(line.startswith(("overtaken", "reserved")) for line in page(bench, "big"))


def test_whom_no_order_can_help_is_told_so_in_why_and_in_status(bench: Bench) -> None:
    stream = kept(bench)
    held = stream.small("held")
    stream.there.happens(Held(request="h", user="alice", job=held))
    told = (
        "nlp asks for 1.25 times its share of v4 with jobs of 1 (7 running, 3 waiting, share 8): whatever their order, some of "
        "them wait; a larger share or fewer jobs would help"
    )

    assert f"share {told}" in page(bench, "next1")
    assert not any(line.startswith("share") for line in page(bench, "big")), "it has another size"
    assert bench.bastion("status").out.splitlines()[-2:] == ["", told]
    row = {"project": "nlp", "kind": "v4", "size": 1, "running": 7, "waiting": 3, "share": 8, "ratio": 1.25}
    assert bench.bastion("status", "--json").json["excess"] == [row]
    assert waiting(bench, "next1")["excess"] == [row]
    assert waiting(bench, "big")["excess"] == waiting(bench, held)["excess"] == []


def test_where_the_share_is_enough_status_says_nothing_of_it(bench: Bench) -> None:
    Stream(bench, waits_h=4.2)

    assert bench.bastion("status", "--json").json["excess"] == []
    assert "times its share" not in bench.bastion("status").out


def test_where_the_journal_cannot_be_read_status_tells_the_rest(bench: Bench) -> None:
    bench.bucket.write(layout.journal(0), b"broken")

    said = bench.bastion("status", "--json")

    assert (said.code, said.json["state"], said.json["excess"]) == (0, "stopped", None)


def test_the_pages_show_what_is_printed(bench: Bench) -> None:
    kept(bench)
    texts = [(DOCS / name).read_text() for name in ("run/why.md", "share/quota-file.md")]
    shown = re.sub(r"since about \d\d:\d\d UTC", "since about T", " ".join(" ".join(texts).split()))
    told = [line for job in ("big", "next1") for line in page(bench, job) if line.startswith(("overtaken", "reserved"))]
    told += bench.bastion("status").out.splitlines()[-1:]
    assert len(told) == 4
    for line in told:
        assert re.sub(r"T, 2h12m\d*s?", "T, 2h12m", line) in shown
