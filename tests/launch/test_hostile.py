"""Every command, with hostile text in every place that somebody else may have written."""

from __future__ import annotations

import csv
import json
import re
from datetime import timedelta
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.job.spec import BundleRef, Provenance
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    CapacityChanged,
    Exited,
    FileBroken,
    FileChanged,
    Held,
    JobRejected,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
)
from bastion.model.stored.gpu_facts import Gpu
from bastion.model.stored.records import Facts
from tests.support.bench import Bench, Said
from tests.support.world import NOON, World, spec, status
from tests.unit.cli.test_harmless import ACTS

HOSTILE = {
    "escapes": "\x1b[2J\x1b]0;owned\x07\x1b]52;c;cm0=\x07\x9b31mx",
    "lines": "a\r\nFORGED line\nFORGED\u2028FORGED\x0bFORGED\x85FORGED",
    "direction": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "html": "</text></svg></pre><script>alert(1)</script><img src=x onerror=alert(1)> &lt; ]]> {title}",
    "formula": "=cmd|' /C calc'!A0",
    "markup": "[bold]x[/bold] [link=file:///etc]y[/] %s {0} \\x1b $(id) `id`",
    "long": "x" * 20_000,
}
OURS = re.compile(r"\x1b\[[01]m")


class Bad:
    """A bastion in which one user wrote this wherever there is a place for text."""

    def __init__(self, bench: Bench, text: str) -> None:
        self.world = world = World(bench.bucket)
        comment = re.sub("[\x00-\x1f\x7f]", " ", text)
        word = re.sub("[/\x00-\x1f\x7f]", "", text)[:60]
        world.happens(FileChanged(file="quota", version="1", text=f"{QUOTA}# {comment}\n"))
        wanted = msgspec.structs.replace(
            spec(name="train", resources={"v4": 4}), command=[text, "x"], env={"A": text}, setup=text,
            bundle=BundleRef(type="git", repo=text, commit=text, folder=text),
            provenance=Provenance(host=text, git_commit=text, parent=text),
            instance_type=text, output_dir=text, checkpoint_dir=text,
        )  # fmt: skip
        self.job = "train-aaaaaaaa"
        world.happens(Submitted(request=f"alice/{'a' * 32}", job=self.job, spec=wanted))
        odd = msgspec.structs.replace(wanted, name=word, user=word, project=word, resources={word: 1})
        world.happens(Submitted(request=f"{word}/{'b' * 32}", job=f"{word}-bbbbbbbb", spec=odd))
        key = world.runs(self.job)
        at = {"job": key.job, "task": 0, "attempt": 0}
        world.happens(
            Exited(**at, worker=0, cause=Cause.CODE, exit_code=3, message=text, step=3),  # type: ignore[arg-type]
            Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason=text, for_job=word),  # type: ignore[arg-type]
        )
        world.ends(key, Cause.CODE, JobState.PENDING, code=3, reason=text, ready_at=NOON)
        world.happens(
            Started(job=self.job, task=0, attempt=1, runner=word, tier=0, workers=1),
            CapacityChanged(runner=word, resources={word: 3}),
            FileBroken(file="config", version="2", problem=text),
            Held(request="eve/h", user=text, job=f"{word}-bbbbbbbb"),
            RequestRejected(request="eve/r", user=text, reason=text, job=self.job),
            JobRejected(request="eve/j", job=f"bad-{word}", name=text, user=text, project=text, reason=text),
        )
        bucket = bench.bucket
        facts = Facts(
            phase=word, machine="m", message=text, gpus=[Gpu(index=text, name=text, problem=text)], version=word
        )
        again = key.__class__(key.job, 0, 1)
        bucket.write(layout.facts(again, 0), encode(facts))
        bucket.write(layout.segment(layout.log(key, 0), 0), text.encode())
        bucket.write(layout.segment(layout.bastion_log(1), 0), f"{self.job} {text}\n".encode())
        bucket.write(f"{layout.outputs(self.job, 0)}/{word or 'x'}", b"1")
        bucket.write(layout.QUOTA, f"{QUOTA}# {comment}\n".encode())
        said = msgspec.structs.replace(
            status(NOON), host=text, version=text, problems=[text], counts={word: 1}, capacity={word: 3}
        )
        bucket.write(layout.STATUS, encode(said))
        world.clock.now += 3_600


QUOTA = """[toml-schema]
version = "1"
[total_resources]
v4 = 8
cpu = 4
[project_membership]
default = ["alice"]
[project_resources.default]
v4 = 0.5
"""
COMMANDS = [
    ("launch", "ls", "--all"),
    ("launch", "ls", "--all", "-o", "wide"),
    ("launch", "why", "train"),
    ("launch", "history", "train"),
    ("launch", "show", "train"),
    ("launch", "diff", "train", "train"),
    ("launch", "outputs", "train"),
    ("launch", "logs", "train", "--no_follow", "--attempt=0"),
    ("launch", "logs", "train", "--no_follow", "--provisioning"),
    ("launch", "rerun", "train", "--dry_run"),
    ("launch", "stop", "--all", "--user_id=alice"),
    ("launch", "why", "nobody"),
    ("bastion", "status"),
    ("bastion", "doctor"),
    ("bastion", "usage", "--since=2026-01-01T00:00:00Z"),
    ("bastion", "usage", "--since=2026-01-01T00:00:00Z", "--by=user"),
    ("bastion", "history", "default"),
    ("bastion", "quota", "get"),
    ("bastion", "quota", "history"),
    ("bastion", "logs"),
    ("bastion", "replay"),
    ("bastion", "gc", "--dry_run"),
]


def ask(bench: Bench, words: tuple[str, ...], *, terminal: bool = False) -> Said:
    return (bench.launch if words[0] == "launch" else bench.bastion)(*words[1:], terminal=terminal)


@pytest.fixture(params=HOSTILE, ids=HOSTILE.keys())
def bad(request: pytest.FixtureRequest, bench: Bench) -> Bad:
    return Bad(bench, HOSTILE[request.param])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_lets_it_act(bench: Bench, bad: Bad, words: tuple[str, ...]) -> None:
    """On a terminal, for a program, and as JSON."""
    for terminal in (False, True):
        said = ask(bench, words, terminal=terminal)
        raw = words[1] == "logs" or words[1:3] == ("quota", "get")
        if terminal or not raw:
            for stream in (said.out, said.err):
                assert not ACTS.search(OURS.sub("", stream)), words
        if not raw:
            assert not [line for line in f"{said.out}\n{said.err}".split("\n") if line.startswith("FORGED")]
        assert "Traceback" not in said.err
        assert "internal error" not in said.err
    told = ask(bench, (*words, "--json"))
    assert not ACTS.search(told.out + told.err)
    for line in told.out.splitlines():
        json.loads(line)


@pytest.mark.parametrize(
    "words", [("launch", "ls", "--all", "-o", "csv"), ("bastion", "usage", "-o", "csv")], ids=" ".join
)
def test_no_cell_of_csv_is_a_formula(bench: Bench, bad: Bad, words: tuple[str, ...]) -> None:
    said = ask(bench, words)
    rows = list(csv.reader(StringIO(said.out)))
    assert len(rows) > 1, said
    assert not ACTS.search(said.out)
    assert not [
        cell for row in rows for cell in row if cell.startswith(("=", "+", "@", "\t")) or re.match("-[^0-9]", cell)
    ]


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, Any]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_chart_holds_no_tags_of_users(bench: Bench, bad: Bad, tmp_path: Path) -> None:
    for by in ("project", "user", "job"):
        page = tmp_path / f"{by}.html"
        since = (NOON - timedelta(days=1)).isoformat()
        said = bench.bastion("usage", f"--since={since}", f"--by={by}", f"--plot={page}")
        assert said.code == 0, said.err
        tags = Tags()
        tags.feed(page.read_text())
        assert not tags.tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}
        assert not {name for name in tags.attributes if name.startswith("on")}
