"""`bastion usage`: from the journal alone, as a table, for programs, and drawn on a page of its own."""

from __future__ import annotations

import csv
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CapacityChanged, Claimed, Ended, FileChanged, Gone, Started, Stopping, Submitted
from bastion.model.stored.journal_object import pack
from bastion.platform.system import SystemClock
from tests.support.bench import QUOTA, Bench
from tests.support.world import spec

TEAM = {"team": "rl"}
A, B = ({"job": name, "task": 0, "attempt": 0} for name in ("a-0", "b-0"))


@pytest.fixture
def old(bench: Bench) -> Bench:
    """Three hours of a bastion that is long gone: alice's job ran for two, and was stopped for bob's, which still runs."""
    now, seq = SystemClock().wall(), 0

    def happens(ago: timedelta, *events: object) -> None:
        nonlocal seq
        data = pack(seq=seq, epoch=1, nonce="n", now=now - ago, events=[encode(event) for event in events])
        bench.bucket.create(layout.journal(seq), data)
        seq += 1

    hour = timedelta(hours=1)
    happens(
        4 * hour,
        FileChanged(file="quota", version="1", text=QUOTA),
        CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4}),
        Submitted(request="alice/a", job="a-0", spec=spec(name="a", project="nlp", resources={"v4": 8}, labels=TEAM)),
    )
    happens(3 * hour, Started(**A, runner="local", tier=0, workers=1), Claimed(**A, worker=0, machine="m"))  # type: ignore[arg-type]
    bobs = spec(name="b", user="bob", project="vision", resources={"v4": 4, "cpu": 1})
    happens(2 * hour, Submitted(request="bob/b", job="b-0", spec=bobs))
    happens(
        1.5 * hour,
        Stopping(**A, cause=Cause.PREEMPTED, deadline=now, reason="reclaimed", for_job="b-0"),  # type: ignore[arg-type]
    )
    happens(
        hour,
        Gone(**A, worker=0),  # type: ignore[arg-type]
        Ended(**A, cause=Cause.PREEMPTED, outcome=JobState.PENDING, reason="reclaimed"),  # type: ignore[arg-type]
        Started(**B, runner="local", tier=0, workers=1),  # type: ignore[arg-type]
    )
    return bench


def test_every_account_has_its_hours_waits_and_preemptions(old: Bench) -> None:
    said = old.bastion("usage", "--since=1d", "--json").json
    nlp, vision = said["rows"]

    assert said.keys() == {"schema", "by", "since", "until", "rows", "total", "bastion", "found_out_later"}
    assert (nlp["project"], nlp["jobs"], nlp["starts"]) == ("nlp", 1, 1)
    assert nlp["unit_hours"] == {"v4": 16.0}
    assert nlp["share_hours"]["v4"] == pytest.approx(16.0, abs=0.01)
    assert nlp["wait_s"] == {"median": 3600.0, "p95": 3600.0}
    assert (nlp["preemptions"], vision["preemptions"]) == ({"suffered": 1, "caused": 0}, {"suffered": 0, "caused": 1})
    assert vision["unit_hours"] == {"cpu": pytest.approx(1.0, abs=0.01), "v4": pytest.approx(4.0, abs=0.01)}
    assert (said["total"]["jobs"], said["bastion"]) == (2, {"name": "b", "last_tick_age_s": None})


def test_a_label_counts_its_jobs_only_and_says_so_and_shares_are_left_out(old: Bench) -> None:
    said = old.bastion("usage", "--since=1d", "--label=team=rl", "--json").json
    assert (said["labels"], [row["project"] for row in said["rows"]]) == (TEAM, ["nlp"])
    assert said["rows"][0]["share_hours"] == {}
    assert said["total"]["unit_hours"] == said["rows"][0]["unit_hours"]
    lines = old.bastion("usage", "--since=1d", "--label=team=rl").out
    assert "vision" not in lines
    assert ", only jobs with team=rl. bastion" in lines
    none = old.bastion("usage", "--since=1d", "--label=team=cv").out
    assert "nothing was submitted and nothing ran, only jobs with team=cv" in none


def test_a_window_cuts_what_reaches_over_its_edges(old: Bench) -> None:
    (row, idle) = old.bastion("usage", "--since=150m", "--until=91m", "--by=project", "--json").json["rows"]

    assert (row["unit_hours"], row["starts"], row["preemptions"]["suffered"]) == (
        {"v4": pytest.approx(8.0 * 59 / 60, abs=0.01)},
        0,
        0,
    )
    assert (idle["project"], idle["unit_hours"], idle["jobs"]) == ("vision", {}, 1)


def test_the_table_says_how_much_of_the_share_it_is_and_when_the_bastion_was_seen(old: Bench) -> None:
    heads, nlp, vision, total, foot = old.bastion("usage", "--since=4h").out.splitlines()

    assert heads.split() == [
        "PROJECT", "JOBS", "STARTS", "WAIT", "WAIT-P95", "PREEMPTED", "PREEMPTS",
        "CPU-HOURS", "CPU-OF-SHARE", "V4-HOURS", "V4-OF-SHARE",
    ]  # fmt: skip
    assert nlp.split()[:7] == ["nlp", "1", "1", "1h", "1h", "1", "0"]
    assert nlp.split()[-2:] == ["16.00", "100%"]
    assert (vision.split()[0], total.split()[0]) == ("vision", "TOTAL")
    assert foot.endswith("bastion b: never seen.")


@pytest.mark.parametrize("columns", [20, 40, 60, 80])
def test_a_narrow_terminal_keeps_names_and_hours(old: Bench, columns: int) -> None:
    old.environ["COLUMNS"] = str(columns)
    lines = old.bastion("usage", "--by=user", terminal=True).out.splitlines()[:-1]

    assert max(len(re.sub("\x1b\\[[0-9]*m", "", line)) for line in lines) <= columns
    assert lines[1].startswith("alice")
    assert "16.00" in lines[1] + lines[2]


def test_csv_has_a_row_for_each_entry(old: Bench) -> None:
    first, second = csv.DictReader(old.bastion("usage", "--by=job", "-o", "csv").out.splitlines())

    assert (first["job"], first["v4_unit_hours"], first["preemptions_suffered"]) == ("a-0", "16.0", "1")
    assert second["job"] == "b-0"


def test_nothing_is_no_table(bench: Bench) -> None:
    assert bench.bastion("usage").out.startswith("nothing was submitted and nothing ran\n")
    assert bench.bastion("usage", "--json").json["rows"] == []


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--by=usr",), "--by is 'usr'; did you mean user?"),
        (("--until=40d",), "there is nothing between them"),
        (("--since=99999999999999d",), "--since is '99999999999999d'; use 10m"),
        (("--until=0001-01-01T00:00:00+14:00",), "--until is '0001-01-01T00:00:00+14:00'; use 10m"),
        (("-o", "wide"), "--output is 'wide'; use table, csv, json"),
    ],
)
def test_a_mistake_is_wrong_usage(old: Bench, words: tuple[str, ...], complaint: str) -> None:
    said = old.bastion("usage", *words)

    assert (said.code, said.out) == (2, "")
    assert complaint in said.err


def test_the_plot_is_one_page_that_asks_for_nothing(old: Bench, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    for _ in range(2):  # the second time over the first
        assert old.bastion("usage", "--since=4h", f"--plot={page}").code == 0
    text = page.read_text()

    assert text.startswith("<!doctype html>")
    assert text.count("<svg") == 4  # cpu, v4, and of v4 the shares of nlp and vision
    assert "<script" not in text
    assert "default-src 'none'" in text
    loads = re.findall(r"(?:src|href|@import|url)\s*[=(]\s*[\"']?([^\"')>\s]+)", text)
    assert [where for where in loads if not where.startswith("#")] == []
    assert {"nlp", "vision", "there is", "share"} <= set(re.findall(r">([^<>]+)</text>", text))
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".part"] == []


def test_the_plot_spares_a_file_that_is_no_page(old: Bench, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("mine")

    for target in (notes, tmp_path, tmp_path / "no" / "where.html"):
        said = old.bastion("usage", f"--plot={target}")
        assert (said.code, said.out) == (1, "")
        assert str(target) in said.err
    assert notes.read_text() == "mine"


def test_names_are_text_on_the_page_and_nothing_else(bench: Bench, tmp_path: Path) -> None:
    project = "<script>alert(1)</script>"
    wanted = spec(resources={"v4": 1})
    raw = encode(Submitted(request="a/a", job="a-0", spec=wanted)).replace(b'"default"', f'"{project}"'.encode())
    start = encode(Started(**A, runner="local", tier=0, workers=1))  # type: ignore[arg-type]
    ago = SystemClock().wall() - timedelta(hours=1)
    bench.bucket.create(layout.journal(0), pack(seq=0, epoch=1, nonce="n", now=ago, events=[raw, start]))

    assert bench.bastion("usage", f"--plot={tmp_path / 'out.html'}").code == 0
    assert "<script" not in (tmp_path / "out.html").read_text()
    assert datetime.fromisoformat(bench.bastion("usage", "--json").json["until"]) > ago


def test_a_hole_in_the_journal_is_named(old: Bench) -> None:
    old.bucket.delete([layout.journal(1)])

    assert "journal object 1 is missing; events between" in old.bastion("usage").out
    assert [hole["first"] for hole in old.bastion("usage", "--json").json["holes"]] == [1]
    assert "journal object 1 is missing" in old.bastion("usage", "-ocsv").err
