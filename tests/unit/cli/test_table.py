"""A table can be read by people and by awk, and on a terminal of any width no line is broken and the reason stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.cli.terminal.table import table

HEADS = ("JOB", "USER", "AGE", "WHY")
REASON = "needs 4 v4, 0 of 8 free; nlp (alice/train-5ba08448) holds 8, borrows 4: may be reclaimed after 5 s"


def test_a_table_is_aligned_and_every_cell_is_filled() -> None:
    lines = table(("JOB", "N", "WHY"), [("a", "1", ""), ("longer", "100", "no v4 is free")], right=frozenset({"N"}))

    assert lines == [
        "JOB       N  WHY",
        "a         1  -",
        "longer  100  no v4 is free",
    ]


def test_a_program_gets_the_full_text() -> None:
    (_, line) = table(HEADS, [("n" * 90, "alice", "3s", REASON)], caps={"JOB": 11}, spare=("AGE",))

    assert line == f"{'n' * 90}  alice  3s   {REASON}"


def test_a_column_with_a_cap_is_cut_in_its_middle() -> None:
    lines = table(("JOB", "USER", "WHY"), [("a", "u" * 30 + "-id", "because")], caps={"USER": 11}, width=41)
    assert lines[1] == "a    uuuuu…uu-id  because"


@pytest.mark.parametrize("width", [40, 80, 100])
def test_an_id_is_never_cut_and_a_reason_wraps_under_its_line(width: int) -> None:
    long = "n" * 63 + "-5ba08448[0-99999]"
    rows = [("train-5ba08448", "alice", "3s", REASON), (long, "bob", "2h", "no v4 is free"), ("b", "al", "1s", "held")]
    lines = table(HEADS, rows, width=width, spare=("AGE", "USER"))
    assert all(len(line) <= width for line in lines)
    text = "\n".join(lines)
    assert long in text.replace("\n", "")
    assert "train-5ba08448" in text
    assert " ".join(REASON.split()) in " ".join(text.split())
    assert "…" not in text


def test_how_it_looks_on_80_columns() -> None:
    rows = [
        ("train-5ba08448", "alice", "3s", REASON),
        ("a-name-that-is-longer-than-others-5ba08448", "bob", "2h", "no v4 is free"),
        ("b-11111111", "al", "1s", "held by root"),
    ]
    assert table(HEADS, rows, width=80, right=frozenset({"AGE"})) == [
        "JOB             USER   AGE  WHY",
        "train-5ba08448  alice   3s",
        "  needs 4 v4, 0 of 8 free; nlp (alice/train-5ba08448) holds 8, borrows 4: may be",
        "  reclaimed after 5 s",
        "a-name-that-is-longer-than-others-5ba08448",
        "                bob     2h  no v4 is free",
        "b-11111111      al      1s  held by root",
    ]


def test_an_id_that_leaves_no_room_has_a_line_of_its_own() -> None:
    rows = [("a-name-that-is-longer-than-others-5ba08448", "bob", "2h", REASON), ("b-11111111", "al", "1s", "held")]
    assert table(HEADS, rows, width=50, right=frozenset({"AGE"})) == [
        "JOB         USER  AGE  WHY",
        "a-name-that-is-longer-than-others-5ba08448",
        "            bob    2h",
        "  needs 4 v4, 0 of 8 free; nlp",
        "  (alice/train-5ba08448) holds 8, borrows 4: may",
        "  be reclaimed after 5 s",
        "b-11111111  al     1s  held",
    ]


def test_a_narrow_terminal_does_without_the_spare_columns_first() -> None:
    rows = [("train-1", "alice", "3h", REASON)]

    assert table(HEADS, rows, width=60, spare=("AGE", "USER"))[0].split() == ["JOB", "USER", "AGE", "WHY"]
    assert table(HEADS, rows, width=44, spare=("AGE", "USER"))[0].split() == ["JOB", "USER", "WHY"]
    assert table(HEADS, rows, width=38, spare=("AGE", "USER"))[0].split() == ["JOB", "WHY"]


def test_the_reason_gets_lines_of_its_own_before_it_gets_no_room() -> None:
    assert table(("JOB", "STATE", "WHY"), [("train-5ba08448", "PENDING", REASON), ("b", "RUNNING", "")], width=40) == [
        "JOB             STATE    WHY",
        "train-5ba08448  PENDING",
        "  needs 4 v4, 0 of 8 free; nlp",
        "  (alice/train-5ba08448) holds 8,",
        "  borrows 4: may be reclaimed after 5 s",
        "b               RUNNING  -",
    ]


def test_short_reasons_need_no_lines_of_their_own() -> None:
    assert table(("JOB", "STATE", "WHY"), [("train-5ba08448", "PENDING", "held")], width=40)[1].endswith(
        "PENDING  held"
    )


@pytest.mark.parametrize("text", ["a\nb", "a\r\x1b[2Jb", "a\tb", "a\x9bb"])
def test_what_would_move_the_cursor_is_not_printed(text: str) -> None:
    (_, line) = table(("WHY",), [(text,)])

    assert line in ("a b", "a [2Jb")


@given(
    rows=st.lists(st.tuples(*[st.text(max_size=70)] * 4), min_size=1, max_size=5),
    width=st.integers(1, 130),
)
def test_no_line_is_longer_than_the_terminal(rows: list[tuple[str, ...]], width: int) -> None:
    lines = table(HEADS, rows, caps={"JOB": 30}, width=width, spare=("AGE", "USER"))

    assert all(len(line) <= width and line.isprintable() for line in lines)
    assert len(lines) > len(rows)
