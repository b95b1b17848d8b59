"""A command line is understood in any order, and a mistake is answered with the nearest right word."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.cli.bastion.tool import TOOL as BASTION_TOOL
from bastion.cli.launch.tool import TOOL as LAUNCH_TOOL
from bastion.cli.terminal.flags import Command, Options, Tool, decimal, number, switch, text, texts
from bastion.cli.terminal.parsing import parse
from bastion.model.errors import UsageError


class Ls(Options):
    all = switch("All.")


class Pick(Options):
    user = texts("Users.", "USER", short="u")
    number = number("How many.", "N", short="n")
    watch = decimal("Again.", "SECONDS", short="w", bare=2)


class Logs(Options):
    follow = switch("Go on.", default=True)
    tail = number("Lines.", "N", least=0)


class Run(Options):
    instance_type = text("Type.", "T")
    env = texts("Env.", "K=V")


LS = Command(name="ls", about="List.", module="none", options=Ls)
PICK = Command(name="pick", about="Pick.", module="none", options=Pick)
LOGS = Command(name="logs", about="Show.", module="none", words="JOB", least=1, most=1, options=Logs)
RUN = Command(name="", about="Run.", module="none", takes_command=True, options=Run)
TOOL = Tool(name="launch", about="Launch.", action=RUN, commands=(LS, LOGS, PICK))
BARE = Tool(name="bastion", about="Bastion.", commands=(LS, LOGS))


def flags(*argv: str) -> dict[str, Any]:
    return dict(parse(TOOL, argv).options.values)


@pytest.mark.parametrize(
    "argv", [("ls", "--json", "--all"), ("--json", "ls", "--all"), ("--all", "--bucket", "ls", "--json=true", "ls")]
)
def test_flags_stand_in_any_order_around_the_subcommand(argv: tuple[str, ...]) -> None:
    line = parse(TOOL, argv)

    assert line.command is LS
    assert (line.options.values["json"], line.options.values["all"]) == (True, True)


@pytest.mark.parametrize("word", ["--instance_type=a-b", "--instance-type=a-b", "-instance_type=a-b"])
def test_dashes_and_underscores_are_the_same_in_a_flags_name(word: str) -> None:
    assert flags(word, "--", "x")["instance_type"] == "a-b"


@pytest.mark.parametrize("word", ["--no_follow", "--no-follow", "--nofollow", "--follow=false"])
def test_a_switch_is_turned_off_in_each_of_the_usual_ways(word: str) -> None:
    assert flags("logs", "j", word)["follow"] is False


@pytest.mark.parametrize(
    "argv", [("-u", "bob", "-n", "3"), ("-ubob", "-n3"), ("-u=bob", "-n=3"), ("--user", "bob", "-number=3")]
)
def test_a_letter_stands_for_a_flag(argv: tuple[str, ...]) -> None:
    for words in (("pick", *argv), (*argv, "pick")):
        found = flags(*words)
        assert (found["user"], found["number"]) == (["bob"], 3)


@pytest.mark.parametrize(
    ("argv", "seconds"),
    [((), None), (("--watch",), 2), (("-w",), 2), (("--watch=5",), 5), (("-w5",), 5), (("-w", "-n1"), 2)],
)
def test_a_flag_may_need_no_value(argv: tuple[str, ...], seconds: float | None) -> None:
    assert flags("pick", *argv)["watch"] == seconds
    assert flags(*argv, "pick")["watch"] == seconds


def test_what_follows_the_two_dashes_is_left_alone() -> None:
    line = parse(TOOL, ["--env", "A=--x-y", "--env=B=2", "--", "ls", "--all", "--no-such", "--"])

    assert line.command is RUN
    assert line.options.values["env"] == ["A=--x-y", "B=2"]
    assert line.after == ("ls", "--all", "--no-such", "--")


def test_what_is_not_given_has_its_default() -> None:
    assert flags("--", "x") == {
        "help": False, "version": False, "bastion": None, "bucket": None, "profile": None, "json": False,
        "instance_type": None, "env": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (["ls", "--alll"], "--alll is not a flag of launch ls; did you mean --all?"),
        (["ls", "--zzzz"], "--zzzz is not a flag of launch ls; see launch ls --help"),
        (["--instnce-type=x", "--", "y"], "--instnce-type is not a flag of launch; did you mean --instance_type?"),
        (["lss"], "'lss' is not a command of launch; did you mean ls?"),
        (["python", "x.py"], "put -- before the command to run: launch [flags] -- python x.py"),
        (["x", "--", "y"], "'x' stands before --; put flags before -- and the command to run after it"),
        (["ls", "--", "x"], "launch ls takes no command after --; leave it out"),
        (["logs"], "launch logs needs JOB; see launch logs --help"),
        (["logs", "a", "b"], "'b' is one word too many for launch logs; see launch logs --help"),
        (["logs", "a", "--tail=many"], "--tail is 'many'; use a whole number"),
        (["logs", "a", "--follow=maybe"], "--follow is 'maybe'; use true or false"),
        (["ls", "-x"], "-x is not a flag of launch ls; see launch ls --help"),
        (["pick", "--watch", "5"], "'5' is one word too many for launch pick"),
        (["pick", "-nmany"], "--number is 'many'; use a whole number"),
        (["logs", "a", "--tail"], "Missing value for flag --tail"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(argv: list[str], complaint: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(TOOL, argv)

    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        (["--help"], RUN),
        (["-h"], RUN),
        (["ls", "--help"], LS),
        (["logs", "-h"], LOGS),
        (["logs", "--tail=-1", "-h"], LOGS),
    ],
)
def test_help_is_asked_for_without_the_words_that_a_command_needs(argv: list[str], command: Command) -> None:
    line = parse(TOOL, argv)

    assert line.about == "help"
    assert line.command is command


def test_a_tool_that_does_nothing_by_itself_needs_a_command() -> None:
    assert parse(BARE, []).about == "help"
    assert parse(BARE, ["--help"]).about == "help"
    assert parse(BARE, ["--version"]).about == "version"
    with pytest.raises(UsageError, match="bastion needs a command; use ls, logs"):
        parse(BARE, ["--json"])
    with pytest.raises(UsageError, match="'log' is not a command of bastion; did you mean logs"):
        parse(BARE, ["log", "--help"])


# Words of other tools


@pytest.mark.parametrize(
    ("argv", "command", "words"),
    [
        (["cancel", "j"], "stop", ("j",)),
        (["kill", "--name=j"], "stop", ("j",)),
        (["stop", "--job_name", "j"], "stop", ("j",)),
        (["stop", "--job-name=j", "k"], "stop", ("j", "k")),
        (["--job_name", "cancel", "logs"], "logs", ("cancel",)),
        (["list"], "ls", ()),
        (["jobs", "--all"], "ls", ()),
        (["start", "--", "x"], "", ()),
    ],
)
def test_words_that_people_know_are_understood(argv: list[str], command: str, words: tuple[str, ...]) -> None:
    line = parse(LAUNCH_TOOL, argv)
    assert line.command is not None
    assert (line.command.name, line.words) == (command, words)


def test_a_flag_that_other_tools_have_is_ours_where_we_have_it() -> None:
    line = parse(LAUNCH_TOOL, ["--job_name=j", "--project", "p", "--num_nodes=2", "--", "x"])
    assert (line.options.values["name"], line.options.values["project_id"], line.options.values["num_replicas"]) == (
        "j",
        "p",
        2,
    )
    assert {"name", "project_id", "num_replicas"} <= line.given
    assert parse(LAUNCH_TOOL, ["rerun", "j", "--name=k"]).options.values["name"] == "k"
    assert parse(BASTION_TOOL, ["status", "--name=team"]).options.values["bastion"] == "team"


@pytest.mark.parametrize(
    ("tool", "argv", "told"),
    [
        (LAUNCH_TOOL, ["status", "j"], "launch has no command status; launch ls lists your jobs, launch why JOB"),
        (BASTION_TOOL, ["queue"], "bastion has no command queue; launch ls --all"),
        (LAUNCH_TOOL, ["ls", "--job_name=j"], "--job_name is not a flag of launch ls"),
    ],
)
def test_a_word_without_an_equal_is_answered_with_ours(tool: Tool, argv: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse(tool, argv)


def test_no_word_of_other_tools_hides_one_of_ours() -> None:
    for tool in (LAUNCH_TOOL, BASTION_TOOL):
        names = {command.name for command in tool.all()}
        assert not names & {*tool.foreign.answers, *tool.foreign.commands}
        assert set(tool.foreign.commands.values()) <= names | {""}
