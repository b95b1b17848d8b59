"""What is printed can be read by people and by awk."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest

from bastion.cli.bastion import status as bastion_status
from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal import help as help_text
from bastion.cli.terminal import main
from bastion.cli.terminal.flags import Command, Flag, Options, Tool, decimal, switch
from bastion.cli.terminal.output import Output
from bastion.cli.terminal.parsing import parse
from tests.support.bench import Terminal


def test_an_error_is_one_line_or_one_json_object() -> None:
    plain, json = (Output(StringIO(), StringIO(), json=flag, environ={}) for flag in (False, True))
    plain.error("a\n b")
    json.error('say "x"')

    assert plain.err.getvalue() == "error: a b\n"  # type: ignore[attr-defined]
    assert json.err.getvalue() == '{"error": "say \\"x\\""}\n'  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("stream", "environ", "bold"),
    [(Terminal(), {}, True), (Terminal(), {"NO_COLOR": "1"}, False), (Terminal(), {"TERM": "dumb"}, False),
     (StringIO(), {}, False)],
)  # fmt: skip
def test_colour_is_for_terminals_whose_user_wants_it(stream: StringIO, environ: dict[str, str], bold: bool) -> None:
    assert (Output(stream, StringIO(), environ=environ).bold("x") != "x") is bold


def test_a_fault_of_our_own_is_a_line_too_unless_the_trace_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def falls(call: object) -> int:
        raise ValueError("a\nb\x1b[2J")

    monkeypatch.setattr(bastion_status, "run", falls)
    err = StringIO()
    assert main.run(TOOL, ["status"], environ={}, out=StringIO(), err=err) == main.FAILED
    said = "internal error: ValueError: a b\\u001b[2J; set BASTION_TRACEBACK=1 to see where, and report it"
    assert err.getvalue() == f"error: {said}\n"
    with pytest.raises(ValueError, match="a"):
        main.run(TOOL, ["status"], environ={main.TRACEBACK: "1"}, out=StringIO(), err=StringIO())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x.toml", "cannot read {folder}/x.toml: no such file"),
        ("no/x.toml", "cannot open {folder}/no/x.toml: no folder {folder}/no"),
        (".", "cannot open {folder}: is a directory"),
    ],
)
def test_a_refusal_of_the_system_names_the_file(name: str, said: str, tmp_path: Path) -> None:
    err = StringIO()
    words = ["quota", "check", str(tmp_path / name)]
    assert main.run(TOOL, words, environ={}, out=StringIO(), err=err) == main.FAILED
    assert err.getvalue() == f"error: {said.format(folder=tmp_path)}\n"


def test_progress_is_shown_on_a_terminal_only() -> None:
    for err, json, shown in ((Terminal(), False, True), (Terminal(), True, False), (StringIO(), False, False)):
        with Output(StringIO(), err, json=json, environ={"TERM": "xterm"}).progress("packing"):
            pass

        assert bool(err.getvalue()) is shown


@pytest.mark.parametrize(
    ("environ", "width"), [({}, 120), ({"COLUMNS": "40"}, 40), ({"COLUMNS": "0"}, 120), ({"COLUMNS": "wide"}, 120)]
)
def test_a_line_is_as_long_as_the_terminal_is_wide(environ: dict[str, str], width: int) -> None:
    assert Output(Terminal(), StringIO(), environ=environ).width == width
    assert Output(StringIO(), StringIO(), environ=environ).width is None


def test_only_a_terminal_with_a_cursor_is_drawn_over() -> None:
    assert Output(Terminal(), StringIO(), environ={"LINES": "10"}).height == 10
    assert Output(Terminal(), StringIO(), environ={"TERM": "dumb"}).height is None
    assert Output(StringIO(), StringIO(), environ={}).height is None


class Things(Options):
    priority = Flag[int]("1 is high.", "N", kind=int, default=5, short="p")
    watch = decimal("Again.", "SECONDS", bare=2)
    wait = switch("Wait.")


def test_help_shows_usage_commands_flags_and_defaults() -> None:
    tool = Tool(
        name="t", about="Does things.",
        action=Command(name="", about="Does things.", module="none", takes_command=True, options=Things),
        commands=(Command(name="stop", about="Ends it.", module="none", words="JOB", least=1, most=1),),
    )  # fmt: skip

    assert (
        help_text.text(parse(tool, ["--help"]))
        == """\
usage: t [flags] -- COMMAND...

Does things.

Commands:
  stop JOB                  Ends it.

See `t COMMAND --help` for the flags of each.

Flags:
  -p, --priority=N          1 is high. Default: 5.
  --watch[=SECONDS]         Again.
  --wait                    Wait.
  --bastion=NAME            Name of the bastion; also BASTION_NAME.
  --bucket=URL              URL of the bucket: file://, gs://, s3://, az://; also BASTION_BUCKET.
  --profile=PROFILE         Profile with defaults for flags; also BASTION_PROFILE. See bastion config.
  --json                    Print JSON, errors too.
  --help                    Print this help.
  --version                 Print the version."""
    )
    assert help_text.text(parse(tool, ["stop", "-h"])).startswith("usage: t stop [flags] JOB\n\nEnds it.\n")
