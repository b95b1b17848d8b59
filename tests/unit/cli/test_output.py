"""What is printed can be read by people and by awk."""

from __future__ import annotations

from io import StringIO

import pytest

from cli import help as help_text
from cli.flags import Command, Flag, Tool, parse
from cli.output import Output, table


class Terminal(StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_a_table_is_aligned_and_every_cell_is_filled() -> None:
    lines = table(("JOB", "N", "WHY"), [("a", "1", ""), ("longer", "100", "no v4 is free")], right=frozenset({"N"}))

    assert lines == [
        "JOB       N  WHY",
        "a         1  -",
        "longer  100  no v4 is free",
    ]


def test_only_a_terminal_gets_cut_lines() -> None:
    rows = [("n" * 30 + "-id", "because " * 10)]

    wide = table(("JOB", "WHY"), rows, caps={"JOB": 11})
    narrow = table(("JOB", "WHY"), rows, caps={"JOB": 11}, width=40)

    assert wide[1].split()[0] == rows[0][0]
    assert narrow[1] == "nnnnn~nn-id  because because because be~"
    assert len(narrow[1]) == 40


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


def test_progress_is_shown_on_a_terminal_only() -> None:
    for err, json, shown in ((Terminal(), False, True), (Terminal(), True, False), (StringIO(), False, False)):
        with Output(StringIO(), err, json=json, environ={"TERM": "xterm"}).progress("packing"):
            pass

        assert bool(err.getvalue()) is shown


def test_help_shows_usage_commands_flags_and_defaults() -> None:
    tool = Tool(
        name="t", about="Does things.",
        action=Command(name="", about="Does things.", module="none", takes_command=True,
                       flags=(Flag("priority", "1 is high.", "N", int, 5), Flag("wait", "Wait.", kind=bool, default=False))),
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
  --priority=N              1 is high. Default: 5.
  --wait                    Wait.
  --bastion=NAME            Name of the bastion; also BASTION_NAME.
  --bucket=URL              URL of the bucket: file://, gs://, memory://; also BASTION_BUCKET.
  --profile=PROFILE         Profile that says what flags do not; also BASTION_PROFILE. See bastion config.
  --json                    Print JSON; errors too.
  --help                    Print this help."""
    )
    assert help_text.text(parse(tool, ["stop", "-h"])).startswith("usage: t stop [flags] JOB\n\nEnds it.\n")
