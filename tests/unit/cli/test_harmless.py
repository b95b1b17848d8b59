"""What users wrote acts on nothing: a terminal, a spreadsheet, a script that reads JSON."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.cli.terminal.output import Output, harmless, harmless_log
from tests.support.bench import Terminal

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
TEXTS = st.text(st.characters() | st.sampled_from("\x1b[]0;31mJHK\r\n\t\x07\x9b\u202e\u2066\\\"'"), max_size=40)


def out(*, terminal: bool = False, json: bool = False, plain: bool = False) -> tuple[Output, StringIO]:
    stream = Terminal() if terminal else StringIO()
    return Output(stream, StringIO(), json=json, environ={"NO_COLOR": "1"} if plain else {}), stream


@given(TEXTS)
def test_no_text_acts_on_a_terminal(text: str) -> None:
    assert not ACTS.search(harmless(text))
    for terminal in (False, True):
        output, stream = out(terminal=terminal, plain=True)
        output.say(text)
        output.error(text)
        assert not ACTS.search(stream.getvalue())
        assert not ACTS.search(output.err.getvalue())  # type: ignore[attr-defined]


@given(TEXTS)
def test_a_text_that_is_no_trouble_is_printed_as_it_is(text: str) -> None:
    output, stream = out()
    output.say(text)
    assert (stream.getvalue() == f"{text}\n") is not bool(ACTS.search(text)) or "\U000e0000" <= max(
        text
    ) <= "\U000e007f"


@given(TEXTS)
def test_json_says_the_same_and_is_harmless(text: str) -> None:
    output, stream = out(json=True)
    output.data({"text": text, text: 1})
    assert not ACTS.search(stream.getvalue())
    if not re.search("[\ud800-\udfff]", text):
        assert json.loads(stream.getvalue()) == {"text": text, text: 1}
    output.error(text)
    json.loads(output.err.getvalue())  # type: ignore[attr-defined]


@given(TEXTS)
def test_bold_is_ours_and_nothing_else_comes_through(text: str) -> None:
    output, stream = out(terminal=True)
    output.say(f"{output.bold('JOB')}\n{text}")
    head, rest = stream.getvalue().split("\n", 1)
    assert head == "\033[1mJOB\033[0m"
    assert not ACTS.search(re.sub(r"\x1b\[[01]m", "", rest))


@given(TEXTS)
def test_of_a_log_a_terminal_gets_colours_alone_and_a_pipe_gets_all(text: str) -> None:
    line = text.replace("\n", "")
    for terminal in (False, True):
        output, stream = out(terminal=terminal)
        output.log([line])
        shown = stream.getvalue()
        if terminal:
            assert not ACTS.search(COLOUR.sub("", shown))
            assert "\033" not in shown or shown.endswith("\033[0m\n"), "what comes after is not coloured"
        else:
            assert shown == f"{line}\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "\x1b[1;31mred\x1b[0m\x1b[0m"),
        (" 10%|#  \r 100%|###", " 100%|###"),
        ("done\r", "done"),
        ("\x1b]0;title\x07x", "\\u001b]0;title\\u0007x"),
        ("\x1b]52;c;cm0gLXJm\x07", "\\u001b]52;c;cm0gLXJm\\u0007"),
        ("a\tb", "a\tb"),
    ],
)
def test_what_a_line_of_a_log_looks_like(line: str, shown: str) -> None:
    assert harmless_log(line) == shown


@given(st.lists(TEXTS, min_size=2, max_size=2))
def test_no_cell_is_a_formula(row: list[str]) -> None:
    output, stream = out()
    output.csv([["a", "b"], row, [-1.5, None]])  # type: ignore[list-item]
    assert not ACTS.search(stream.getvalue())
    rows = list(csv.reader(StringIO(stream.getvalue())))
    assert not [cell for cell in rows[1] if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert rows[2] == ["-1.5", ""], "a number is a number"


def test_nothing_is_marked_up_by_what_users_wrote() -> None:
    err = Terminal()
    with Output(StringIO(), err, environ={"TERM": "xterm"}).progress("[link=file:///etc/passwd]x[/link]\x1b]0;t\x07"):
        pass
    assert "[link=file:///etc/passwd]" in err.getvalue()
    assert "\x1b]0;" not in err.getvalue()
