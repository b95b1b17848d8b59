"""What is drawn again and again, and what is drawn to be kept, with hostile text in every place that users can write."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text
from textual.pilot import Pilot

from bastion.cli.bastion.parts.top_app import JobDetails, TopApp, bars
from bastion.schedule.usage import ProjectUsage
from tests.launch.bastion.test_simulate import QUOTA as SHARES
from tests.launch.bastion.test_top import played, until
from tests.launch.test_hostile import HOSTILE, Bad, Tags
from tests.launch.test_watch import ENTER, LEAVE, nothing, watched
from tests.support.bench import Bench, Terminal
from tests.unit.cli.test_harmless import ACTS, TEXTS


@pytest.fixture(params=HOSTILE, ids=HOSTILE.keys())
def bad(request: pytest.FixtureRequest, bench: Bench) -> Bad:
    return Bad(bench, HOSTILE[request.param])


def drawn(app: TopApp) -> list[str]:
    """The lines of the screen, as the terminal gets them."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def test_top_lets_nothing_act(bad: Bad) -> None:
    """All jobs, one alone, and the page of why."""

    async def play(app: TopApp, pilot: Pilot[int]) -> None:
        async def looked_at() -> None:
            await until(pilot, lambda: any(line.strip() for line in drawn(app)))
            assert not [line for line in drawn(app) if ACTS.search(line)]

        for key in ("down", "slash", *"tr", "enter", "enter"):
            await pilot.press(key)
            await pilot.pause()
            await looked_at()
        await until(pilot, lambda: isinstance(app.screen, JobDetails) and "train" in "".join(drawn(app)))
        await looked_at()

    played(bad.world, play, size=(110, 30))


@given(TEXTS, TEXTS, st.integers(4, 200))
def test_no_name_acts_beside_a_bar(project: str, kind: str, width: int) -> None:
    (line,) = bars([(ProjectUsage(project=project, kind=kind, share=2, used=3, borrowed=1), 8)], width)
    assert isinstance(line, Text)
    assert not ACTS.search(line.plain)
    assert "\n" not in line.plain


def test_watching_lets_nothing_act(bad: Bad) -> None:
    for stream in (None, Terminal()):
        out, err = watched(bad.world, nothing, nothing, out=stream, COLUMNS="120", LINES="30")
        ours = ("\x1b[H", "\x1b[K", "\x1b[J", "\x1b[1m", "\x1b[0m", "\x1b[?25l", "\x1b[?25h", "\r", ENTER, LEAVE)
        for sequence in ours:
            out = out.replace(sequence, "\n")
        assert "train" in out
        assert not ACTS.search(out + err)
        assert not [line for line in out.splitlines() if line.startswith("FORGED")]


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_chart_of_what_would_have_been_holds_no_tags_of_users(bench: Bench, tmp_path: Path, kind: str) -> None:
    """Whatever a trace calls projects and users: drawn as text, or refused in a line of ours."""
    bad = HOSTILE[kind][:200]
    row = StringIO()
    csv.writer(row).writerows([["submit_s", "duration_s", "gpus", "project", "user"], [0, 7200, 8, bad, bad]])
    trace, quota, page = tmp_path / "trace.csv", tmp_path / "quota.toml", tmp_path / "page.html"
    trace.write_text(row.getvalue())
    quota.write_text(SHARES)
    for more in ([], ["--json"]):
        said = bench.bastion(
            "simulate", f"--trace={trace}", f"--quota={quota}", "--policy=axlearn,default", f"--plot={page}", *more
        )
        assert said.code in (0, 1)
        assert not ACTS.search(said.out + said.err)
        assert "Traceback" not in said.err
        assert not [line for line in f"{said.out}\n{said.err}".splitlines() if line.startswith("FORGED")]
    assert page.exists() == (said.code == 0)
    if said.code == 0:
        tags = Tags()
        tags.feed(page.read_text())
        assert "svg" in tags.tags
        assert not tags.tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form"}
        assert not {name for name in tags.attributes if name.startswith("on")}
        assert not ACTS.search(page.read_text())
